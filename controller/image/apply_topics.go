package image

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/record/metadata"
)

var (
	errUnknownTopic     = errors.New("unknown topic id")
	errUnknownPartition = errors.New("unknown partition")
)

// edit returns the batch's copy of a topic, nil if there is no such topic.
func (b *builder) edit(id ID) *topicEdit {
	if e, ok := b.topics[id]; ok {
		if e.cur == nil {
			return nil
		}
		return e
	}
	old := b.old.TopicByID(id)
	if old == nil {
		return nil
	}
	t := *old
	e := &topicEdit{old: old, cur: &t}
	b.topics[id], b.names[t.Name] = e, e
	return e
}

// topicNamed returns the topic that has a name at this point of the batch.
func (b *builder) topicNamed(name string) *Topic {
	if e, ok := b.names[name]; ok {
		return e.cur
	}
	return b.old.Topic(name)
}

func (b *builder) applyTopic(r *metadata.TopicRecord) error {
	if r.Name == "" || r.TopicID == (ID{}) {
		return errors.New("empty name or id")
	}
	if b.topicNamed(r.Name) != nil {
		return errors.New("topic name is taken")
	}
	if _, ok := b.topics[r.TopicID]; ok || b.old.TopicByID(r.TopicID) != nil {
		return errors.New("topic id is taken")
	}
	e := &topicEdit{cur: &Topic{Name: r.Name, ID: r.TopicID}}
	b.topics[r.TopicID], b.names[r.Name] = e, e
	return nil
}

// applyRemoveTopic removes a topic with its partitions and configs.
func (b *builder) applyRemoveTopic(r *metadata.RemoveTopicRecord) error {
	e := b.edit(r.TopicID)
	if e == nil {
		return errUnknownTopic
	}
	b.next.numPartitions -= e.cur.NumPartitions()
	b.setConfig(Resource{Type: ResourceTopic, Name: e.cur.Name}, nil)
	e.cur = nil
	return nil
}

func (b *builder) applyPartition(r *metadata.PartitionRecord) error {
	e := b.edit(r.TopicID)
	if e == nil {
		return errUnknownTopic
	}
	if int(r.PartitionID) != e.cur.NumPartitions() {
		return fmt.Errorf("topic %s has %d partitions, next partition is %d", e.cur.Name, e.cur.NumPartitions(), r.PartitionID)
	}
	p := &Partition{
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
		Replicas: r.Replicas, ISR: nonEmpty(r.ISR), ELR: nonEmpty(r.EligibleLeaderReplicas), LastKnownELR: nonEmpty(r.LastKnownELR),
		Adding: nonEmpty(r.AddingReplicas), Removing: nonEmpty(r.RemovingReplicas),
		Directories: directories(r.Directories, len(r.Replicas)), LeaderRecovery: r.LeaderRecoveryState,
	}
	if err := p.check(); err != nil {
		return err
	}
	e.set(int(r.PartitionID), p)
	b.next.numPartitions++
	return nil
}

// applyPartitionChange changes what the record names. A leader in the record, even the same one,
// starts a new leader epoch (Kafka: PartitionRegistration.merge).
func (b *builder) applyPartitionChange(r *metadata.PartitionChangeRecord) error {
	e := b.edit(r.TopicID)
	if e == nil {
		return errUnknownTopic
	}
	old := e.cur.Partition(r.PartitionID)
	if old == nil {
		return errUnknownPartition
	}
	p := *old
	p.PartitionEpoch++
	if r.Leader != noLeaderChange {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	if r.LeaderRecoveryState >= 0 {
		p.LeaderRecovery = r.LeaderRecoveryState
	}
	replace(&p.ISR, r.ISR)
	replace(&p.Replicas, r.Replicas)
	replace(&p.Adding, r.AddingReplicas)
	replace(&p.Removing, r.RemovingReplicas)
	replace(&p.ELR, r.EligibleLeaderReplicas)
	replace(&p.LastKnownELR, r.LastKnownELR)
	if r.Directories != nil {
		p.Directories = r.Directories
	}
	p.Directories = directories(p.Directories, len(p.Replicas))
	if err := p.check(); err != nil {
		return err
	}
	e.set(int(r.PartitionID), &p)
	return nil
}

// noLeaderChange is what a partition change record has as leader if the leader stays.
const noLeaderChange = -2

// applyClearElr empties the ELR of one topic's partitions or, without a name, of all.
func (b *builder) applyClearElr(r *metadata.ClearElrRecord) error {
	if r.TopicName != "" {
		t := b.topicNamed(r.TopicName)
		if t == nil {
			return errors.New("unknown topic name")
		}
		b.clearElr(b.edit(t.ID))
		return nil
	}
	for _, e := range b.topics {
		if e.cur != nil {
			b.clearElr(e)
		}
	}
	for t := range b.old.Topics() {
		if _, ok := b.topics[t.ID]; !ok && t.hasElr() {
			b.clearElr(b.edit(t.ID))
		}
	}
	return nil
}

func (b *builder) clearElr(e *topicEdit) {
	for i, p := range e.cur.Partitions() {
		if len(p.ELR)+len(p.LastKnownELR) > 0 {
			q := *p
			q.PartitionEpoch++
			q.ELR, q.LastKnownELR = nil, nil
			e.set(int(i), &q)
		}
	}
}

func (t *Topic) hasElr() bool {
	for _, p := range t.Partitions() {
		if len(p.ELR)+len(p.LastKnownELR) > 0 {
			return true
		}
	}
	return false
}

// replace sets a field from a record's nullable list; null leaves it alone.
func replace(field *[]int32, list []int32) {
	if list != nil {
		*field = nonEmpty(list)
	}
}

// nonEmpty makes an empty list nil, so that equal images are equal in memory too.
func nonEmpty(list []int32) []int32 {
	if len(list) == 0 {
		return nil
	}
	return list
}

// directories gives every replica a directory id; those that aren't known are the zero id,
// MigratingDir.
func directories(list []ID, replicas int) []ID {
	if len(list) >= replicas {
		return list[:replicas]
	}
	return append(slices.Clone(list), make([]ID, replicas-len(list))...)
}

// check verifies the partition's own invariants.
func (p *Partition) check() error {
	if len(p.Replicas) == 0 {
		return errors.New("partition without replicas")
	}
	for i, r := range p.Replicas {
		if slices.Contains(p.Replicas[:i], r) {
			return fmt.Errorf("replica %d appears twice", r)
		}
	}
	for i, r := range p.ISR {
		if !slices.Contains(p.Replicas, r) || slices.Contains(p.ISR[:i], r) {
			return fmt.Errorf("in-sync replica %d isn't a replica or appears twice", r)
		}
	}
	if p.Leader != NoLeader && !slices.Contains(p.ISR, p.Leader) {
		return fmt.Errorf("leader %d isn't in sync", p.Leader)
	}
	for _, r := range p.ELR {
		if !slices.Contains(p.Replicas, r) || slices.Contains(p.ISR, r) {
			return fmt.Errorf("eligible leader replica %d isn't a replica or is in sync", r)
		}
	}
	return nil
}
