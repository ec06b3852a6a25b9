package group

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Types of records in __consumer_offsets, the first two bytes of a key.
const (
	keyLegacyOffsetCommit = 0
	keyOffsetCommit       = 1
	keyGroupMetadata      = 2
)

// Newest value versions that can be read.
const (
	maxOffsetCommitVersion  = 4
	maxGroupMetadataVersion = 4
)

// errShort means that a key or value ends before its version.
var errShort = errors.New("record is too short for its version")

func offsetKey(group, topic string, partition int32) []byte {
	return (&kmsg.OffsetCommitKey{Version: keyOffsetCommit, Group: group, Topic: topic, Partition: partition}).AppendTo(nil)
}

// offsetRecord is OffsetCommitValue version 4, as Kafka 4.4 writes it; version 1, the only one that
// has it, where the client asked for a retention of its own; and version 3 where no topic id is known.
func offsetRecord(group, topic string, partition int32, o *offset) machine.Record {
	v := kmsg.OffsetCommitValue{
		Version: 4, Offset: o.offset, LeaderEpoch: o.leaderEpoch, Metadata: o.metadata,
		CommitTimestamp: o.committedAt, ExpireTimestamp: o.expiresAt, TopicID: o.topicID,
	}
	switch {
	case o.expiresAt >= 0:
		v.Version = 1
	case o.topicID == [16]byte{}:
		v.Version = 3
	}
	return machine.Record{Key: offsetKey(group, topic, partition), Value: v.AppendTo(nil)}
}

func offsetTombstone(group, topic string, partition int32) machine.Record {
	return machine.Record{Key: offsetKey(group, topic, partition)}
}

// Replay implements machine.Machine. Records of group kinds that this version doesn't know are left
// alone, as Kafka does after a downgrade; a newer version of a known one stops the load.
func (m *Machine) Replay(r machine.Record) error {
	if len(r.Key) < 2 {
		return errShort
	}
	switch kind := binary.BigEndian.Uint16(r.Key); kind {
	case keyLegacyOffsetCommit, keyOffsetCommit:
		return m.replayOffset(r)
	case keyGroupMetadata:
		return m.replayGroup(r)
	}
	return nil
}

func (m *Machine) replayOffset(r machine.Record) error {
	var key kmsg.OffsetCommitKey
	if err := key.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("OffsetCommitKey: %w", err)
	}
	if r.Value == nil {
		m.removeOffset(key.Group, key.Topic, key.Partition)
		return nil
	}
	if err := checkVersion("OffsetCommitValue", r.Value, maxOffsetCommitVersion); err != nil {
		return err
	}
	v := kmsg.NewOffsetCommitValue()
	v.LeaderEpoch, v.ExpireTimestamp = -1, -1
	if err := v.ReadFrom(r.Value); err != nil {
		return fmt.Errorf("OffsetCommitValue: %w", err)
	}
	if m.groups[key.Group] == nil {
		m.groups[key.Group] = classic.New(key.Group, &m.cfg.Classic)
	}
	offsets := m.offsets[key.Group]
	if offsets == nil {
		offsets = groupOffsets{}
		m.offsets[key.Group] = offsets
	}
	if offsets[key.Topic] == nil {
		offsets[key.Topic] = map[int32]*offset{}
	}
	offsets[key.Topic][key.Partition] = &offset{
		offset: v.Offset, leaderEpoch: v.LeaderEpoch, metadata: v.Metadata,
		committedAt: v.CommitTimestamp, expiresAt: v.ExpireTimestamp, topicID: v.TopicID,
	}
	return nil
}

func (m *Machine) removeOffset(group, topic string, partition int32) {
	offsets := m.offsets[group]
	delete(offsets[topic], partition)
	if len(offsets[topic]) == 0 {
		delete(offsets, topic)
	}
	if len(offsets) == 0 {
		delete(m.offsets, group)
	}
}

func (m *Machine) replayGroup(r machine.Record) error {
	var key kmsg.GroupMetadataKey
	if err := key.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("GroupMetadataKey: %w", err)
	}
	if r.Value == nil {
		delete(m.groups, key.Group)
		return nil
	}
	if err := checkVersion("GroupMetadataValue", r.Value, maxGroupMetadataVersion); err != nil {
		return err
	}
	v := kmsg.NewGroupMetadataValue()
	v.CurrentStateTimestamp = -1
	if err := v.ReadFrom(bytes.Clone(r.Value)); err != nil { // subscriptions and assignments alias what is read
		return fmt.Errorf("GroupMetadataValue: %w", err)
	}
	g := m.groups[key.Group]
	if g == nil {
		g = classic.New(key.Group, &m.cfg.Classic)
		m.groups[key.Group] = g
	}
	g.Apply(&v)
	return nil
}

func checkVersion(name string, value []byte, maxVersion int16) error {
	if len(value) < 2 {
		return fmt.Errorf("%s: %w", name, errShort)
	}
	if v := int16(binary.BigEndian.Uint16(value)); v < 0 || v > maxVersion {
		return fmt.Errorf("%s: version %d is not known, the newest known one is %d", name, v, maxVersion)
	}
	return nil
}
