package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// election is how a partition change finds a leader.
type election int

const (
	// electOnline keeps a leader that is in sync, or takes the first replica that is.
	electOnline election = iota
	// electPreferred takes the first replica if it is in sync, else does as electOnline.
	electPreferred
	// electUnclean does as electOnline, and takes any active replica rather than none: records may be lost.
	electUnclean
)

// noLeaderChange is what a partition change record has as leader if the leader stays.
const noLeaderChange int32 = -2

// partitionChange works out the record that takes a partition to a target state, with what follows
// from it: a reassignment that completes, a leader that must go, the ELR (KIP-966). It behaves as
// Kafka's PartitionChangeBuilder. Make one with newPartitionChange, set targets, call record.
type partitionChange struct {
	m     *image.Image
	topic image.ID
	index int32
	old   *image.Partition

	// Targets; they start as the partition is. Lists are never changed in place.
	isr, replicas, adding, removing []int32
	// directories are those of the old replicas.
	directories []image.ID
	recovery    int8
	election    election
	// remove and unclean are brokers that can't lead, whatever the image says of them: one that leaves,
	// and one that may have lost its tail. The latter can't be eligible either.
	remove, unclean int32
	// add is a broker that can lead although the image doesn't say so yet.
	add int32

	// elr is worked out from the ISR.
	elr []int32
	// minISR is the topic's min.insync.replicas.
	minISR int
	hasELR bool
}

const noBroker = image.NoLeader

func newPartitionChange(rules *topicRules, ref image.PartitionRef) *partitionChange {
	p := ref.Partition
	return &partitionChange{
		m: rules.m, topic: ref.Topic.ID, index: ref.Index, old: p,
		isr: p.ISR, replicas: p.Replicas, adding: p.Adding, removing: p.Removing, directories: p.Directories, recovery: p.LeaderRecovery, elr: p.ELR,
		remove: noBroker, unclean: noBroker, add: noBroker,
		minISR: rules.of(ref.Topic).minISR, hasELR: rules.hasELR,
	}
}

// record is the change, nil if nothing changes.
func (c *partitionChange) record() *metadata.PartitionChangeRecord {
	r := newChangeRecord(c.topic, c.index)
	c.completeReassignment()
	c.chooseEligible()
	lost := c.elect(r)
	if r.Leader >= 0 {
		// A leader that was only eligible, or less, is the whole ISR now: that may be the target.
		c.completeReassignment()
	}
	c.bumpEpoch(r)
	c.elr = slices.DeleteFunc(slices.Clone(c.elr), func(id int32) bool { return lost || !c.hasELR || !slices.Contains(c.replicas, id) })
	if !slices.Equal(c.elr, c.old.ELR) {
		r.EligibleLeaderReplicas = listOf(c.elr)
	}
	if lost || (len(c.isr) > 0 || c.hasELR) && !slices.Equal(c.isr, c.old.ISR) {
		r.ISR = listOf(c.isr)
	}
	c.bumpEpochForShrink(r)
	c.noteLastLeader(r)
	c.assign(r)
	if c.recovery != c.old.LeaderRecovery {
		r.LeaderRecoveryState = c.recovery
	}
	if isNoChange(r) {
		return nil
	}
	return r
}

// completeReassignment ends a reassignment once every target replica is in sync.
func (c *partitionChange) completeReassignment() {
	if len(c.adding)+len(c.removing) == 0 {
		return
	}
	isr, replicas := exclude(c.isr, c.removing), exclude(c.replicas, c.removing)
	if len(isr) == 0 || len(replicas) == 0 {
		return
	}
	for _, id := range replicas {
		if !slices.Contains(isr, id) {
			return
		}
	}
	c.isr, c.replicas, c.adding, c.removing = isr, replicas, nil, nil
}

// chooseEligible works out the ELR: none while the ISR has its minimum; below it, who leaves the
// ISR stays eligible, as long as it is a replica and stopped cleanly if it stopped.
func (c *partitionChange) chooseEligible() {
	if !c.hasELR {
		return
	}
	if len(c.isr) >= c.minISR {
		c.elr = nil
		return
	}
	elr := slices.Concat(c.old.ELR, c.old.ISR)
	slices.Sort(elr)
	elr = slices.Compact(elr)
	c.elr = slices.DeleteFunc(elr, func(id int32) bool {
		return id == c.unclean || slices.Contains(c.isr, id) || !slices.Contains(c.replicas, id)
	})
}

// elect sets the leader if it changes, and tells whether records may have been lost by that.
func (c *partitionChange) elect(r *metadata.PartitionChangeRecord) (lost bool) {
	leader, unclean := c.chooseLeader()
	if leader == c.old.Leader {
		return false
	}
	r.Leader = leader
	if unclean || slices.Contains(c.elr, leader) {
		c.isr, c.elr = []int32{leader}, exclude(c.elr, []int32{leader})
	}
	if unclean && c.old.LeaderRecovery != image.LeaderRecovering {
		r.LeaderRecoveryState = image.LeaderRecovering
	}
	return unclean
}

