package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterPartition decides on the ISRs that leaders ask for (KIP-497), as
// ReplicationControlManager.alterPartition does, versions 2 and 3:
//
//	3  members of the ISR come with their broker epochs (KIP-903)
//
// A change that completes a reassignment may take the leadership from the one who asks; it is told
// NEW_LEADER_ELECTED and learns the rest from the metadata.
func alterPartition(env *Env, req *kmsg.AlterPartitionRequest) Decision {
	resp := req.ResponseKind().(*kmsg.AlterPartitionResponse)
	if b := env.Image.Broker(req.BrokerID); b == nil || b.Epoch != req.BrokerEpoch {
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		return Decision{Response: resp}
	}
	w := newWork(env)
	rules := newTopicRules(env, env.Image)
	for i := range req.Topics {
		rt := &req.Topics[i]
		out := kmsg.NewAlterPartitionResponseTopic()
		out.TopidID = rt.TopicID
		t := w.image.TopicByID(rt.TopicID)
		for k := range rt.Partitions {
			p := kmsg.NewAlterPartitionResponseTopicPartition()
			if p.Partition = rt.Partitions[k].Partition; t == nil {
				p.ErrorCode = kerr.UnknownTopicID.Code
			} else {
				alterOne(w, rules, req, rt.TopicID, &rt.Partitions[k], &p)
			}
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	// Each partition stands for itself.
	return Decision{Records: w.records, Response: resp, Divisible: true}
}

// alterOne decides on one partition of a topic that exists, and fills its part of the response.
func alterOne(w *work, rules *topicRules, req *kmsg.AlterPartitionRequest, topic image.ID, rp *kmsg.AlterPartitionRequestTopicPartition, out *kmsg.AlterPartitionResponseTopicPartition) {
	t := w.image.TopicByID(topic)
	p := t.Partition(rp.Partition)
	isr := proposedISR(req.Version, rp)
	if e := checkAlterPartition(w.image, req.BrokerID, p, rp, isr); e != nil {
		out.ErrorCode = e.Code
		return
	}
	rules.m = w.image
	c := newPartitionChange(rules, image.PartitionRef{Topic: t, Index: rp.Partition, Partition: p})
	c.election, c.recovery = rules.electionOf(t), rp.LeaderRecoveryState
	c.isr = make([]int32, len(isr))
	for i := range isr {
		c.isr[i] = isr[i].BrokerID
	}
	if r := c.record(); r != nil {
		w.add(r)
		if r.Leader != noLeaderChange && r.Leader != req.BrokerID {
			out.ErrorCode = kerr.NewLeaderElected.Code
			return
		}
		p = w.image.TopicByID(topic).Partition(rp.Partition)
	}
	out.LeaderID, out.LeaderEpoch, out.PartitionEpoch = p.Leader, p.LeaderEpoch, p.PartitionEpoch
	out.ISR, out.LeaderRecoveryState = p.ISR, p.LeaderRecovery
}

// proposedISR is the ISR of a request; -1 stands for a broker epoch that an older version doesn't send.
func proposedISR(version int16, rp *kmsg.AlterPartitionRequestTopicPartition) []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR {
	if version >= 3 {
		return rp.NewEpochISR
	}
	isr := make([]kmsg.AlterPartitionRequestTopicPartitionNewEpochISR, len(rp.NewISR))
	for i, id := range rp.NewISR {
		isr[i].BrokerID, isr[i].BrokerEpoch = id, -1
	}
	return isr
}

// checkAlterPartition tells why an ISR can't be taken. A leader that knows more than this controller
// must ask again at the one that told it. The order is the oracle's.
func checkAlterPartition(m *image.Image, leader int32, p *image.Partition, rp *kmsg.AlterPartitionRequestTopicPartition, isr []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR) *kerr.Error {
	switch {
	case p == nil:
		return kerr.UnknownTopicOrPartition
	case rp.LeaderEpoch > p.LeaderEpoch, rp.PartitionEpoch > p.PartitionEpoch:
		return kerr.NotController
	case rp.LeaderEpoch < p.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	case leader != p.Leader:
		return kerr.InvalidRequest
	case rp.PartitionEpoch < p.PartitionEpoch:
		return kerr.InvalidUpdateVersion
	case !isValidISR(p, leader, isr):
		return kerr.InvalidRequest
	case rp.LeaderRecoveryState != image.LeaderRecovered && rp.LeaderRecoveryState != image.LeaderRecovering:
		return kerr.InvalidRequest
	case rp.LeaderRecoveryState == image.LeaderRecovering && len(isr) > 1:
		return kerr.InvalidRequest
	case rp.LeaderRecoveryState == image.LeaderRecovering && p.LeaderRecovery == image.LeaderRecovered:
		return kerr.InvalidRequest
	}
	for _, x := range isr {
		// A member that was registered anew since the leader heard of it may lack its tail (KIP-903).
		b := m.Broker(x.BrokerID)
		if b == nil || !isActive(b) || x.BrokerEpoch != -1 && x.BrokerEpoch != b.Epoch {
			return kerr.IneligibleReplica
		}
	}
	return nil
}

// isValidISR tells whether an ISR is made of replicas, each once, and holds the leader.
func isValidISR(p *image.Partition, leader int32, isr []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR) bool {
	hasLeader := false
	for i, x := range isr {
		if !slices.Contains(p.Replicas, x.BrokerID) {
			return false
		}
		for _, y := range isr[:i] {
			if y.BrokerID == x.BrokerID {
				return false
			}
		}
		hasLeader = hasLeader || x.BrokerID == leader
	}
	return hasLeader
}
