package handlers

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetCommit, versions 2 to 10.
//
//	2-4  retention of its own
//	6    leader epoch (KIP-320)
//	7    static members (KIP-345)
//	9    groups of the consumer protocol (KIP-848)
//	10   topic ids instead of names (KIP-848)
//
// As in Kafka's response, what the metadata refuses comes before what the coordinator answers.
func handleOffsetCommit(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.OffsetCommitRequest)
	m := d.Image()
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = r.Version
	known := req.Topics[:0:0]
	for _, t := range req.Topics {
		topic, code := commitTopic(m, r.Version, t)
		asked := t
		asked.Partitions = nil
		refused := kmsg.NewOffsetCommitResponseTopic()
		refused.Topic, refused.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			if topic != nil && topic.Partition(p.Partition) != nil {
				asked.Partitions = append(asked.Partitions, p)
				continue
			}
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, code
			refused.Partitions = append(refused.Partitions, rp)
		}
		if len(refused.Partitions) > 0 {
			mergeCommitted(resp, refused)
		}
		if len(asked.Partitions) > 0 {
			asked.Topic, asked.TopicID = topic.Name, topic.ID
			known = append(known, asked)
		}
	}
	if len(known) == 0 {
		r.Reply(resp)
		return
	}
	req.Topics = known
	toGroups(d, r, &req, func(answer *kmsg.OffsetCommitResponse) kmsg.Response {
		if len(resp.Topics) == 0 {
			return answer
		}
		for _, t := range answer.Topics {
			mergeCommitted(resp, t)
		}
		return resp
	})
}

// mergeCommitted adds a topic's partitions to those that the response has of it.
func mergeCommitted(resp *kmsg.OffsetCommitResponse, t kmsg.OffsetCommitResponseTopic) {
	for i := range resp.Topics {
		have := &resp.Topics[i]
		if resp.Version >= 10 && have.TopicID == t.TopicID || resp.Version < 10 && have.Topic == t.Topic {
			have.Partitions = append(have.Partitions, t.Partitions...)
			return
		}
	}
	resp.Topics = append(resp.Topics, t)
}

// commitTopic resolves a topic of the request; the code is why its partitions are refused that
// don't exist.
func commitTopic(m *image.Image, version int16, t kmsg.OffsetCommitRequestTopic) (*image.Topic, int16) {
	if version < 10 {
		return m.Topic(t.Topic), kerr.UnknownTopicOrPartition.Code
	}
	if topic := m.TopicByID(t.TopicID); topic != nil {
		return topic, kerr.UnknownTopicOrPartition.Code
	}
	return nil, kerr.UnknownTopicID.Code
}
