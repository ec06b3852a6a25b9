package validate

import "github.com/ottla/ottla/log/batch"

// Result is an append that may be written.
type Result struct {
	// Records are the bytes to write: the input patched in place, or new ones if Recompressed.
	Records []byte
	// Recompressed tells that Records is a new slice, owned by the caller.
	Recompressed bool
	FirstOffset  int64
	LastOffset   int64
	// NumBatches is the number of batches in Records.
	NumBatches int
	// MaxTimestamp (ms) is the largest timestamp, -1 if none; OffsetOfMaxTimestamp is the last
	// offset of the first batch that holds it, as the time index wants it.
	MaxTimestamp         int64
	OffsetOfMaxTimestamp int64
	// LogAppendTimeMs is the time given to the records, -1 unless LogAppendTime.
	LogAppendTimeMs int64
	// LeaderEpoch is that of the last batch, for the leader epoch cache.
	LeaderEpoch int32
	// Batch is the one batch of a leader's append, over Records, for the producer state. Its
	// zero value for OriginReplication: iterate Records.
	Batch batch.Batch
}