func (c *partitionChange) chooseLeader() (leader int32, unclean bool) {
	if c.election == electPreferred && c.mayLead(c.replicas[0]) {
		return c.replicas[0], false
	}
	if c.mayLead(c.old.Leader) {
		return c.old.Leader, false
	}
	if i := slices.IndexFunc(c.replicas, c.mayLead); i >= 0 {
		return c.replicas[i], false
	}
	// With nobody eligible left, the last leader is the best that can be had (KIP-966, balanced recovery).
	if c.hasELR && len(c.isr)+len(c.elr) == 0 && len(c.old.LastKnownELR) == 1 {
		if last := c.old.LastKnownELR[0]; slices.Contains(c.replicas, last) && c.isAcceptable(last) {
			return last, true
		}
	}
	if c.election == electUnclean {
		if i := slices.IndexFunc(c.replicas, c.isAcceptable); i >= 0 {
			return c.replicas[i], true
		}
	}
	return image.NoLeader, false
}

// mayLead tells whether a replica has everything below the high watermark and is there.
func (c *partitionChange) mayLead(id int32) bool {
	return (slices.Contains(c.isr, id) || len(c.isr) == 0 && slices.Contains(c.elr, id)) && c.isAcceptable(id)
}

// isAcceptable tells whether a broker is there, with the directory that stores the partition.
func (c *partitionChange) isAcceptable(id int32) bool {
	if id == c.remove || id == c.unclean || id == image.NoLeader {
		return false
	}
	b := c.m.Broker(id)
	if b == nil || id != c.add && !isActive(b) {
		return false
	}
	if i := slices.Index(c.old.Replicas, id); i >= 0 {
		return b.HasOnlineDir(c.directories[i])
	}
	return true
}

// bumpEpoch starts a new leader epoch when a replica is taken away, so that it can't take part in the
// old one.
func (c *partitionChange) bumpEpoch(r *metadata.PartitionChangeRecord) {
	if r.Leader == noLeaderChange && !containsAll(c.replicas, c.old.Replicas) {
		r.Leader = c.old.Leader
	}
}

// bumpEpochForShrink does so for a smaller ISR, which brokers before metadata version 3.6-IV0 need
// (KAFKA-15021).
func (c *partitionChange) bumpEpochForShrink(r *metadata.PartitionChangeRecord) {
	if c.m.FeatureLevel(image.MetadataVersion) >= metadata36IV0 || c.m.FeatureLevel(image.MetadataVersion) == 0 {
		return
	}
	if r.Leader == noLeaderChange && r.ISR != nil && !containsAll(r.ISR, c.old.ISR) {
		r.Leader = c.old.Leader
	}
}

const metadata36IV0 = 12

// noteLastLeader keeps the last leader of a partition that lost it, until it has one again. LastKnownELR
// holds nobody else.
func (c *partitionChange) noteLastLeader(r *metadata.PartitionChangeRecord) {
	switch {
	case !c.hasELR:
	case r.Leader == image.NoLeader && c.old.Leader != image.NoLeader && len(c.old.LastKnownELR) == 0:
		r.LastKnownELR = []int32{c.old.Leader}
	case r.Leader >= 0 && len(c.old.LastKnownELR) > 0:
		r.LastKnownELR = []int32{}
	}
}

// assign sets replicas, where they are, and the reassignment.
func (c *partitionChange) assign(r *metadata.PartitionChangeRecord) {
	if !slices.Equal(c.replicas, c.old.Replicas) {
		r.Replicas = c.replicas
		r.Directories = make([]image.ID, len(c.replicas))
		for i, id := range c.replicas {
			if k := slices.Index(c.old.Replicas, id); k >= 0 {
				r.Directories[i] = c.directories[k]
			} else {
				r.Directories[i] = defaultDir(c.m, id)
			}
		}
		if slices.Equal(r.Directories, c.old.Directories) {
			r.Directories = nil
		}
	} else if !slices.Equal(c.directories, c.old.Directories) {
		r.Directories = c.directories
	}
	if !slices.Equal(c.removing, c.old.Removing) {
		r.RemovingReplicas = listOf(c.removing)
	}
	if !slices.Equal(c.adding, c.old.Adding) {
		r.AddingReplicas = listOf(c.adding)
	}
}

// defaultDir is where a broker would put a new replica.
func defaultDir(m *image.Image, id int32) image.ID {
	if b := m.Broker(id); b != nil {
		return b.DefaultDir()
	}
	return image.UnassignedDir
}

// newChangeRecord is a change record that changes nothing yet.
func newChangeRecord(topic image.ID, index int32) *metadata.PartitionChangeRecord {
	r := &metadata.PartitionChangeRecord{}
	r.Reset()
	r.TopicID, r.PartitionID = topic, index
	return r
}

func isNoChange(r *metadata.PartitionChangeRecord) bool {
	return r.Leader == noLeaderChange && r.ISR == nil && r.Replicas == nil && r.AddingReplicas == nil && r.RemovingReplicas == nil &&
		r.EligibleLeaderReplicas == nil && r.LastKnownELR == nil && r.Directories == nil && r.LeaderRecoveryState < 0
}

// listOf makes an empty list out of nil, which in a record means no change.
func listOf(list []int32) []int32 {
	if list == nil {
		return []int32{}
	}
	return list
}

// exclude is list without those of out, in a new list.
func exclude(list, out []int32) []int32 {
	rest := make([]int32, 0, len(list))
	for _, id := range list {
		if !slices.Contains(out, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

func containsAll(list, all []int32) bool {
	for _, id := range all {
		if !slices.Contains(list, id) {
			return false
		}
	}
	return true
}
