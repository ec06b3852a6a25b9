package batch

// BuilderOptions says what batch to build. The zero value plus NoProducerID… is wrong for
// idempotence fields: use NewBuilder, whose defaults are "none".
type BuilderOptions struct {
	BaseOffset      int64
	LeaderEpoch     int32
	Codec           Codec
	Level           int
	TimestampType   TimestampType
	LogAppendTimeMs int64 // max timestamp if TimestampType is LogAppendTime
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Transactional   bool
	Control         bool
}

// DefaultOptions are those of a plain batch: base offset 0, no epoch, no producer, uncompressed.
func DefaultOptions() BuilderOptions {
	return BuilderOptions{LeaderEpoch: NoLeaderEpoch, Level: DefaultLevel, ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence}
}

// Builder makes one magic 2 batch.
type Builder struct{}

// NewBuilder returns a builder that appends the batch to dst, which it takes.
func (c *Codecs) NewBuilder(dst []byte, o BuilderOptions) *Builder { panic("unwritten") }

// Append adds a record at the next offset; it copies its arguments. nil key or value is null.
func (b *Builder) Append(timestampMs int64, key, value []byte, headers ...RecordHeader) {
	panic("unwritten")
}

// AppendAt adds a record at offset, which must be above the last one.
func (b *Builder) AppendAt(offset, timestampMs int64, key, value []byte, headers ...RecordHeader) {
	panic("unwritten")
}

// NumRecords is the number of records added so far.
func (b *Builder) NumRecords() int { panic("unwritten") }

// SizeBytes is the size of the batch so far, before compression.
func (b *Builder) SizeBytes() int { panic("unwritten") }

// Build ends the batch and returns dst with it appended.
func (b *Builder) Build() ([]byte, error) { panic("unwritten") }
