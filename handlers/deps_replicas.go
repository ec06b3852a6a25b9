package handlers

import (
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/replica"
)

// Replicas is the partitions that this broker holds. The values that cross are replica's own;
// the behaviour is behind this interface so that handlers are tested without a log.
type Replicas interface {
	// Produce appends each partition of the plan, in order, and fills in the results. It reports
	// whether acks=all partitions still wait for their replicas; AwaitProduce is then due.
	Produce(*replica.ProducePlan) (wait bool)
	// Find looks a partition of a plan up, of the topic with an id, before the plan runs.
	Find(*replica.ProducePartition, image.ID)
	// ProduceFlushes says whether an append of the plan, whose partitions were looked up, may have to wait until it is on the disk.
	ProduceFlushes(*replica.ProducePlan) bool
	// AwaitProduce calls done once, on its own goroutine, when every append of the plan is
	// replicated, failed, or timeout has passed; the results are final then. It reports false,
	// and doesn't call done, if the plan was cancelled.
	AwaitProduce(plan *replica.ProducePlan, timeout time.Duration, done func()) bool
	// CancelProduce ends waiting for good; false if done was called or is about to be.
	CancelProduce(*replica.ProducePlan) bool

	// Fetch reads each partition of the plan, in order, and fills in the results. It reports
	// whether they are worth an answer now: enough bytes, an error, a divergence.
	Fetch(*replica.FetchPlan) (ready bool)
	// AwaitFetch calls wake once, on its own goroutine, when the plan is worth running again, or
	// timeout has passed since the plan first waited (expired). The plan must hold no records while
	// it waits. It reports false, and doesn't call wake, if the plan was cancelled.
	AwaitFetch(plan *replica.FetchPlan, timeout time.Duration, wake func(expired bool)) bool
	// CancelFetch ends waiting for good and is due at the end of every plan that waited. It reports
	// false if nothing waits: wake was called or is about to be, or AwaitFetch is about to report
	// false.
	CancelFetch(*replica.FetchPlan) bool
	Settle(*replica.Rest, *replica.Resting, *replica.FetchPlan, *replica.FetchPartition) bool

	// ListOffset finds an offset by timestamp or by one of the special timestamps.
	ListOffset(topic string, partition int32, q replica.OffsetQuery) (replica.OffsetAnswer, error)
	// EpochEndOffset is where leaderEpoch ends in this partition (KIP-320); {-1, -1} if unknown.
	EpochEndOffset(topic string, partition, currentLeaderEpoch, leaderEpoch int32) (replica.EpochEnd, error)
	// Delete moves log start offsets up, and fills in the results. It reports whether live followers
	// are yet to follow; AwaitDelete is then due.
	Delete(*replica.DeletePlan) (wait bool)
	// AwaitDelete calls done once, on its own goroutine, when the followers have followed, or timeout
	// has passed; the results are final then. It reports false, and doesn't call done, if the plan
	// was cancelled.
	AwaitDelete(plan *replica.DeletePlan, timeout time.Duration, done func()) bool
	// CancelDelete ends waiting for good; false if done was called or is about to be.
	CancelDelete(*replica.DeletePlan) bool
	// ActiveProducers lists the producers that the partition remembers, by producer id.
	ActiveProducers(topic string, partition int32) ([]replica.ProducerState, error)
	// AlterLogDir begins to move a partition to another log directory, as it is named in log.dirs.
	AlterLogDir(topic string, partition int32, dir string) error
	// LogDirs describes the log directories and the replicas in them.
	LogDirs() []replica.LogDir
}
