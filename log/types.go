package commitlog

// Origin says where records come from, which decides how they are validated.
type Origin int8

const (
	// OriginClient is a Produce request: everything is checked, offsets are assigned.
	OriginClient Origin = iota
	// OriginCoordinator is a coordinator of this broker: control batches are allowed.
	OriginCoordinator
	// OriginReplication is a follower's fetch: offsets and epochs are the leader's and kept.
	OriginReplication
)

// AppendOptions are the circumstances of an append.
type AppendOptions struct {
	// LeaderEpoch is stamped into the batches. With OriginReplication it is the follower's own:
	// batches of a later epoch are left out.
	LeaderEpoch int32
	Origin      Origin
	// Guard is what StartVerification gave before the coordinator was asked about a transactional batch.
	Guard VerificationGuard
	// TransactionVersion is the version of the transaction that a marker ends (KIP-890): from 2 on the
	// marker's epoch is above that of the transaction's records.
	TransactionVersion int16
}

// VerificationGuard ties the first batch of a transaction to the coordinator's word that the transaction
// includes the partition (KIP-890). NoGuard needs no verification, or has none.
type VerificationGuard uint64

// NoGuard is the guard of whoever wasn't verified.
const NoGuard VerificationGuard = 0

// AppendInfo tells what an append did.
type AppendInfo struct {
	// FirstOffset and LastOffset are the first and last record's offset, of the earlier append if
	// Duplicate.
	FirstOffset, LastOffset int64
	// LogAppendTimeMs is the time that was stamped into the batches, or -1 with CreateTime.
	LogAppendTimeMs int64
	// LogStartOffset is the log's start at the time of the append.
	LogStartOffset int64
	// Duplicate says that an idempotent producer sent again what the log has already.
	Duplicate bool
	// NumRecords and SizeBytes are what was written; zero if Duplicate.
	NumRecords int64
	SizeBytes  int
}

// ReadOptions bound a read.
type ReadOptions struct {
	// Offset is where to start. A read inside a batch or in a gap starts at the batch that has the
	// offset, or at the next one.
	Offset int64
	// MaxBytes is how much is returned at most; the last batch may be cut short by it.
	MaxBytes int
	// MinOneBatch returns the first batch whole although it is larger than MaxBytes (KIP-74).
	MinOneBatch bool
	// UpperBound is exclusive: only batches that end below it are returned. It is capped by the
	// log end offset.
	UpperBound int64
	// Aborted asks for the aborted transactions in the range (read_committed).
	Aborted bool
	// Cached reads only what is in memory, and waits for no lock that is held over I/O: vfs.ErrNotCached where that
	// isn't enough.
	Cached bool
}

// ReadInfo is what a read found.
type ReadInfo struct {
	// Records is a held range of a segment, or nil if there is nothing to return. The caller
	// releases it. It satisfies wire.FileRange.
	Records *Slice
	// FirstBatchIncomplete says that the first batch is larger than MaxBytes, and wasn't returned.
	FirstBatchIncomplete bool
	// Aborted is sorted by first offset; empty unless asked for.
	Aborted []AbortedTransaction
}

// AbortedTransaction is one entry for a read_committed consumer.
type AbortedTransaction struct {
	ProducerID  int64
	FirstOffset int64
}

// TimestampOffset is the answer to a search by time.
type TimestampOffset struct {
	// TimestampMs is the found record's timestamp.
	TimestampMs int64
	Offset      int64
	// LeaderEpoch is that of the record's batch, -1 if it has none.
	LeaderEpoch int32
}

// EpochEnd is the answer to OffsetForLeaderEpoch.
type EpochEnd struct {
	// LeaderEpoch is the largest epoch not above the one asked for, or -1 if unknown.
	LeaderEpoch int32
	// EndOffset is where that epoch ended (exclusive), or -1 if unknown.
	EndOffset int64
}

// ActiveProducer is one row of DescribeProducers.
type ActiveProducer struct {
	ProducerID       int64
	ProducerEpoch    int16
	LastSequence     int32
	LastTimestampMs  int64
	CoordinatorEpoch int32
	// CurrentTxnStartOffset is -1 outside a transaction.
	CurrentTxnStartOffset int64
}
