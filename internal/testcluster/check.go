package testcluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// check holds the history of a run against what the replicas store in the end, and returns what is wrong. It is
// pure. The rules are those of a cluster that keeps its promise: see the package comment.
func (h *history) check(logs []replicaLog) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := checker{h: h, logs: map[int32][]storedRecord{}}
	k.replicas(logs)
	k.acks()
	k.reads()
	k.producers()
	k.terms()
	k.marks()
	k.commits()
	return k.wrong
}

type checker struct {
	h     *history
	wrong []string
	// logs are the partitions' records, as all replicas should have them; at finds them by offset.
	logs map[int32][]storedRecord
}

func (k *checker) add(format string, args ...any) {
	if len(k.wrong) < 20 {
		k.wrong = append(k.wrong, fmt.Sprintf(format, args...))
	}
}

// at finds the record at an offset.
func (k *checker) at(partition int32, offset int64) (storedRecord, bool) {
	log := k.logs[partition]
	i, ok := slices.BinarySearchFunc(log, offset, func(r storedRecord, o int64) int { return cmp.Compare(r.offset, o) })
	if !ok {
		return storedRecord{}, false
	}
	return log[i], true
}

// replicas: all replicas of a partition have the same records; offsets and epochs grow.
func (k *checker) replicas(logs []replicaLog) {
	first := map[int32]replicaLog{}
	for _, l := range logs {
		for i := 1; i < len(l.records); i++ {
			a, b := l.records[i-1], l.records[i]
			if b.offset <= a.offset || b.epoch < a.epoch {
				k.add("partition %d on node %d has offset %d of epoch %d after offset %d of epoch %d", l.partition, l.node, b.offset, b.epoch, a.offset, a.epoch)
			}
		}
		one, ok := first[l.partition]
		if !ok {
			first[l.partition], k.logs[l.partition] = l, l.records
			continue
		}
		for i := range max(len(one.records), len(l.records)) {
			var a, b any = "nothing", "nothing"
			if i < len(one.records) {
				a = one.records[i]
			}
			if i < len(l.records) {
				b = l.records[i]
			}
			if a != b {
				k.add("partition %d differs: node %d has %+v, node %d has %+v", l.partition, one.node, a, l.node, b)
				break
			}
		}
	}
}

// acks: what was acknowledged is stored where it was said to be, and no two nodes acknowledged in one epoch.
func (k *checker) acks() {
	by := map[term]ack{}
	for _, a := range k.h.acks {
		r, ok := k.at(a.partition, a.offset)
		if !ok || r.value != a.value {
			k.add("lost: node %d acknowledged %s at offset %d of partition %d, where %s is stored", a.node, a.value, a.offset, a.partition, orNothing(r, ok))
			continue
		}
		if !a.first {
			continue // Who finds a duplicate acknowledges what another appended.
		}
		t := term{a.partition, r.epoch}
		if other, ok := by[t]; ok && other.node != a.node {
			k.add("two leaders: nodes %d and %d acknowledged records (%s, %s) of epoch %d of partition %d", other.node, a.node, other.value, a.value, t.epoch, t.partition)
		} else if !ok {
			by[t] = a
		}
	}
}

func orNothing(r storedRecord, ok bool) string {
	if !ok {
		return "nothing"
	}
	return fmt.Sprintf("%s of epoch %d", r.value, r.epoch)
}

// reads: what anybody read below a high watermark stays.
func (k *checker) reads() {
	for _, x := range k.h.reads {
		if r, ok := k.at(x.partition, x.offset); !ok || r.value != x.value {
			k.add("a consumer read %s at offset %d of partition %d from node %d, where %s is stored", x.value, x.offset, x.partition, x.node, orNothing(r, ok))
		}
	}
}

// producers: nothing is stored that wasn't sent, nothing twice, and each producer's records in its order.
func (k *checker) producers() {
	for partition, log := range k.logs {
		last := map[string]int{}
		for _, r := range log {
			producer, number, ok := splitValue(r.value)
			if !ok || !k.h.tried[r.value] {
				k.add("invented: partition %d has %q at offset %d, which nobody sent", partition, r.value, r.offset)
				continue
			}
			if before, ok := last[producer]; ok && number <= before {
				k.add("twice or out of order: partition %d has %s at offset %d after number %d", partition, r.value, r.offset, before)
			}
			last[producer] = number
		}
	}
}

// splitValue takes a value "producer.number" apart.
func splitValue(v string) (producer string, number int, ok bool) {
	i := strings.LastIndexByte(v, '.')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(v[i+1:])
	return v[:i], number, err == nil
}

// terms: at most one leader was told for an epoch.
func (k *checker) terms() {
	for t, nodes := range k.h.leaders {
		if len(nodes) > 1 {
			k.add("two leaders: metadata named %v for epoch %d of partition %d", nodes, t.epoch, t.partition)
		}
	}
}

// marks: the high watermark that a client sees doesn't go back in a leader epoch.
func (k *checker) marks() {
	type seen struct {
		client string
		at     term
	}
	last := map[seen]mark{}
	for _, m := range k.h.marks {
		s := seen{m.client, m.at}
		if before, ok := last[s]; ok && m.watermark < before.watermark {
			k.add("the high watermark of partition %d went back from %d (node %d) to %d (node %d) in epoch %d", m.at.partition, before.watermark, before.node, m.watermark, m.node, m.at.epoch)
		}
		last[s] = m
	}
}

// commits: a group's offset is the last one that was acknowledged or told, or one of those whose fate wasn't:
// such a commit may arrive late, and then replaces a newer one, but only once. A node that was cut off and doesn't know
// yet that another one is the coordinator may tell what the group had before, as Kafka's does.
func (k *checker) commits() {
	now, by, open, before := int64(-1), int32(0), map[int64]bool{}, map[int64]bool{-1: true}
	for _, c := range k.h.commits {
		if c.kind == commitSent {
			open[c.offset] = true
			continue
		}
		if c.kind == commitFetched && c.offset != now && !open[c.offset] {
			if c.node != by && before[c.offset] {
				continue
			}
			k.add("committed offset: the group has %d, where %d was acknowledged or told last, and the fate of %d others is open", c.offset, now, len(open))
		}
		now, by, before[c.offset] = c.offset, c.node, true
		delete(open, c.offset)
	}
}
