package controller

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/ottla/ottla/internal/record/metadata"
)

// An entry of the raft log is one batch of records that is applied whole, and only to the image that it
// was decided on:
//
//	version        1 byte, 2
//	epoch          unsigned varint, the term of the leadership that decided
//	base           unsigned varint, the image's offset + 1
//	count          unsigned varint
//	count times:
//	  length       unsigned varint, in bytes
//	  record       framed as in Kafka's metadata log
//
// Version 1 lacks epoch and base; it was written by quorums of one.
const (
	entryVersion        = 2
	entryVersionUnbound = 1
)

var errEntry = errors.New("malformed raft entry")

// entry is a decided batch. A leader that lost its leadership and has it back may not have noticed, and
// decide on an image that never came to be; its entry is committed then, but isn't applied.
type entry struct {
	// bound is false for version 1, which is applied as it comes.
	bound bool
	// epoch is the term in which it was decided, offset that of the image it was decided on.
	epoch   uint64
	offset  int64
	records []metadata.Record
}

// appendEntry appends records decided in a term on the image at an offset as one entry.
func appendEntry(dst []byte, epoch uint64, offset int64, records []metadata.Record) []byte {
	dst = append(dst, entryVersion)
	dst = binary.AppendUvarint(dst, epoch)
	dst = binary.AppendUvarint(dst, uint64(offset+1))
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

// readEntry reads one entry.
func readEntry(src []byte) (e entry, err error) {
	if len(src) == 0 {
		return e, errEntry
	}
	version := src[0]
	src = src[1:]
	switch version {
	case entryVersion:
		e.bound = true
		var base uint64
		if e.epoch, src, err = takeUvarint64(src); err != nil {
			return e, err
		}
		if base, src, err = takeUvarint64(src); err != nil || base > math.MaxInt64 {
			return e, errEntry
		}
		e.offset = int64(base) - 1
	case entryVersionUnbound:
	default:
		return e, fmt.Errorf("raft entry has unknown version %d", version)
	}
	count, src, err := takeUvarint(src)
	if err != nil || count > uint64(len(src)) {
		return e, errEntry
	}
	e.records = make([]metadata.Record, 0, count)
	for r, err := range readRecords(src) {
		if err != nil {
			return e, err
		}
		e.records = append(e.records, r)
	}
	if uint64(len(e.records)) != count {
		return e, errEntry
	}
	return e, nil
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

func takeUvarint64(src []byte) (u uint64, rest []byte, err error) {
	u, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, nil, errEntry
	}
	return u, src[n:], nil
}

func takeUvarint(src []byte) (u uint64, rest []byte, err error) {
	if u, src, err = takeUvarint64(src); err != nil || u > math.MaxInt32 {
		return 0, nil, errEntry
	}
	return u, src, nil
}
