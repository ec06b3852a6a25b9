package group

import (
	"bytes"
	"errors"

	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/record/offsets"
)

func offsetKey(group, topic string, partition int32) []byte {
	return offsets.AppendKey(nil, &offsets.OffsetCommitKey{Group: group, Topic: topic, Partition: partition})
}

// offsetRecord is OffsetCommitValue version 4, as Kafka 4.4 writes it, and version 1, the only one
// that has it, where the client asked for a retention of its own.
func offsetRecord(group, topic string, partition int32, o *offset) machine.Record {
	v := offsets.OffsetCommitValue{
		Offset: o.offset, LeaderEpoch: o.leaderEpoch, Metadata: o.metadata,
		CommitTimestamp: o.committedAt, ExpireTimestamp: o.expiresAt, TopicID: o.topicID,
	}
	version := int16(4)
	if o.expiresAt != -1 {
		version = 1
	}
	return machine.Record{Key: offsetKey(group, topic, partition), Value: offsets.AppendValue(nil, &v, version)}
}

func offsetTombstone(group, topic string, partition int32) machine.Record {
	return machine.Record{Key: offsetKey(group, topic, partition)}
}

// Replay implements machine.Machine. Records of kinds that this version doesn't know are left
// alone, as Kafka does after a downgrade; a newer version of a known one stops the load.
func (m *Machine) Replay(r machine.Record) error {
	key, err := offsets.ReadKey(r.Key)
	var unknown *offsets.TypeError
	if errors.As(err, &unknown) {
		return nil
	} else if err != nil {
		return err
	}
	var value offsets.Value
	if r.Value != nil {
		// What is read borrows the record; groups keep subscriptions and assignments.
		value, _, err = offsets.ReadValue(key.RecordType(), bytes.Clone(r.Value))
		if err != nil {
			return err
		}
	}
	switch k := key.(type) {
	case *offsets.LegacyOffsetCommitKey:
		if v, ok := value.(*offsets.LegacyOffsetCommitValue); ok {
			m.putOffset(k.Group, k.Topic, k.Partition, &offset{offset: v.Offset, leaderEpoch: -1, metadata: v.Metadata, committedAt: v.CommitTimestamp, expiresAt: -1})
		} else {
			m.removeOffset(k.Group, k.Topic, k.Partition)
		}
	case *offsets.OffsetCommitKey:
		if v, ok := value.(*offsets.OffsetCommitValue); ok {
			m.putOffset(k.Group, k.Topic, k.Partition, &offset{
				offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata,
				committedAt: v.CommitTimestamp, expiresAt: v.ExpireTimestamp, topicID: v.TopicID,
			})
		} else {
			m.removeOffset(k.Group, k.Topic, k.Partition)
		}
	case *offsets.GroupMetadataKey:
		if v, ok := value.(*offsets.GroupMetadataValue); ok {
			m.group(k.Group).Apply(v)
		} else {
			delete(m.groups, k.Group)
		}
	}
	return nil
}

// group is the group of a record, made if it doesn't exist.
func (m *Machine) group(id string) *classic.Group {
	g := m.groups[id]
	if g == nil {
		g = classic.New(id, &m.cfg.Classic)
		m.groups[id] = g
	}
	return g
}

// putOffset takes a committed offset; a group that has nothing else comes into being with it.
func (m *Machine) putOffset(group, topic string, partition int32, o *offset) {
	m.group(group)
	byTopic := m.offsets[group]
	if byTopic == nil {
		byTopic = groupOffsets{}
		m.offsets[group] = byTopic
	}
	if byTopic[topic] == nil {
		byTopic[topic] = map[int32]*offset{}
	}
	byTopic[topic][partition] = o
}

func (m *Machine) removeOffset(group, topic string, partition int32) {
	byTopic := m.offsets[group]
	delete(byTopic[topic], partition)
	if len(byTopic[topic]) == 0 {
		delete(byTopic, topic)
	}
	if len(byTopic) == 0 {
		delete(m.offsets, group)
	}
}
