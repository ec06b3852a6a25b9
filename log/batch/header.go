package batch

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// Sizes and positions inside a batch, in bytes.
const (
	// LogOverhead is the size of the offset and length fields that precede a batch of any magic.
	LogOverhead = 12
	// HeaderSize is the size of a magic 2 batch without records.
	HeaderSize = 61
	// PeekSize is what ParseSize needs: everything up to the magic byte.
	PeekSize = 17

	// minLength is the smallest length field that Kafka takes for any magic.
	minLength = 14

	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posNumRecords      = 57
)

// Magic numbers: the versions of the format.
const (
	MagicV0 int8 = 0
	MagicV1 int8 = 1
	MagicV2 int8 = 2
)

// "None" values of header fields.
const (
	NoTimestamp     int64 = -1
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
	NoLeaderEpoch   int32 = -1
)

// ErrTruncated says that the bytes end before the batch does: a torn tail, or a read that
// stopped in the middle.
var ErrTruncated = errors.New("batch: bytes end inside a batch")

// corrupt returns a CORRUPT_MESSAGE error. Kafka answers the code alone, so that the detail is
// a cause, for the log.
func corrupt(format string, args ...any) error {
	return kerror.Wrap(kerr.CorruptMessage, fmt.Errorf(format, args...))
}

// invalid returns an INVALID_RECORD error, with a detail as corrupt does.
func invalid(format string, args ...any) error {
	return kerror.Wrap(kerr.InvalidRecord, fmt.Errorf(format, args...))
}

// Header is the decoded head of a batch. For magic 0 and 1 the fields that the format lacks
// hold their "none" values, NumRecords is -1 (unknown without reading the records), and
// BaseOffset is the offset field of the message, which is the last offset of a compressed one.
type Header struct {
	BaseOffset      int64
	Length          int32 // bytes after the length field
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms; the delete horizon if Attributes.HasDeleteHorizon
	MaxTimestamp    int64 // ms
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	NumRecords      int32
}

// ParseSize returns the size in bytes of the batch that starts at b[0] and its magic.
// Requires: PeekSize bytes; fewer yield ErrTruncated. The size is checked neither against len(b)
// nor against the head of that magic, which ParseHeader does.
func ParseSize(b []byte) (sizeBytes int, magic int8, err error) {
	if len(b) < PeekSize {
		return 0, 0, ErrTruncated
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < minLength {
		return 0, 0, corrupt("Record size %d is less than the minimum record overhead (%d)", length, minLength)
	}
	magic = int8(b[posMagic])
	if magic < MagicV0 || magic > MagicV2 {
		return 0, 0, corrupt("Invalid magic found in record: %d", magic)
	}
	return int(length) + LogOverhead, magic, nil
}

// minSize is the size of the smallest batch of a magic.
func minSize(magic int8) int {
	switch magic {
	case MagicV0:
		return legacyHeaderSizeV0
	case MagicV1:
		return legacyHeaderSizeV1
	}
	return HeaderSize
}

// ParseHeader decodes the head of the batch that starts at b[0]; the records need not be there.
// It yields ErrTruncated if b is shorter than the head, CORRUPT_MESSAGE if sizes are impossible.
func ParseHeader(b []byte) (Header, error) {
	size, magic, err := ParseSize(b)
	if err != nil {
		return Header{}, err
	}
	if size < minSize(magic) {
		return Header{}, corrupt("record batch of %d bytes is smaller than the head of magic %d", size, magic)
	}
	if len(b) < minSize(magic) {
		return Header{}, ErrTruncated
	}
	if magic < MagicV2 {
		return parseLegacyHeader(b, size, magic), nil
	}
	b = b[:HeaderSize:HeaderSize]
	return Header{
		BaseOffset:      int64(binary.BigEndian.Uint64(b[posBaseOffset:])),
		Length:          int32(size - LogOverhead),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(b[posLeaderEpoch:])),
		Magic:           magic,
		CRC:             binary.BigEndian.Uint32(b[posCRC:]),
		Attributes:      Attributes(binary.BigEndian.Uint16(b[posAttributes:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[posLastOffsetDelta:])),
		BaseTimestamp:   int64(binary.BigEndian.Uint64(b[posBaseTimestamp:])),
		MaxTimestamp:    int64(binary.BigEndian.Uint64(b[posMaxTimestamp:])),
		ProducerID:      int64(binary.BigEndian.Uint64(b[posProducerID:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(b[posProducerEpoch:])),
		BaseSequence:    int32(binary.BigEndian.Uint32(b[posBaseSequence:])),
		NumRecords:      int32(binary.BigEndian.Uint32(b[posNumRecords:])),
	}, nil
}

// SizeBytes is the size of the whole batch.
func (h *Header) SizeBytes() int { return int(h.Length) + LogOverhead }

// LastOffset is the offset of the batch's last record.
func (h *Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// NextOffset is the offset after the batch.
func (h *Header) NextOffset() int64 { return h.LastOffset() + 1 }

// HasProducerID tells whether an idempotent or transactional producer wrote the batch.
func (h *Header) HasProducerID() bool { return h.ProducerID > NoProducerID }

// LastSequence is the sequence number of the last record, or NoSequence. Sequence numbers
// wrap from 2147483647 to 0.
func (h *Header) LastSequence() int32 {
	if h.BaseSequence == NoSequence {
		return NoSequence
	}
	return IncrementSequence(h.BaseSequence, h.LastOffsetDelta)
}

// IncrementSequence adds increment to a sequence number, wrapping from 2147483647 to 0.
func IncrementSequence(sequence, increment int32) int32 {
	return int32((int64(sequence) + int64(increment)) % (1 << 31))
}

// DecrementSequence subtracts decrement from a sequence number, wrapping from 0 to 2147483647.
func DecrementSequence(sequence, decrement int32) int32 {
	if sequence < decrement {
		return int32(int64(1)<<31 - int64(decrement-sequence))
	}
	return sequence - decrement
}
