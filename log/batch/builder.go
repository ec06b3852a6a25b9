package batch

import (
	"encoding/binary"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// BuilderOptions says what batch to build. Start from DefaultOptions: the zero value names
// producer 0.
type BuilderOptions struct {
	BaseOffset      int64
	LeaderEpoch     int32
	Codec           Codec
	Level           int // DefaultLevel: the codec's own
	TimestampType   TimestampType
	LogAppendTimeMs int64 // max timestamp if TimestampType is LogAppendTime
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Transactional   bool
	Control         bool
	// LastOffset is the batch's last offset where that is above the last record's: compaction keeps it,
	// and with it the last sequence number.
	LastOffset int64
	// DeleteHorizon says that DeleteHorizonMs takes the place of the base timestamp (KIP-534): from then
	// on the cleaner may drop the batch's tombstones and markers.
	DeleteHorizon   bool
	DeleteHorizonMs int64
}

// DefaultOptions are those of a plain batch: base offset 0, no epoch, no producer, uncompressed.
func DefaultOptions() BuilderOptions {
	return BuilderOptions{
		LeaderEpoch:   NoLeaderEpoch,
		Level:         DefaultLevel,
		ProducerID:    NoProducerID,
		ProducerEpoch: NoProducerEpoch,
		BaseSequence:  NoSequence,
	}
}

func (o *BuilderOptions) attributes() Attributes {
	a := Attributes(o.Codec) & codecMask
	a = a.withTimestampType(o.TimestampType)
	if o.Transactional {
		a |= transactionalFlag
	}
	if o.Control {
		a |= controlFlag
	}
	if o.DeleteHorizon {
		a |= deleteHorizonFlag
	}
	return a
}

// Builder makes one magic 2 batch.
type Builder struct {
	codecs *Codecs
	o      BuilderOptions
	// dst takes the batch from start on; records are appended to it, or to plain if they are
	// to be compressed.
	dst, plain []byte
	start      int

	numRecords    int32
	nextOffset    int64
	baseTimestamp int64
	maxTimestamp  int64
	err           error
}

// NewBuilder returns a builder that appends the batch to dst, which it takes.
func (c *Codecs) NewBuilder(dst []byte, o BuilderOptions) *Builder {
	b := &Builder{
		codecs: c, o: o, dst: dst, start: len(dst), nextOffset: o.BaseOffset,
		baseTimestamp: NoTimestamp, maxTimestamp: NoTimestamp,
	}
	b.dst = append(b.dst, make([]byte, HeaderSize)...)
	if o.Codec != None {
		b.plain = c.getScratch()
	}
	return b
}

// Append adds a record at the next offset; it copies its arguments. nil key or value is null.
func (b *Builder) Append(timestampMs int64, key, value []byte, headers ...RecordHeader) {
	b.AppendAt(b.nextOffset, timestampMs, key, value, headers...)
}

// AppendAt adds a record at offset, which must be above the last one; Build returns the error
// otherwise.
func (b *Builder) AppendAt(offset, timestampMs int64, key, value []byte, headers ...RecordHeader) {
	offsetDelta, timestampDelta, ok := b.admit(offset, timestampMs)
	if !ok {
		return
	}
	into := b.records()
	*into = appendRecord(*into, timestampDelta, offsetDelta, key, value, headers)
}

// AppendRecord adds a record that was read from a batch, headers included, at offset.
func (b *Builder) AppendRecord(offset int64, rec *Record) {
	offsetDelta, timestampDelta, ok := b.admit(offset, rec.Timestamp)
	if !ok {
		return
	}
	size := 1 + sizeVarlong(timestampDelta) + sizeVarint(offsetDelta) + sizeBytes(rec.Key) +
		sizeBytes(rec.Value) + sizeVarint(int32(rec.numHeaders)) + len(rec.headers)
	into := b.records()
	dst := appendVarint(*into, int32(size))
	dst = append(dst, 0)
	dst = appendVarlong(dst, timestampDelta)
	dst = appendVarint(dst, offsetDelta)
	dst = appendBytes(dst, rec.Key)
	dst = appendBytes(dst, rec.Value)
	dst = appendVarint(dst, int32(rec.numHeaders))
	*into = append(dst, rec.headers...)
}

// records is the slice that records are appended to.
func (b *Builder) records() *[]byte {
	if b.o.Codec == None {
		return &b.dst
	}
	return &b.plain
}

// admit takes a record's offset and timestamp into the head's values.
func (b *Builder) admit(offset, timestampMs int64) (offsetDelta int32, timestampDelta int64, ok bool) {
	switch {
	case b.err != nil:
		return 0, 0, false
	case offset < b.nextOffset:
		b.err = kerror.New(kerr.InvalidRecord, "Illegal offset %d: the next one is %d", offset, b.nextOffset)
		return 0, 0, false
	case offset-b.o.BaseOffset > math.MaxInt32:
		b.err = kerror.New(kerr.InvalidRecord, "Maximum offset delta exceeded, base offset: %d, last offset: %d", b.o.BaseOffset, offset)
		return 0, 0, false
	}
	if b.numRecords == 0 {
		b.baseTimestamp = timestampMs
		if b.o.DeleteHorizon {
			b.baseTimestamp = b.o.DeleteHorizonMs
		}
	}
	b.maxTimestamp = max(b.maxTimestamp, timestampMs)
	b.numRecords++
	b.nextOffset = offset + 1
	return int32(offset - b.o.BaseOffset), timestampMs - b.baseTimestamp, true
}

// NumRecords is the number of records added so far.
func (b *Builder) NumRecords() int { return int(b.numRecords) }

// SizeBytes is the size of the batch so far, before compression.
func (b *Builder) SizeBytes() int { return len(b.dst) - b.start + len(b.plain) }

// Build ends the batch and returns dst with it appended. The builder may not be used again.
func (b *Builder) Build() ([]byte, error) {
	if b.o.Codec != None {
		if b.err == nil {
			b.dst, b.err = b.codecs.Compress(b.dst, b.o.Codec, b.o.Level, b.plain)
		}
		b.codecs.putScratch(b.plain)
		b.plain = nil
	}
	if b.err != nil {
		return nil, b.err
	}
	size := len(b.dst) - b.start
	if size > math.MaxInt32 {
		return nil, kerror.New(kerr.MessageTooLarge, "A batch of %d bytes is too large", size)
	}
	if b.o.TimestampType == LogAppendTime {
		b.maxTimestamp = b.o.LogAppendTimeMs
	}
	b.putHead(b.dst[b.start:])
	return b.dst, nil
}

// putHead writes the head of raw, CRC last.
func (b *Builder) putHead(raw []byte) {
	binary.BigEndian.PutUint64(raw[posBaseOffset:], uint64(b.o.BaseOffset))
	binary.BigEndian.PutUint32(raw[posLength:], uint32(len(raw)-LogOverhead))
	binary.BigEndian.PutUint32(raw[posLeaderEpoch:], uint32(b.o.LeaderEpoch))
	raw[posMagic] = byte(MagicV2)
	binary.BigEndian.PutUint16(raw[posAttributes:], uint16(b.o.attributes()))
	lastOffset := max(b.nextOffset-1, b.o.BaseOffset, b.o.LastOffset)
	binary.BigEndian.PutUint32(raw[posLastOffsetDelta:], uint32(lastOffset-b.o.BaseOffset))
	binary.BigEndian.PutUint64(raw[posBaseTimestamp:], uint64(b.baseTimestamp))
	binary.BigEndian.PutUint64(raw[posMaxTimestamp:], uint64(b.maxTimestamp))
	binary.BigEndian.PutUint64(raw[posProducerID:], uint64(b.o.ProducerID))
	binary.BigEndian.PutUint16(raw[posProducerEpoch:], uint16(b.o.ProducerEpoch))
	binary.BigEndian.PutUint32(raw[posBaseSequence:], uint32(b.o.BaseSequence))
	binary.BigEndian.PutUint32(raw[posNumRecords:], uint32(b.numRecords))
	binary.BigEndian.PutUint32(raw[posCRC:], checksum(raw))
}
