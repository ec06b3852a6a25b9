package handlers

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/replica"
)

// What a request costs grows with the partitions that have news, not with those of its session: the others
// sleep (replica.Rest), and are as if they had been read and had told nothing.

// fetchAsker is what a session's requests have in common. Another asker may see other things: everything wakes
// for it.
type fetchAsker struct {
	version   int16
	isolation int8
	replica   int32
	epoch     int64
	rack      string
	// registered is the broker epoch that the metadata has of a follower.
	registered int64
}

// askedBy wakes everything if the asker has changed. Requires: s.mu held.
func (s *fetchSession) askedBy(a fetchAsker) {
	s.wake()
	if a == s.asker {
		return
	}
	s.asker = a
	for _, c := range s.partitions {
		c.resting.End()
		s.rouse(c)
	}
}

// wake takes those back that woke, and reports whether there were any. Requires: s.mu held.
func (s *fetchSession) wake() bool {
	woken := s.rest.Woken()
	for _, e := range woken {
		s.rouse(e.Owner.(*cachedFetch))
	}
	return len(woken) > 0
}

// rouse has c read by the next plan. Requires: s.mu held.
func (s *fetchSession) rouse(c *cachedFetch) {
	if c.awake || c.gone {
		return
	}
	c.awake, s.sorted = true, false
	if !c.listed {
		c.listed = true
		s.active = append(s.active, c)
	}
}

// pushBack has c read last. Requires: s.mu held.
func (s *fetchSession) pushBack(c *cachedFetch) {
	s.rank++
	c.rank, s.sorted = s.rank, false
}

// awake lists the partitions to read, in order. Borrowed: valid while s.mu is held. Requires: s.mu held.
func (s *fetchSession) awake() []*cachedFetch {
	if s.sorted {
		return s.active
	}
	s.active = slices.DeleteFunc(s.active, func(c *cachedFetch) bool {
		c.listed = c.awake && !c.gone
		return !c.listed
	})
	slices.SortFunc(s.active, func(a, b *cachedFetch) int { return cmp.Compare(a.rank, b.rank) })
	s.sorted = true
	return s.active
}

// settle lets c sleep if an answer has told everything. Requires: s.mu held.
func (s *fetchSession) settle(replicas Replicas, c *cachedFetch, plan *replica.FetchPlan, fp *replica.FetchPartition) {
	if !c.awake || s.ended || c.fetchOffset != fp.FetchOffset {
		return
	}
	if replicas.Settle(&s.rest, &c.resting, plan, fp) {
		c.awake, s.sorted = false, false
	}
}

// end takes a session that isn't used any more out of its partitions. s may be nil.
func (s *fetchSession) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, c := range s.partitions {
		c.resting.End()
	}
}
