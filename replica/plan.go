package replica

// ConsumerReplicaID is the replica id of a fetch that doesn't come from a follower.
const ConsumerReplicaID = -1

// DebuggingReplicaID asks any replica, not only the leader, and sees what followers see.
const DebuggingReplicaID = -2

// Isolation levels of a read, as on the wire.
const (
	ReadUncommitted int8 = 0
	ReadCommitted   int8 = 1
)

// NoLeaderEpoch is the epoch of a client that doesn't know or doesn't care; it is never fenced.
const NoLeaderEpoch = -1

// HighWatermarkOffset stands for the high watermark in DeleteRecords.
const HighWatermarkOffset = -1

// UnknownOffset is answered where there is no offset to tell.
const UnknownOffset = -1

// FileRange is a held piece of a segment file; it has the method set of wire.FileRange.
type FileRange interface {
	Fd() (fd uintptr, ok bool)
	ReadAt(p []byte, position int64) (int, error)
	Position() int64
	Len() int
	Release()
}

// AbortedTransaction is a transaction whose records a read_committed consumer must drop.
type AbortedTransaction struct {
	ProducerID  int64
	FirstOffset int64
}

// EpochEnd is where a leader epoch ends in a log. The zero Epoch is a real one; absent is -1, -1.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// FetchPlan is the ordered list of partition reads of one Fetch, with their results. It holds no
// state of the partitions, so that running it again is harmless. One goroutine uses it at a time.
type FetchPlan struct {
	// ReplicaID is ConsumerReplicaID or the follower's broker id; ReplicaEpoch is the follower's
	// broker epoch, -1 if unknown.
	ReplicaID    int32
	ReplicaEpoch int64
	// Isolation is ReadUncommitted or ReadCommitted; followers read to the log end whatever it says.
	Isolation int8
	// MinBytes completes the fetch, MaxBytes ends reading; the first batch is read whole (KIP-74).
	MinBytes, MaxBytes int
	// Rack is the client's rack, empty if unknown.
	Rack string
	// FromFollowers says that the consumer may read from a replica that doesn't lead (KIP-392).
	FromFollowers bool
	Partitions    []FetchPartition
	// Rest is where the other partitions of the plan's session sleep, nil without a session. What wakes there
	// wakes the plan, which is to be made anew then.
	Rest *Rest

	// Cached runs the plan without waiting: for the device, or for a lock that others may hold while they do. Blocked
	// says that a run came to something that isn't to be had so; the plan is to be run again without Cached then.
	Cached, Blocked bool

	// readBytes is what the last run found; what lacks to MinBytes is waited for.
	readBytes int
	// waited says that the plan ran already: a follower has told its progress.
	waited bool
	waiter Waiter
}

// FetchPartition is one read of a plan: what is asked above, what was found below.
type FetchPartition struct {
	Topic     string
	TopicID   [16]byte
	Partition int32
	// CurrentLeaderEpoch is what the client believes, or NoLeaderEpoch.
	CurrentLeaderEpoch int32
	FetchOffset        int64
	// LastFetchedEpoch is the epoch of the record before FetchOffset, or -1 (KIP-595 truncation).
	LastFetchedEpoch int32
	// FollowerLogStartOffset is the follower's log start offset, -1 from consumers.
	FollowerLogStartOffset int64
	MaxBytes               int32
	// Err, when set before the plan runs, makes the plan skip this partition and keep the error;
	// the plan sets it too.
	Err error

	// Results; valid once the plan ran. The offsets are UnknownOffset where Err says so.
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	// Records is nil where nothing was read; whoever reads the result takes it and releases it.
	Records FileRange
	// Aborted lists the aborted transactions in Records; nil for read_uncommitted.
	Aborted []AbortedTransaction
	// Diverging is where the client's LastFetchedEpoch ends here, if it does before FetchOffset.
	Diverging    EpochEnd
	HasDiverging bool
	// PreferredReadReplica is another broker to read from, or -1 (KIP-392).
	PreferredReadReplica int32

	// source is the partition that was read, under the upper bound seen and in state changes; a
	// waiter wakes once either has moved.
	source *Partition
	// failed tells that Err came of running the plan.
	failed  bool
	seen    int64
	changes uint64
}

// ProducePlan is the list of appends of one Produce, with their results.
type ProducePlan struct {
	// Acks is 0, 1 or -1.
	Acks       int16
	Partitions []ProducePartition

	waiter Waiter
}

// ProducePartition is one append of a plan: what is asked above, what came of it below.
type ProducePartition struct {
	Topic     string
	Partition int32
	// Records borrows the request's frame; it is patched in place and not kept.
	Records []byte
	// Err, when set before the plan runs, makes the plan skip this partition and keep the error.
	Err error

	// Results; UnknownOffset where Err is set.
	FirstOffset     int64
	LogAppendTimeMs int64
	// LogStartOffset is told with some errors too.
	LogStartOffset int64

	// found is the partition, once it was looked up; nil if that can't be appended to, with the reason in absent.
	found  *Partition
	absent error
	// target is where the append went, in leader epoch epoch, if it waits for its replicas: the high
	// watermark must pass lastOffset.
	target     *Partition
	epoch      int32
	lastOffset int64
}

// Refused tells that the partition had its error before the plan ran.
func (fp *FetchPartition) Refused() bool { return fp.Err != nil && !fp.failed }
