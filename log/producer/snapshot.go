package producer

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/ottla/ottla/log/batch"
)

// The .snapshot file (ProducerSnapshot.json, version 1), all integers big endian: int16 version,
// uint32 CRC-32C of what follows, int32 count and that many entries of
//
//	 0  int64  producer id
//	 8  int16  producer epoch
//	10  int32  last sequence              -1: no batch
//	14  int64  last offset                -1: no batch
//	22  int32  offset delta of the batch
//	26  int64  timestamp                  ms, of the last batch or marker
//	34  int32  coordinator epoch          -1: none
//	38  int64  first offset of the open transaction, -1: none
//
// Of the five batches only the last is kept; see Recall for the others.
const (
	snapshotVersion    = 1
	snapshotHeadBytes  = 10
	snapshotCRCFrom    = 6
	snapshotEntryBytes = 46
)

// ErrCorruptSnapshot says that a .snapshot file can't be used; the state is rebuilt from an
// older one, or from the log.
var ErrCorruptSnapshot = errors.New("producer: corrupt snapshot")

// AppendSnapshot appends the .snapshot file of the state to dst. Its name is MapEndOffset.
func (s *State) AppendSnapshot(dst []byte) []byte {
	ids := s.snapshotOrder()
	start := len(dst)
	dst = slices.Grow(dst, snapshotHeadBytes+len(ids)*snapshotEntryBytes)
	dst = binary.BigEndian.AppendUint16(dst, snapshotVersion)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(ids)))
	for _, id := range ids {
		e := s.producers[id]
		m := BatchMetadata{LastSequence: batch.NoSequence, LastOffset: noOffset}
		if e.numBatches > 0 {
			m = e.last
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(id))
		dst = binary.BigEndian.AppendUint16(dst, uint16(e.producerEpoch))
		dst = binary.BigEndian.AppendUint32(dst, uint32(m.LastSequence))
		dst = binary.BigEndian.AppendUint64(dst, uint64(m.LastOffset))
		dst = binary.BigEndian.AppendUint32(dst, uint32(m.OffsetDelta))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.lastTimestamp))
		dst = binary.BigEndian.AppendUint32(dst, uint32(e.coordinatorEpoch))
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.txnFirstOffset))
	}
	binary.BigEndian.PutUint32(dst[start+2:], snapshotChecksum(dst[start:]))
	return dst
}

// snapshotOrder is the order in which Kafka writes producers: that of a java.util.HashMap with
// their ids as keys, which grew to hold this many.
func (s *State) snapshotOrder() []int64 {
	buckets := uint32(16)
	for len(s.producers)*4 > int(buckets)*3 {
		buckets *= 2
	}
	bucket := func(id int64) uint32 {
		h := uint32(id) ^ uint32(id>>32)
		return (h ^ h>>16) & (buckets - 1)
	}
	ids := make([]int64, 0, len(s.producers))
	for id := range s.producers {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int {
		return cmp.Or(cmp.Compare(bucket(a), bucket(b)), cmp.Compare(a, b))
	})
	return ids
}

func snapshotChecksum(file []byte) uint32 {
	return crc32.Checksum(file[snapshotCRCFrom:], crc32.MakeTable(crc32.Castagnoli))
}

// LoadSnapshot replaces the state by a .snapshot file whose name says offset. Producers that
// have expired at nowMs are left out. ErrCorruptSnapshot leaves the state as it was.
func (s *State) LoadSnapshot(file []byte, offset, nowMs int64) error {
	count, err := snapshotCount(file)
	if err != nil {
		return err
	}
	s.TruncateFullyAndStartAt(offset)
	for b := file[snapshotHeadBytes:]; count > 0; count-- {
		id, e := decodeEntry(b)
		b = b[snapshotEntryBytes:]
		if s.expired(&e, nowMs) {
			continue
		}
		if known, ok := s.producers[id]; ok && known.txnFirstOffset != noOffset {
			continue // No file that Kafka wrote has an id twice.
		}
		if e.txnFirstOffset != noOffset {
			s.openTransaction(openTxn{firstOffset: e.txnFirstOffset, producerID: id})
		}
		s.store(id, e)
	}
	return nil
}

// snapshotCount checks a file and returns the number of its entries.
func snapshotCount(file []byte) (int, error) {
	if len(file) < snapshotHeadBytes {
		return 0, fmt.Errorf("%w: %d bytes", ErrCorruptSnapshot, len(file))
	}
	if v := int16(binary.BigEndian.Uint16(file)); v != snapshotVersion {
		return 0, fmt.Errorf("%w: unknown file version %d", ErrCorruptSnapshot, v)
	}
	count := int64(int32(binary.BigEndian.Uint32(file[6:])))
	if have := int64(len(file) - snapshotHeadBytes); count < 0 || count*snapshotEntryBytes > have {
		return 0, fmt.Errorf("%w: %d entries in %d bytes", ErrCorruptSnapshot, count, have)
	}
	if stored, computed := binary.BigEndian.Uint32(file[2:]), snapshotChecksum(file); stored != computed {
		return 0, fmt.Errorf("%w: stored crc %d, computed crc %d", ErrCorruptSnapshot, stored, computed)
	}
	return int(count), nil
}

// decodeEntry decodes one producer. Requires: snapshotEntryBytes.
func decodeEntry(b []byte) (int64, entry) {
	e := newEntry()
	e.producerEpoch = int16(binary.BigEndian.Uint16(b[8:]))
	m := BatchMetadata{
		LastSequence: int32(binary.BigEndian.Uint32(b[10:])),
		LastOffset:   int64(binary.BigEndian.Uint64(b[14:])),
		OffsetDelta:  int32(binary.BigEndian.Uint32(b[22:])),
		Timestamp:    int64(binary.BigEndian.Uint64(b[26:])),
	}
	if m.LastOffset >= 0 {
		e.addBatch(m)
		e.partial = true
	}
	e.lastTimestamp = m.Timestamp
	e.coordinatorEpoch = int32(binary.BigEndian.Uint32(b[34:]))
	if first := int64(binary.BigEndian.Uint64(b[38:])); first >= 0 {
		e.txnFirstOffset = first
	}
	return int64(binary.BigEndian.Uint64(b)), e
}
