package decide

import (
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Quorum is what the active controller knows of the metadata quorum.
type Quorum struct {
	LeaderID    int32
	LeaderEpoch int32
	// HighWatermark is the offset after the last committed record.
	HighWatermark int64
	// Voters and Observers are in order of their ids; the leader is one of the voters.
	Voters, Observers []QuorumReplica
}

// QuorumReplica is a node that holds the cluster's metadata.
type QuorumReplica struct {
	ID          int32
	DirectoryID image.ID
	// LogEndOffset is the offset after the last record that it is known to have; -1 if nothing is known.
	LogEndOffset int64
	// LastFetch is when it last told of itself, LastCaughtUp when it last had everything; zero if never.
	LastFetch, LastCaughtUp time.Time
	// Endpoint is where a voter is reached that hasn't registered its listeners.
	Endpoint image.Endpoint
}

// describeQuorum tells of the metadata quorum, which answers for partition 0 of __cluster_metadata
// only.
func describeQuorum(env *Env, req *kmsg.DescribeQuorumRequest) Decision {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	empty := ""
	resp.ErrorMessage = &empty
	for _, rt := range req.Topics {
		t := kmsg.NewDescribeQuorumResponseTopic()
		t.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.Partition = rp.Partition
			if rt.Topic != clusterMetadataTopic || rp.Partition != 0 {
				p.ErrorCode, p.ErrorMessage = codeAndMessage(kerror.New(kerr.UnknownTopicOrPartition, textUnknownTopic))
			} else {
				env.Quorum.describe(&p)
				resp.Nodes = env.quorumNodes()
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return Decision{Response: resp}
}

func (q *Quorum) describe(p *kmsg.DescribeQuorumResponseTopicPartition) {
	empty := ""
	p.ErrorMessage = &empty
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = q.LeaderID, q.LeaderEpoch, q.HighWatermark
	for _, r := range q.Voters {
		p.CurrentVoters = append(p.CurrentVoters, r.state())
	}
	for _, r := range q.Observers {
		p.Observers = append(p.Observers, r.state())
	}
}

func (r QuorumReplica) state() kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	s := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	s.ReplicaID, s.ReplicaDirectoryID, s.LogEndOffset = r.ID, r.DirectoryID, r.LogEndOffset
	s.LastFetchTimestamp, s.LastCaughtUpTimestamp = quorumTime(r.LastFetch), quorumTime(r.LastCaughtUp)
	return s
}

// quorumTime is a time as the response has it: -1 for never.
func quorumTime(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return t.UnixMilli()
}

// quorumNodes tells where the voters are.
func (env *Env) quorumNodes() []kmsg.DescribeQuorumResponseNode {
	var nodes []kmsg.DescribeQuorumResponseNode
	for _, r := range env.Quorum.Voters {
		n := kmsg.NewDescribeQuorumResponseNode()
		n.NodeID = r.ID
		listeners := env.Image.ControllerListeners(r.ID)
		if len(listeners) == 0 && r.Endpoint.Name != "" {
			listeners = []image.Endpoint{r.Endpoint}
		}
		for _, e := range listeners {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
			n.Listeners = append(n.Listeners, l)
		}
		nodes = append(nodes, n)
	}
	return nodes
}
