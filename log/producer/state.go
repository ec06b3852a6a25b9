package producer

import "github.com/ottla/ottla/log/batch"

// Config bounds a State.
type Config struct {
	Topic     string // named in messages
	Partition int32
	// ExpirationMs is producer.id.expiration.ms.
	ExpirationMs int64
	// VerificationExpirationMs is how long an unanswered verification is kept.
	VerificationExpirationMs int64
	// VerificationEnabled is transaction.partition.verification.enable.
	VerificationEnabled bool
}

// State is the producer state of one partition.
type State struct{ cfg Config }

// New returns an empty state.
func New(cfg Config) *State { return &State{cfg: cfg} }

// Origin says who appends; only OriginClient is held to sequence numbers.
type Origin uint8

// The origins of a batch.
const (
	OriginClient Origin = iota
	OriginCoordinator
	OriginReplication
)

// BatchMetadata is one remembered batch.
type BatchMetadata struct {
	LastSequence int32
	OffsetDelta  int32
	LastOffset   int64
	Timestamp    int64 // ms
}

// FirstOffset is the offset of the batch's first record.
func (m BatchMetadata) FirstOffset() int64 { return m.LastOffset - int64(m.OffsetDelta) }

// FirstSequence is the sequence number of the batch's first record.
func (m BatchMetadata) FirstSequence() int32 {
	return batch.DecrementSequence(m.LastSequence, m.OffsetDelta)
}

// Decision is what Check says about a batch that may be appended.
type Decision struct {
	// Duplicate is set if the batch is in the log already: answer its offsets, append nothing.
	Duplicate   bool
	DuplicateOf BatchMetadata
}

// Check decides whether b, not yet in the log, may be appended. Errors:
// OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
// TRANSACTION_COORDINATOR_FENCED. Nothing is changed. Batches without a producer id pass.
func (s *State) Check(b *batch.Batch, origin Origin) (Decision, error) { panic("unwritten") }

// CompletedTxn is a transaction that a marker ended.
type CompletedTxn struct {
	ProducerID  int64
	FirstOffset int64
	LastOffset  int64 // the marker's
	Aborted     bool
	// LastStableOffset is the one after the transaction, for the .txnindex entry.
	LastStableOffset int64
}

// Replay takes b, whose offsets are final, into the state. If it holds a marker that ends a
// transaction the second result is true. now bounds nothing; timestamps come from the batch.
func (s *State) Replay(b *batch.Batch) (CompletedTxn, bool, error) { panic("unwritten") }

// MapEndOffset is the offset after the last batch taken in.
func (s *State) MapEndOffset() int64 { panic("unwritten") }

// SetMapEndOffset moves it past batches without a producer id.
func (s *State) SetMapEndOffset(offset int64) { panic("unwritten") }

// FirstUnstableOffset is the first offset of the oldest transaction that is open, or ended
// above the high watermark; ok is false if there is none.
func (s *State) FirstUnstableOffset() (offset int64, ok bool) { panic("unwritten") }

// OnHighWatermark forgets ended transactions whose marker lies below the high watermark.
func (s *State) OnHighWatermark(highWatermark int64) { panic("unwritten") }

// Expire forgets producers that were silent for Config.ExpirationMs and have no open
// transaction. It returns how many.
func (s *State) Expire(nowMs int64) int { panic("unwritten") }

// TruncateFullyAndStartAt forgets everything; the map ends at offset.
func (s *State) TruncateFullyAndStartAt(offset int64) { panic("unwritten") }

// OnLogStartOffset drops ended transactions below the new log start.
func (s *State) OnLogStartOffset(logStartOffset int64) { panic("unwritten") }

// Len is the number of producers remembered.
func (s *State) Len() int { panic("unwritten") }

// Active is one row of DescribeProducers.
type Active struct {
	ProducerID            int64
	ProducerEpoch         int16
	LastSequence          int32
	LastTimestamp         int64 // ms
	CoordinatorEpoch      int32
	CurrentTxnFirstOffset int64 // -1: none
}

// ActiveProducers lists the producers by id.
func (s *State) ActiveProducers() []Active { panic("unwritten") }

// AppendSnapshot appends the .snapshot file of the state to dst.
func (s *State) AppendSnapshot(dst []byte) []byte { panic("unwritten") }

// LoadSnapshot replaces the state by a .snapshot file whose name says offset. Producers
// expired at nowMs are left out.
func (s *State) LoadSnapshot(file []byte, offset, nowMs int64) error { panic("unwritten") }
