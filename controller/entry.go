package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/ottla/ottla/internal/record/metadata"
)

// An entry of the raft log is one batch of records that is applied whole:
//
//	entryVersion   1 byte
//	count          unsigned varint
//	count times:
//	  length       unsigned varint, in bytes
//	  record       framed as in Kafka's metadata log
const entryVersion = 1

var errEntry = errors.New("malformed raft entry")

// appendEntry appends the records as one entry.
func appendEntry(dst []byte, records []metadata.Record) []byte {
	dst = append(dst, entryVersion)
	dst = binary.AppendUvarint(dst, uint64(len(records)))
	var buf []byte
	for _, r := range records {
		dst, buf = appendRecord(dst, buf, r)
	}
	return dst
}

// appendRecord appends one record with its length; buf is scratch space.
func appendRecord(dst, buf []byte, r metadata.Record) (newDst, newBuf []byte) {
	buf = metadata.Append(buf[:0], r, r.MaxVersion())
	dst = binary.AppendUvarint(dst, uint64(len(buf)))
	return append(dst, buf...), buf
}

// readEntry reads the records of one entry.
func readEntry(src []byte) ([]metadata.Record, error) {
	if len(src) == 0 {
		return nil, errEntry
	}
	if src[0] != entryVersion {
		return nil, fmt.Errorf("raft entry has unknown version %d", src[0])
	}
	count, src, err := takeUvarint(src[1:])
	if err != nil || count > uint64(len(src)) {
		return nil, errEntry
	}
	records := make([]metadata.Record, 0, count)
	for r, err := range readRecords(src) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if uint64(len(records)) != count {
		return nil, errEntry
	}
	return records, nil
}

// readRecords yields records with lengths until src ends; after an error it yields no more.
func readRecords(src []byte) iter.Seq2[metadata.Record, error] {
	return func(yield func(metadata.Record, error) bool) {
		for len(src) > 0 {
			size, rest, err := takeUvarint(src)
			if err != nil || size > uint64(len(rest)) {
				yield(nil, errEntry)
				return
			}
			r, _, err := metadata.Read(rest[:size])
			if !yield(r, err) || err != nil {
				return
			}
			src = rest[size:]
		}
	}
}

func takeUvarint(src []byte) (u uint64, rest []byte, err error) {
	u, n := binary.Uvarint(src)
	if n <= 0 || u > math.MaxInt32 {
		return 0, nil, errEntry
	}
	return u, src[n:], nil
}
