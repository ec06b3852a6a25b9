package image

import (
	"cmp"
	"iter"
)

// replicaKey says that a broker has replicas of a topic.
type replicaKey struct {
	broker int32
	topic  ID
}

func compareReplicaKeys(a, b replicaKey) int {
	return cmp.Or(cmp.Compare(a.broker, b.broker), compareIDs(a.topic, b.topic))
}

// PartitionRef is a partition and where it belongs.
type PartitionRef struct {
	Topic *Topic
	Index int32
	// Partition is Topic's partition at Index.
	Partition *Partition
}

// ReplicasOn yields the partitions that a broker is assigned, in order of topic ids and indexes. The
// cost is that of the partitions of those topics, not of all. ISR, ELR and leadership are subsets
// of the assignment, so that this finds them too.
func (m *Image) ReplicasOn(broker int32) iter.Seq[PartitionRef] {
	return func(yield func(PartitionRef) bool) {
		for key := range m.replicas.all(&replicaKey{broker: broker}) {
			if key.broker != broker {
				return
			}
			t := m.TopicByID(key.topic)
			for i, p := range t.Partitions() {
				if contains(p.Replicas, broker) && !yield(PartitionRef{Topic: t, Index: i, Partition: p}) {
					return
				}
			}
		}
	}
}

// contains is slices.Contains for the short lists of brokers, without its generic call.
func contains(list []int32, id int32) bool {
	for _, x := range list {
		if x == id {
			return true
		}
	}
	return false
}

// index counts the replicas that a batch moved from old to cur; either may be nil. It looks only at
// the pieces of the partition lists that differ.
func (b *builder) index(old, cur *Topic) {
	moved := map[replicaKey]int{}
	count := func(t *Topic, p *Partition, n int) {
		for _, r := range p.Replicas {
			moved[replicaKey{broker: r, topic: t.ID}] += n
		}
	}
	switch {
	case old == nil:
		for _, p := range cur.Partitions() {
			count(cur, p, 1)
		}
	case cur == nil:
		for _, p := range old.Partitions() {
			count(old, p, -1)
		}
	default:
		for was, is := range cur.partitions.changesFrom(old.partitions) {
			if was != nil && sameBacking(was.Replicas, is.Replicas) {
				continue
			}
			if was != nil {
				count(old, was, -1)
			}
			count(cur, is, 1)
		}
	}
	for key, n := range moved {
		if n == 0 {
			continue
		}
		before, _ := b.next.replicas.get(key)
		if before+n == 0 {
			b.next.replicas = b.next.replicas.without(key)
		} else {
			b.next.replicas = b.next.replicas.with(key, before+n)
		}
	}
}

// sameBacking tells that two lists are one.
func sameBacking(a, b []int32) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// changesFrom yields the partitions that differ from those of an older list, nil for new ones.
// Lists only grow.
func (l partitionList) changesFrom(old partitionList) iter.Seq2[*Partition, *Partition] {
	return func(yield func(was, is *Partition) bool) {
		for k, piece := range l.pieces {
			var before []*Partition
			if k < len(old.pieces) {
				before = old.pieces[k]
				if len(before) == len(piece) && &before[0] == &piece[0] {
					continue
				}
			}
			for i, p := range piece {
				var was *Partition
				if i < len(before) {
					was = before[i]
				}
				if was != p && !yield(was, p) {
					return
				}
			}
		}
	}
}
