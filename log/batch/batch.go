package batch

import (
	"encoding/binary"
	"hash/crc32"
	"iter"
)

// Batch is one whole batch: its decoded head and the bytes, which it borrows.
// Invariant: len(Bytes()) == SizeBytes(), and the head equals the bytes.
type Batch struct {
	Header
	raw []byte
}

// Parse decodes the batch at the start of b and returns the bytes after it. ErrTruncated
// means that b ends inside the batch. The CRC isn't checked: see CheckCRC.
func Parse(b []byte) (batch Batch, rest []byte, err error) {
	h, err := ParseHeader(b)
	if err != nil {
		return Batch{}, b, err
	}
	size := h.SizeBytes()
	if size > len(b) {
		return Batch{}, b, ErrTruncated
	}
	return Batch{Header: h, raw: b[:size:size]}, b[size:], nil
}

// All yields the batches of b in turn; an error ends the sequence.
func All(b []byte) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		for len(b) > 0 {
			var one Batch
			var err error
			one, b, err = Parse(b)
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}

// Bytes returns the whole batch as it stands, borrowed.
func (b *Batch) Bytes() []byte { return b.raw }

// Payload returns the records as they stand, perhaps compressed, borrowed. Empty for legacy.
func (b *Batch) Payload() []byte {
	if b.Magic < MagicV2 {
		return nil
	}
	return b.raw[HeaderSize:]
}

// SetBaseOffset moves the batch to offset. The CRC doesn't cover it.
// Requires: magic 2.
func (b *Batch) SetBaseOffset(offset int64) {
	b.BaseOffset = offset
	binary.BigEndian.PutUint64(b.raw[posBaseOffset:], uint64(offset))
}

// SetLeaderEpoch stamps the batch with the epoch that appends it. The CRC doesn't cover it.
// Requires: magic 2.
func (b *Batch) SetLeaderEpoch(epoch int32) {
	b.LeaderEpoch = epoch
	binary.BigEndian.PutUint32(b.raw[posLeaderEpoch:], uint32(epoch))
}

// SetMaxTimestamp replaces timestamp type and max timestamp (ms) and computes the CRC again,
// unless both are what they were. Requires: magic 2.
func (b *Batch) SetMaxTimestamp(t TimestampType, maxTimestamp int64) {
	if b.Attributes.TimestampType() == t && maxTimestamp == b.MaxTimestamp {
		return
	}
	attributes := b.Attributes.withTimestampType(t)
	b.Attributes, b.MaxTimestamp = attributes, maxTimestamp
	binary.BigEndian.PutUint16(b.raw[posAttributes:], uint16(attributes))
	binary.BigEndian.PutUint64(b.raw[posMaxTimestamp:], uint64(maxTimestamp))
	b.CRC = b.ComputeCRC()
	binary.BigEndian.PutUint32(b.raw[posCRC:], b.CRC)
}

// ComputeCRC computes the checksum of the bytes: CRC-32C for magic 2, CRC-32 (IEEE) before.
func (b *Batch) ComputeCRC() uint32 {
	if b.Magic < MagicV2 {
		return legacyChecksum(b.raw)
	}
	return checksum(b.raw)
}

// CheckCRC returns CORRUPT_MESSAGE if the bytes don't have the checksum that they carry.
func (b *Batch) CheckCRC() error {
	if got := b.ComputeCRC(); got != b.CRC {
		return corrupt("Record is corrupt (stored crc = %d, computed crc = %d)", b.CRC, got)
	}
	return nil
}

// checksum is the CRC-32C of a whole magic 2 batch.
func checksum(raw []byte) uint32 {
	return crc32.Checksum(raw[posAttributes:], crc32.MakeTable(crc32.Castagnoli))
}
