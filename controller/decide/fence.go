package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// Values of a broker registration change record's fields; 0 leaves things alone.
const (
	changeFence    int8 = 1
	changeUnfence  int8 = -1
	changeShutdown int8 = 1
)

// fence takes a broker out of all ISRs and leaderships and then fences it, so that a part of the
// records leaves a broker that still counts as alive but is in fewer ISRs.
func fence(env *Env, b *image.Broker) []metadata.Record {
	records := leaveISRs(newTopicRules(env, env.Image), b.ID)
	return append(records, &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: changeFence})
}

// leaveISRs are the changes for a broker that leads nothing and is in no ISR any more. Another
// replica takes over, or nobody. Where the ISR is below its minimum the broker stays eligible.
func leaveISRs(rules *topicRules, id int32) []metadata.Record {
	var records []metadata.Record
	for ref := range rules.m.ReplicasOn(id) {
		if !slices.Contains(ref.Partition.ISR, id) {
			continue
		}
		c := newPartitionChange(rules, ref)
		c.remove = id
		records = appendChange(records, rules, ref, c, id)
	}
	return records
}

// loseReplicas are the changes for the partitions of a broker of which it can't be told any more that it
// has all that was committed: it is neither in sync nor eligible.
func loseReplicas(rules *topicRules, id int32, lost func(dir image.ID) bool) []metadata.Record {
	var records []metadata.Record
	for ref := range rules.m.ReplicasOn(id) {
		p := ref.Partition
		isLost := lost(p.Directories[slices.Index(p.Replicas, id)])
		if !slices.Contains(p.ISR, id) && (!isLost || !slices.Contains(p.ELR, id)) {
			continue
		}
		c := newPartitionChange(rules, ref)
		if c.remove = id; isLost {
			c.unclean = id
		}
		records = appendChange(records, rules, ref, c, id)
	}
	return records
}

func appendChange(records []metadata.Record, rules *topicRules, ref image.PartitionRef, c *partitionChange, out int32) []metadata.Record {
	c.election = rules.electionOf(ref.Topic)
	c.isr = exclude(c.isr, []int32{out})
	if r := c.record(); r != nil {
		return append(records, r)
	}
	return records
}

// unfence are the changes for a broker that may lead again: first of all its registration, then the
// partitions that have no leader and can have one now.
func unfence(env *Env, b *image.Broker) []metadata.Record {
	records := []metadata.Record{&metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, Fenced: changeUnfence}}
	rules := newTopicRules(env, env.Image)
	for ref := range env.Image.ReplicasOn(b.ID) {
		if ref.Partition.Leader != image.NoLeader {
			continue
		}
		c := newPartitionChange(rules, ref)
		c.election, c.add = rules.electionOf(ref.Topic), b.ID
		if r := c.record(); r != nil {
			records = append(records, r)
		}
	}
	return records
}

// leads tells whether a broker leads a partition.
func leads(m *image.Image, id int32) bool {
	for ref := range m.ReplicasOn(id) {
		if ref.Partition.Leader == id {
			return true
		}
	}
	return false
}
