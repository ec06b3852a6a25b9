package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
)

// readReplica reads the records of a partition out of its segment files, checking each batch.
func readReplica(dir string) ([]entry, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var log []entry
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if log, err = readSegment(log, b); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return log, nil
}

// Places of fields in a record batch.
const (
	batchLengthAt  = 8
	batchCRCAt     = 17
	batchCoveredAt = 21
	batchCountAt   = 57
	batchRecordsAt = 61
)

func readSegment(log []entry, b []byte) ([]entry, error) {
	for len(b) >= batchRecordsAt {
		size := 12 + int(binary.BigEndian.Uint32(b[batchLengthAt:]))
		if size < batchRecordsAt || size > len(b) {
			return nil, fmt.Errorf("a batch of %d bytes, %d are left", size, len(b))
		}
		batch := b[:size]
		b = b[size:]
		if crc := binary.BigEndian.Uint32(batch[batchCRCAt:]); crc != crc32.Checksum(batch[batchCoveredAt:], crc32.MakeTable(crc32.Castagnoli)) {
			return nil, errors.New("a batch with a wrong checksum")
		}
		base := int64(binary.BigEndian.Uint64(batch))
		rest := batch[batchRecordsAt:]
		for range binary.BigEndian.Uint32(batch[batchCountAt:]) {
			var e entry
			var err error
			if e, rest, err = readRecord(base, rest); err != nil {
				return nil, err
			}
			log = append(log, e)
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes behind the last batch", len(b))
	}
	return log, nil
}

// readRecord reads an uncompressed record without headers.
func readRecord(base int64, b []byte) (entry, []byte, error) {
	var fields [5]int64 // length, timestamp delta, offset delta, key length, value length
	for i := range fields {
		if i == 1 {
			b = b[min(1, len(b)):] // attributes
		}
		v, n := binary.Varint(b)
		if n <= 0 {
			return entry{}, nil, errors.New("a record that can't be read")
		}
		fields[i], b = v, b[n:]
		if i == 3 && v > 0 {
			return entry{}, nil, errors.New("a record with a key")
		}
	}
	size := int(fields[4])
	if size != valueBytes || len(b) < size+1 {
		return entry{}, nil, errors.New("a record with a foreign value")
	}
	return entry{base + fields[2], int64(binary.BigEndian.Uint64(b))}, b[size+1:], nil
}
