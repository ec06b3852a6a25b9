package replica

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Peers reaches the brokers that this one follows. The requests have their versions set. fetcher tells
// the fetchers of one leader apart, 0 to Replication.Fetchers-1: each has one request under way at a
// time, and wants a connection of its own, since its fetches wait at the leader.
//
// A call returns soon after ctx ended, and must not hold up the next one: the connection of a Fetch that
// was given up is closed, since the leader answers in order. The response belongs to the caller; that of
// a Fetch may alias a buffer that the next Fetch of the same broker and fetcher uses again.
type Peers interface {
	Fetch(ctx context.Context, broker int32, fetcher int, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error)
	ListOffsets(ctx context.Context, broker int32, fetcher int, req *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error)
}

// ISRChanges asks the controller to change in-sync replicas. One call is under way at a time; the manager
// repeats it after errors.
type ISRChanges interface {
	AlterPartition(ctx context.Context, req *kmsg.AlterPartitionRequest) (*kmsg.AlterPartitionResponse, error)
}

// Replication is how this broker replicates.
type Replication struct {
	// Fetchers is num.replica.fetchers: how many fetchers follow one leader, 1 at least.
	Fetchers int
	// FetchMinBytes, FetchMaxBytes (of a partition) and FetchResponseMaxBytes are replica.fetch.min.bytes,
	// replica.fetch.max.bytes and replica.fetch.response.max.bytes.
	FetchMinBytes, FetchMaxBytes, FetchResponseMaxBytes int32
	// FetchWaitMax is replica.fetch.wait.max.ms, FetchBackoff replica.fetch.backoff.ms.
	FetchWaitMax, FetchBackoff time.Duration
	// LagTimeMax is replica.lag.time.max.ms.
	LagTimeMax time.Duration
	// RackAware is replica.selector.class naming the rack-aware selector (KIP-392).
	RackAware bool
}

// DefaultReplication is Kafka's defaults.
func DefaultReplication() Replication {
	return Replication{
		Fetchers: 1, FetchMinBytes: 1, FetchMaxBytes: 1 << 20, FetchResponseMaxBytes: 10 << 20,
		FetchWaitMax: 500 * time.Millisecond, FetchBackoff: time.Second, LagTimeMax: 30 * time.Second,
	}
}
