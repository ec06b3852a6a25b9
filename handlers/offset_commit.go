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
func handleOffsetCommit(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.OffsetCommitRequest)
	m := d.Image()
	resp := kmsg.NewPtrOffsetCommitResponse()
	known := req.Topics[:0:0]
	// codes are where the coordinator's answers belong, in the order in which it is asked.
	var codes []*int16
	for _, t := range req.Topics {
		topic, code := commitTopic(m, r.Version, t)
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		asked := t
		asked.Partitions = nil
		for i, p := range t.Partitions {
			rt.Partitions[i].Partition = p.Partition
			switch {
			case topic == nil:
				rt.Partitions[i].ErrorCode = code
			case topic.Partition(p.Partition) == nil:
				rt.Partitions[i].ErrorCode = kerr.UnknownTopicOrPartition.Code
			default:
				asked.Partitions = append(asked.Partitions, p)
				codes = append(codes, &rt.Partitions[i].ErrorCode)
			}
		}
		if len(asked.Partitions) > 0 {
			asked.Topic, asked.TopicID = topic.Name, topic.ID
			known = append(known, asked)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if len(known) == 0 {
		r.Reply(resp)
		return
	}
	req.Topics = known
	toGroups(d, r, &req, func(answer *kmsg.OffsetCommitResponse) kmsg.Response {
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				*codes[0] = p.ErrorCode
				codes = codes[1:]
			}
		}
		return resp
	})
}

// commitTopic resolves a topic of the request; the code is why it can't be.
func commitTopic(m *image.Image, version int16, t kmsg.OffsetCommitRequestTopic) (*image.Topic, int16) {
	if version >= 10 {
		return m.TopicByID(t.TopicID), kerr.UnknownTopicID.Code
	}
	return m.Topic(t.Topic), kerr.UnknownTopicOrPartition.Code
}
