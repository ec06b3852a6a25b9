package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetDelete, version 0: offsets of topics that a group no longer consumes (KIP-496).
//
// The coordinator is asked even if nothing is left to delete: whether there is such a group counts
// more than whether there are such topics. What the metadata refuses comes first in the response.
func handleOffsetDelete(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.OffsetDeleteRequest)
	m := d.Image()
	resp := kmsg.NewPtrOffsetDeleteResponse()
	known := req.Topics[:0:0]
	for _, t := range req.Topics {
		topic := m.Topic(t.Topic)
		asked := t
		asked.Partitions = nil
		refused := kmsg.NewOffsetDeleteResponseTopic()
		refused.Topic = t.Topic
		for _, p := range t.Partitions {
			if topic != nil && topic.Partition(p.Partition) != nil {
				asked.Partitions = append(asked.Partitions, p)
				continue
			}
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, kerr.UnknownTopicOrPartition.Code
			refused.Partitions = append(refused.Partitions, rp)
		}
		if len(refused.Partitions) > 0 {
			mergeDeleted(resp, refused)
		}
		if len(asked.Partitions) > 0 {
			known = append(known, asked)
		}
	}
	req.Topics = known
	toGroups(d, r, &req, func(answer *kmsg.OffsetDeleteResponse) kmsg.Response {
		if answer.ErrorCode != 0 {
			return answer
		}
		for _, t := range answer.Topics {
			mergeDeleted(resp, t)
		}
		return resp
	})
}

// mergeDeleted adds a topic's partitions to those that the response has of it.
func mergeDeleted(resp *kmsg.OffsetDeleteResponse, t kmsg.OffsetDeleteResponseTopic) {
	for i := range resp.Topics {
		if have := &resp.Topics[i]; have.Topic == t.Topic {
			have.Partitions = append(have.Partitions, t.Partitions...)
			return
		}
	}
	resp.Topics = append(resp.Topics, t)
}
