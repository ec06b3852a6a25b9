package replica

import commitlog "github.com/ottla/ottla/log"

// Special timestamps of ListOffsets.
const (
	LatestTimestamp                int64 = -1
	EarliestTimestamp              int64 = -2
	MaxTimestamp                   int64 = -3
	EarliestLocalTimestamp         int64 = -4
	LatestTieredTimestamp          int64 = -5
	EarliestPendingUploadTimestamp int64 = -6
)

// OffsetQuery asks for an offset.
type OffsetQuery struct {
	// Timestamp is milliseconds since the epoch, or one of the special timestamps.
	Timestamp int64
	// Isolation bounds "latest" and lookups for consumers.
	Isolation int8
	// ReplicaID is ConsumerReplicaID, or whose log end is to bound the search.
	ReplicaID          int32
	CurrentLeaderEpoch int32
}

// OffsetAnswer is what was found; Offset and TimestampMs are -1 where nothing was.
type OffsetAnswer struct {
	Offset      int64
	TimestampMs int64
	// LeaderEpoch is the epoch of the record at Offset, -1 if unknown.
	LeaderEpoch int32
}

// ProducerState is what a partition remembers of a producer.
type ProducerState struct {
	ProducerID       int64
	ProducerEpoch    int16
	LastSequence     int32
	LastTimestampMs  int64
	CoordinatorEpoch int32
	// CurrentTxnStartOffset is -1 without an open transaction.
	CurrentTxnStartOffset int64
}

// LogDir is a log directory and what it holds.
type LogDir struct {
	Path string
	// Err is set for a directory that is offline.
	Err error
	// TotalBytes and UsableBytes are the room of its device, -1 if unknown.
	TotalBytes, UsableBytes int64
	// Replicas is sorted by topic and partition.
	Replicas []LogDirReplica
}

// LogDirReplica is one partition's log in a directory.
type LogDirReplica struct {
	Topic     string
	Partition int32
	SizeBytes int64
	// OffsetLag is how far the log end is behind the high watermark (or, for a future log, behind
	// the current log).
	OffsetLag int64
	IsFuture  bool
}

// RecordErrors is the cause of an append's error where single records were refused.
type RecordErrors = commitlog.RecordErrors
