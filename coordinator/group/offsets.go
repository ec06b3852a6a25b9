package group

import (
	"slices"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/javastring"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offset is one committed offset.
type offset struct {
	offset      int64
	leaderEpoch int32 // -1: unknown
	metadata    string
	// committedAt and expiresAt are in ms; expiresAt is -1 unless the client asked for a retention of its
	// own (OffsetCommit versions 2 to 4).
	committedAt, expiresAt int64
	topicID                [16]byte // zero: unknown
}

// groupOffsets are a group's offsets by topic and partition.
type groupOffsets map[string]map[int32]*offset

// each calls f in order of topic and partition.
func (o groupOffsets) each(f func(topic string, partition int32, o *offset)) {
	for _, topic := range sortedKeys(o) {
		for _, partition := range sortedKeys(o[topic]) {
			f(topic, partition, o[topic][partition])
		}
	}
}

func sortedKeys[K string | int32, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// commitOffsets takes offsets if the sender may commit; it is told when they are durable.
func (m *Machine) commitOffsets(now time.Time, call machine.Call, req *kmsg.OffsetCommitRequest) machine.Result {
	var r machine.Result
	if err := m.validateCommit(req); err != nil {
		r.Reply(call, CommitError(req, err))
		return r
	}
	if g := m.groups[req.Group]; g != nil {
		g.TouchOnCommit(req.MemberID, &r)
	}
	expiresAt := int64(-1)
	if req.RetentionTimeMillis != -1 {
		expiresAt = now.UnixMilli() + req.RetentionTimeMillis
	}
	resp := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition = p.Partition
			o := offset{offset: p.Offset, leaderEpoch: p.LeaderEpoch, committedAt: now.UnixMilli(), expiresAt: expiresAt, topicID: t.TopicID}
			if p.Metadata != nil {
				o.metadata = *p.Metadata
			}
			if javastring.Len(o.metadata) > m.cfg.OffsetMetadataMaxBytes {
				rp.ErrorCode = kerr.OffsetMetadataTooLarge.Code
			} else {
				r.Append(offsetRecord(req.Group, t.Topic, p.Partition, &o))
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(call, resp)
	return r
}

// validateCommit: a group that doesn't exist takes offsets from consumers without a generation, and
// comes into being with them.
func (m *Machine) validateCommit(req *kmsg.OffsetCommitRequest) error {
	g := m.groups[req.Group]
	switch {
	case g != nil:
		return g.ValidateOffsetCommit(req.MemberID, req.InstanceID, req.Generation)
	case req.Generation < 0:
		return nil
	case req.Version >= 9:
		return kerr.GroupIDNotFound
	}
	return kerr.IllegalGeneration
}

// CommitError is an OffsetCommit response in which every partition has the error.
func CommitError(req *kmsg.OffsetCommitRequest, err error) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, codeOf(err)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// fetchOffsets tells the offsets of groups; nil topics asks for all of them. What isn't committed
// has offset -1.
func (m *Machine) fetchOffsets(call machine.Call, req *kmsg.OffsetFetchRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrOffsetFetchResponse()
	for _, g := range req.Groups {
		rg := kmsg.NewOffsetFetchResponseGroup()
		rg.Group = g.Group
		offsets := m.offsets[g.Group]
		if m.groups[g.Group] == nil {
			offsets = nil
		}
		if g.Topics == nil {
			rg.Topics = allOffsets(offsets)
		}
		for _, t := range g.Topics {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, fetched(p, offsets[t.Topic][p]))
			}
			rg.Topics = append(rg.Topics, rt)
		}
		resp.Groups = append(resp.Groups, rg)
	}
	r.Reply(call, resp)
	return r
}

func allOffsets(offsets groupOffsets) []kmsg.OffsetFetchResponseGroupTopic {
	list := []kmsg.OffsetFetchResponseGroupTopic{}
	offsets.each(func(topic string, partition int32, o *offset) {
		if len(list) == 0 || list[len(list)-1].Topic != topic {
			rt := kmsg.NewOffsetFetchResponseGroupTopic()
			rt.Topic, rt.TopicID = topic, o.topicID
			list = append(list, rt)
		}
		last := &list[len(list)-1]
		last.Partitions = append(last.Partitions, fetched(partition, o))
	})
	return list
}

func fetched(partition int32, o *offset) kmsg.OffsetFetchResponseGroupTopicPartition {
	rp := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	rp.Partition, rp.Offset, rp.LeaderEpoch = partition, -1, -1
	metadata := ""
	if o != nil {
		rp.Offset, rp.LeaderEpoch, metadata = o.offset, o.leaderEpoch, o.metadata
	}
	rp.Metadata = &metadata
	return rp
}

// deleteOffsets deletes offsets of topics that no member consumes (KIP-496).
func (m *Machine) deleteOffsets(call machine.Call, req *kmsg.OffsetDeleteRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrOffsetDeleteResponse()
	g := m.groups[req.Group]
	err := error(kerr.GroupIDNotFound)
	if g != nil {
		err = g.ValidateOffsetDelete()
	}
	if err != nil {
		resp.ErrorCode = codeOf(err)
		r.Reply(call, resp)
		return r
	}
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetDeleteResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetDeleteResponseTopicPartition()
			rp.Partition = p.Partition
			if g.IsSubscribedTo(t.Topic) {
				rp.ErrorCode = kerr.GroupSubscribedToTopic.Code
			} else if m.offsets[req.Group][t.Topic][p.Partition] != nil {
				r.Append(offsetTombstone(req.Group, t.Topic, p.Partition))
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	r.Reply(call, resp)
	return r
}
