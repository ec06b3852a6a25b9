package handlers

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetFetch, versions 1 to 10.
//
//	2   all topics (null), error code of the whole response
//	5   leader epoch (KIP-320)
//	7   require_stable (KIP-447)
//	8   many groups (KIP-709)
//	9   groups of the consumer protocol (KIP-848)
//	10  topic ids instead of names (KIP-848)
func handleOffsetFetch(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.OffsetFetchRequest)
	if r.Version < 8 {
		req.Groups = []kmsg.OffsetFetchRequestGroup{singleGroup(&req)}
		group := req.Groups[0]
		toGroups(d, r, &req, func(resp *kmsg.OffsetFetchResponse) kmsg.Response {
			return singleGroupOffsets(r.Version, group, resp)
		})
		return
	}
	if r.Version < 10 {
		toGroups(d, r, &req, same[*kmsg.OffsetFetchResponse])
		return
	}
	m := d.Image()
	groups := make([]kmsg.OffsetFetchRequestGroup, len(req.Groups))
	unknown := make([][]kmsg.OffsetFetchResponseGroupTopic, len(req.Groups))
	for i, g := range req.Groups {
		groups[i] = g
		if g.Topics != nil {
			groups[i].Topics, unknown[i] = fetchTopicsByID(m, g.Topics)
		}
	}
	req.Groups = groups
	toGroups(d, r, &req, func(resp *kmsg.OffsetFetchResponse) kmsg.Response {
		for i := range resp.Groups {
			nameToID(m, &resp.Groups[i])
			if resp.Groups[i].ErrorCode == 0 {
				resp.Groups[i].Topics = append(resp.Groups[i].Topics, unknown[i]...)
			}
		}
		return resp
	})
}

// singleGroup is the group of a request before version 8.
func singleGroup(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	if req.Topics == nil && req.Version >= 2 {
		return g
	}
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range req.Topics {
		gt := kmsg.NewOffsetFetchRequestGroupTopic()
		gt.Topic, gt.Partitions = t.Topic, t.Partitions
		g.Topics = append(g.Topics, gt)
	}
	return g
}

// singleGroupOffsets is the response before version 8. Version 1 has no error code of its own and
// tells it with every partition that was asked for.
func singleGroupOffsets(version int16, asked kmsg.OffsetFetchRequestGroup, from *kmsg.OffsetFetchResponse) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	g := from.Groups[0]
	if version >= 2 {
		resp.ErrorCode = g.ErrorCode
	} else if g.ErrorCode != 0 {
		g.Topics = failedTopics(asked.Topics, g.ErrorCode)
	}
	for _, t := range g.Topics {
		rt := kmsg.NewOffsetFetchResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseTopicPartition()
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata, rp.ErrorCode = p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// fetchTopicsByID resolves topic ids; what can't be is answered apart.
func fetchTopicsByID(m *image.Image, topics []kmsg.OffsetFetchRequestGroupTopic) (known []kmsg.OffsetFetchRequestGroupTopic, unknown []kmsg.OffsetFetchResponseGroupTopic) {
	known = []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range topics {
		topic := m.TopicByID(t.TopicID)
		if topic == nil {
			unknown = append(unknown, failedTopics([]kmsg.OffsetFetchRequestGroupTopic{t}, kerr.UnknownTopicID.Code)...)
			continue
		}
		t.Topic = topic.Name
		known = append(known, t)
	}
	return known, unknown
}

func failedTopics(topics []kmsg.OffsetFetchRequestGroupTopic, code int16) []kmsg.OffsetFetchResponseGroupTopic {
	var failed []kmsg.OffsetFetchResponseGroupTopic
	for _, t := range topics {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			empty := ""
			rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata, rp.ErrorCode = p, -1, -1, &empty, code
			rt.Partitions = append(rt.Partitions, rp)
		}
		failed = append(failed, rt)
	}
	return failed
}

// nameToID gives the topics of a response the ids that they have now; those without are left out.
func nameToID(m *image.Image, g *kmsg.OffsetFetchResponseGroup) {
	kept := g.Topics[:0]
	for _, t := range g.Topics {
		if topic := m.Topic(t.Topic); topic != nil {
			t.TopicID = topic.ID
			kept = append(kept, t)
		}
	}
	g.Topics = kept
}
