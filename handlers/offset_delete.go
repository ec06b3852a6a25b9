package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete, version 0: offsets of topics that a group no longer consumes (KIP-496).
func handleOffsetDelete(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.OffsetDeleteRequest)
	m := d.Image()
	resp := kmsg.NewPtrOffsetDeleteResponse()
	known := req.Topics[:0:0]
	// codes are where the coordinator's answers belong, in the order in which it is asked.
	var codes []*int16
	for _, t := range req.Topics {
		topic := m.Topic(t.Topic)
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))
		asked := t
		asked.Partitions = nil
		for i, p := range t.Partitions {
			rt.Partitions[i].Partition = p.Partition
			if topic == nil || topic.Partition(p.Partition) == nil {
				rt.Partitions[i].ErrorCode = kerr.UnknownTopicOrPartition.Code
				continue
			}
			asked.Partitions = append(asked.Partitions, p)
			codes = append(codes, &rt.Partitions[i].ErrorCode)
		}
		if len(asked.Partitions) > 0 {
			known = append(known, asked)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if len(known) == 0 {
		r.Reply(resp)
		return
	}
	req.Topics = known
	toGroups(d, r, &req, func(answer *kmsg.OffsetDeleteResponse) kmsg.Response {
		if answer.ErrorCode != 0 {
			return answer
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				*codes[0] = p.ErrorCode
				codes = codes[1:]
			}
		}
		return resp
	})
}
