package decide

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
				env.describeLeader(&p)
				resp.Nodes = env.quorumNodes()
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return Decision{Response: resp}
}

func (env *Env) describeLeader(p *kmsg.DescribeQuorumResponseTopicPartition) {
	q, now, empty := env.Quorum, env.Now.UnixMilli(), ""
	p.ErrorMessage = &empty
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = q.LeaderID, q.LeaderEpoch, q.HighWatermark
	v := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	v.ReplicaID, v.ReplicaDirectoryID = q.LeaderID, q.DirectoryID
	v.LogEndOffset, v.LastFetchTimestamp, v.LastCaughtUpTimestamp = env.Image.Offset()+1, now, now
	p.CurrentVoters = append(p.CurrentVoters, v)
}

func (env *Env) quorumNodes() []kmsg.DescribeQuorumResponseNode {
	n := kmsg.NewDescribeQuorumResponseNode()
	n.NodeID = env.Quorum.LeaderID
	if e := env.Quorum.Endpoint; e.Name != "" {
		l := kmsg.NewDescribeQuorumResponseNodeListener()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		n.Listeners = append(n.Listeners, l)
	}
	return []kmsg.DescribeQuorumResponseNode{n}
}
