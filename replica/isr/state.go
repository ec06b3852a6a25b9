package isr

import (
	"slices"
	"time"
)

// State is the followers of a partition, as its leader sees them.
//
// Invariant: followers are the assigned replicas but the leader; change is nil or was decided on the
// committed ISR as it is now.
type State struct {
	self      int32
	followers []Follower
	// committed is the ISR that the controller knows.
	committed []int32
	// change is what the controller was asked for and hasn't answered.
	change *Change
	// epochStart is the leader's log end when its epoch began.
	epochStart int64
}

// Change is a change of the ISR that the controller is asked for.
type Change struct {
	// Add is the follower that joins; Remove are those that leave. One of the two is empty.
	Add    int32
	Remove []int32
	// ISR is the in-sync replicas after the change, by number, as Kafka's leaders propose them.
	ISR []int32
}

// none is Change.Add of a change that removes.
const none = -1

// Shrinks tells whether the change removes replicas.
func (c *Change) Shrinks() bool { return len(c.Remove) > 0 }

// Eligible tells whether a broker may be in an ISR: alive, neither fenced nor shutting down, and still
// in the life that it fetched in, which is brokerEpoch.
type Eligible func(broker int32, brokerEpoch int64) bool

// NewState begins the leadership of self over replicas, in an epoch that starts at epochStart. Followers
// that are in sync have until maximum lag from now to prove it.
func NewState(self int32, replicas, isr []int32, epochStart int64, now time.Time) *State {
	s := &State{self: self, committed: slices.Clone(isr), epochStart: epochStart}
	s.assign(replicas)
	for i := range s.followers {
		if f := &s.followers[i]; slices.Contains(isr, f.ID) {
			f.lastCaughtUp = now
		}
	}
	return s
}

// assign makes replicas the partition's, keeping what is known of those that stay.
func (s *State) assign(replicas []int32) {
	followers := make([]Follower, 0, len(replicas))
	for _, id := range replicas {
		if id == s.self {
			continue
		}
		if old := s.Follower(id); old != nil {
			followers = append(followers, *old)
			continue
		}
		followers = append(followers, Follower{ID: id, LogEndOffset: Unknown, LogStartOffset: Unknown, BrokerEpoch: Unknown})
	}
	s.followers = followers
}

// NextEpoch begins another epoch of the same leadership: progress stays, and followers in sync get the
// full lag again.
func (s *State) NextEpoch(leaderEnd int64, now time.Time) {
	s.epochStart = leaderEnd
	for i := range s.followers {
		f := &s.followers[i]
		f.lastFetchLeaderEnd, f.lastFetch, f.lastCaughtUp, f.presence = leaderEnd, time.Time{}, time.Time{}, nil
		if slices.Contains(s.committed, f.ID) {
			f.lastFetch, f.lastCaughtUp = now, now
		}
	}
}

// Commit takes over what the controller decided: replicas and ISR of a newer partition epoch. What was
// asked for before is settled by it: a request built on an older epoch can't succeed any more.
func (s *State) Commit(replicas, isr []int32) {
	s.assign(replicas)
	s.committed = slices.Clone(isr)
	s.change = nil
}

// Assign takes over the replicas of the same partition epoch.
func (s *State) Assign(replicas []int32) { s.assign(replicas) }

// CommitISR is Commit without news of the replicas.
func (s *State) CommitISR(isr []int32) {
	s.committed = slices.Clone(isr)
	s.change = nil
}

// Abandon gives up a change that the controller has refused for certain.
func (s *State) Abandon() { s.change = nil }

// Pending is the change that is under way, nil if there is none.
func (s *State) Pending() *Change { return s.change }

// Followers are the followers. Borrowed: not to be changed.
func (s *State) Followers() []Follower { return s.followers }

// Follower is one follower, nil if id isn't assigned.
func (s *State) Follower(id int32) *Follower {
	for i := range s.followers {
		if s.followers[i].ID == id {
			return &s.followers[i]
		}
	}
	return nil
}

// EpochStart is the leader's log end when its epoch began.
func (s *State) EpochStart() int64 { return s.epochStart }

// Fetched notes a follower's fetch. It reports false, and forgets it, if that broker has fetched in a
// newer life, or isn't a follower.
func (s *State) Fetched(id int32, n Fetch) bool {
	f := s.Follower(id)
	if f == nil || n.BrokerEpoch != Unknown && n.BrokerEpoch < f.BrokerEpoch {
		return false
	}
	f.note(n)
	return true
}

// maximal tells whether a replica counts for the high watermark: it is in the committed ISR, or in the
// one that is asked for, which may be committed already. So a removal counts only once it is committed.
func (s *State) maximal(id int32) bool {
	return slices.Contains(s.committed, id) || s.change != nil && slices.Contains(s.change.ISR, id)
}

// MaximalISR is every replica that the high watermark waits for by right.
func (s *State) MaximalISR() []int32 {
	out := slices.Clone(s.committed)
	if s.change != nil && s.change.Add != none {
		out = append(out, s.change.Add)
	}
	return out
}
