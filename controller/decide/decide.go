// Package decide holds the controller's decisions: pure functions of an image, a request, the time
// and a random source that return the metadata records to write and the response to send once they
// are committed.
//
// Nothing here changes state, waits or fails for reasons of its own; what a request asks for and
// can't have is an error in the response. Messages are Kafka's, word for word, since tools show and
// tests compare them.
package decide

import (
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Env is what a decision depends on besides the request.
type Env struct {
	// Image is the committed image and all decisions in flight.
	Image *image.Image
	// NodeID is the deciding controller.
	NodeID int32
	Now    time.Time
	// Rand places replicas and makes ids.
	Rand *rand.Rand
	// Settings are the controller's static settings.
	Settings *config.Broker
	Quorum   Quorum
	// Live is the controller's memory of heartbeats, which decisions read and change; nil where there is
	// none: then no session ever ends and nobody's registration is in the way of another's.
	Live *Liveness
	// Incarnation is the incarnation id of the deciding process's own broker; zero if it has none.
	Incarnation image.ID
}

// Decision is the outcome of a request. Without records nothing changes.
type Decision struct {
	// Records are applied together or not at all, unless Divisible.
	Records []metadata.Record
	// Response is nil for a decision that nobody asked for.
	Response kmsg.Response
	// Divisible tells that the records may be split, in their order, into several entries that commit
	// one after the other: a part of them leaves a state that is fine and that later decisions go on
	// from. The response leaves after the last.
	Divisible bool
}

// Batches are the records as entries of the log: one, or several of bounded length if the decision is
// divisible.
func (d *Decision) Batches() iter.Seq[[]metadata.Record] {
	size := max(1, len(d.Records))
	if d.Divisible {
		size = maxBatch
	}
	return slices.Chunk(d.Records, size)
}

// maxBatch bounds the records of one entry. A partition change is some 60 bytes.
const maxBatch = 1000

// Decide decides on a request. The error is UNSUPPORTED_VERSION for a request that isn't the
// controller's.
func Decide(env *Env, req kmsg.Request) (Decision, error) {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return createTopics(env, r), nil
	case *kmsg.DeleteTopicsRequest:
		return deleteTopics(env, r), nil
	case *kmsg.CreatePartitionsRequest:
		return createPartitions(env, r), nil
	case *kmsg.AlterConfigsRequest:
		return alterConfigs(env, r), nil
	case *kmsg.IncrementalAlterConfigsRequest:
		return incrementalAlterConfigs(env, r), nil
	case *kmsg.ElectLeadersRequest:
		return electLeaders(env, r), nil
	case *kmsg.AlterPartitionAssignmentsRequest:
		return alterPartitionReassignments(env, r), nil
	case *kmsg.ListPartitionReassignmentsRequest:
		return listPartitionReassignments(env, r), nil
	case *kmsg.AllocateProducerIDsRequest:
		return allocateProducerIDs(env, r), nil
	case *kmsg.BrokerRegistrationRequest:
		return registerBroker(env, r), nil
	case *kmsg.AssignReplicasToDirsRequest:
		return assignReplicasToDirs(env, r), nil
	case *kmsg.BrokerHeartbeatRequest:
		return heartbeat(env, r), nil
	case *kmsg.AlterPartitionRequest:
		return alterPartition(env, r), nil
	case *kmsg.UpdateFeaturesRequest:
		return updateFeatures(env, r), nil
	case *kmsg.UnregisterBrokerRequest:
		return unregisterBroker(env, r), nil
	case *kmsg.ControllerRegistrationRequest:
		return registerController(env, r), nil
	case *kmsg.DescribeQuorumRequest:
		return describeQuorum(env, r), nil
	}
	return Decision{}, kerror.New(kerr.UnsupportedVersion, "The controller doesn't answer %s requests.", kmsg.NameForKey(req.Key()))
}
