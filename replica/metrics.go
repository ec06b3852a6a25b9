package replica

import (
	"sync/atomic"

	"github.com/ottla/ottla/replica/isr"
)

// stats counts since the start.
type stats struct {
	isrShrinks, isrExpands, failedISRUpdates atomic.Int64
	truncationsBelowHighWatermark            atomic.Int64
}

func (s *stats) changed(c *isr.Change) {
	if c.Shrinks() {
		s.isrShrinks.Add(1)
	} else {
		s.isrExpands.Add(1)
	}
}

// Stats is what a Manager counts, for metrics.
type Stats struct {
	// ISRShrinks, ISRExpands and FailedISRUpdates count what became of changes of ISR.
	ISRShrinks, ISRExpands, FailedISRUpdates int64
	// TruncationsBelowHighWatermark counts followers that cut what was committed, which happens with
	// unclean elections only.
	TruncationsBelowHighWatermark int64
	// Partitions are held, Leaders of them led, UnderReplicated of these not fully in sync, and
	// UnderMinISR below min.insync.replicas.
	Partitions, Leaders, UnderReplicated, UnderMinISR int
	// Fetchers are running, for FollowedPartitions.
	Fetchers, FollowedPartitions int
}

// Stats counts; it walks all partitions.
func (m *Manager) Stats() Stats {
	s := Stats{
		ISRShrinks: m.stats.isrShrinks.Load(), ISRExpands: m.stats.isrExpands.Load(), FailedISRUpdates: m.stats.failedISRUpdates.Load(),
		TruncationsBelowHighWatermark: m.stats.truncationsBelowHighWatermark.Load(),
	}
	for _, p := range m.all() {
		s.Partitions++
		p.mu.RLock()
		if p.leading.Load() != notLeading {
			s.Leaders++
			if len(p.state.isr) < len(p.state.replicas) {
				s.UnderReplicated++
			}
			if len(p.state.isr) < p.neededReplicas() {
				s.UnderMinISR++
			}
		}
		p.mu.RUnlock()
	}
	s.Fetchers, s.FollowedPartitions = m.fetchers.count()
	return s
}
