package isr

import (
	"slices"
	"time"
)

// Committable is how far the high watermark may be, given where the leader's log ends: the smallest log
// end of the maximal ISR. It also waits, as Kafka does, for a follower outside of it that is caught up
// and may join: else a follower that keeps up could find the high watermark always just out of reach.
// The result may lie below the present high watermark, which doesn't move back then.
//
// It doesn't ask whether the ISR is large enough; see Enough.
func (s *State) Committable(leaderEnd int64, now time.Time, maxLag time.Duration, eligible Eligible) int64 {
	to := leaderEnd
	for i := range s.followers {
		f := &s.followers[i]
		if f.LogEndOffset >= to {
			continue
		}
		if s.maximal(f.ID) || f.CaughtUp(leaderEnd, now, maxLag) && eligible(f.ID, f.BrokerEpoch) && f.Heard {
			to = f.LogEndOffset
		}
	}
	return to
}

// Enough tells whether the committed ISR has at least minISR members, or all replicas where there are
// fewer. Nothing is committed otherwise (KIP-966).
func (s *State) Enough(minISR int) bool {
	return len(s.committed) >= min(minISR, len(s.followers)+1)
}

// Expand asks for a follower to be added that has caught up: its log reaches the high watermark and the
// start of the leader's epoch, since only then is it known to hold all that is committed. It returns nil
// if there is nothing to ask for, or something is under way.
func (s *State) Expand(id int32, highWatermark int64, eligible Eligible) *Change {
	f := s.Follower(id)
	if s.change != nil || f == nil || !f.Heard || slices.Contains(s.committed, id) {
		return nil
	}
	if f.LogEndOffset < highWatermark || f.LogEndOffset < s.epochStart || !eligible(id, f.BrokerEpoch) {
		return nil
	}
	s.change = &Change{Add: id, ISR: slices.Sorted(slices.Values(append(slices.Clone(s.committed), id)))}
	return s.change
}

// Shrink asks for the followers to be removed that haven't been caught up for longer than maxLag. It
// returns nil if there are none, or a change is under way.
func (s *State) Shrink(leaderEnd int64, now time.Time, maxLag time.Duration) *Change {
	if s.change != nil {
		return nil
	}
	var left, gone []int32
	for _, id := range s.committed {
		if f := s.Follower(id); f != nil && !f.CaughtUp(leaderEnd, now, maxLag) {
			gone = append(gone, id)
		} else {
			left = append(left, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	s.change = &Change{Add: none, Remove: gone, ISR: slices.Sorted(slices.Values(left))}
	return s.change
}

// LowWatermark is the smallest log start of the leader and of the followers on live brokers; below it
// records are gone everywhere (KIP-107).
func (s *State) LowWatermark(leaderStart int64, alive func(broker int32) bool) int64 {
	low := leaderStart
	for i := range s.followers {
		if f := &s.followers[i]; f.LogStartOffset < low && alive(f.ID) {
			low = f.LogStartOffset
		}
	}
	return low
}
