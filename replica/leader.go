package replica

import (
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/replica/isr"
)

// host is what a partition asks of the manager that holds it. It may be called with the partition's locks
// held, and takes none of them.
type host interface {
	now() time.Time
	lagTimeMax() time.Duration
	// rackAware tells whether consumers are sent to replicas in their rack.
	rackAware() bool
	// broker is a broker's registration in the newest image, nil without one.
	broker(id int32) *image.Broker
	// isrChanged tells that the partition's view has a change to ask the controller for.
	isrChanged(p *Partition)
	// committedLost notes that a follower cuts its log below its high watermark.
	committedLost()
	logger() *slog.Logger
	// leaderThrottled tells that throttled replicas have got what they may for now; copied counts what
	// they get.
	leaderThrottled() bool
	copied(bytes int)
}

// newView is the followers as they are to be seen in the state that is being applied. Requires: p.mu held
// for writing.
func (p *Partition) newView(old *state, leading int32) *isr.State {
	s := &p.state
	switch {
	case leading == notLeading || len(s.replicas) <= 1:
		return nil
	case p.view == nil || p.leading.Load() == notLeading:
		return isr.NewState(p.nodeID, s.replicas, s.isr, s.epochStart, p.host.now())
	}
	p.positions.Lock()
	defer p.positions.Unlock()
	if old.partitionEpoch == s.partitionEpoch && old.leaderEpoch == s.leaderEpoch {
		p.view.Assign(s.replicas)
		return p.view
	}
	p.view.Commit(s.replicas, s.isr)
	if old.leaderEpoch != s.leaderEpoch {
		p.view.NextEpoch(s.epochStart, p.host.now())
	}
	return p.view
}

// committable is how far the high watermark may be; see isr.State.Committable. Nothing more is committed
// while there are too few in-sync replicas (KIP-966). Requires: p.mu and p.positions held, this broker
// leads.
func (p *Partition) committable() int64 {
	if len(p.state.isr) < p.neededReplicas() {
		return p.log().HighWatermark()
	}
	if p.view == nil {
		return p.log().LogEndOffset()
	}
	return p.view.Committable(p.log().LogEndOffset(), p.host.now(), p.host.lagTimeMax(), p.isEligible)
}

// eligible tells whether a broker may be in the ISR (KIP-841, KIP-903). A fetch that told no broker epoch
// isn't held against it.
func (p *Partition) eligible(id int32, brokerEpoch int64) bool {
	b := p.host.broker(id)
	return b != nil && !b.Fenced && !b.InControlledShutdown && (brokerEpoch == isr.Unknown || brokerEpoch == b.Epoch)
}

// alive tells whether a broker is expected to answer.
func (p *Partition) alive(id int32) bool {
	b := p.host.broker(id)
	return b != nil && !b.Fenced
}

// checkFollower tells whether a broker may fetch as a follower. With a leader epoch that matches, a broker
// that isn't assigned has heard of a newer assignment than this one, which it is to try again.
// Requires: p.mu held.
func (p *Partition) checkFollower(id, currentLeaderEpoch int32) error {
	switch {
	case id != p.nodeID && slices.Contains(p.state.replicas, id):
		return nil
	case currentLeaderEpoch != NoLeaderEpoch:
		return kerr.UnknownLeaderEpoch
	}
	return kerr.NotLeaderForPartition
}

// withheld tells that a follower gets no records now: it isn't in sync, and the throttle has been reached.
// Requires: p.mu held.
func (p *Partition) withheld(plan *FetchPlan) bool {
	return plan.ReplicaID >= 0 && p.leaderThrottled.Load() && !slices.Contains(p.state.isr, plan.ReplicaID) && p.host.leaderThrottled()
}

// followerFetched takes a follower's fetch into account: its place in the ISR, the high watermark, the low
// watermark. A fetch of a broker's former life is refused. Requires: p.mu held, this broker leads.
func (p *Partition) followerFetched(id int32, n isr.Fetch) error {
	if p.view == nil {
		return nil
	}
	if b := p.host.broker(id); b != nil && n.BrokerEpoch != isr.Unknown && n.BrokerEpoch < b.Epoch {
		return kerr.NotLeaderForPartition
	}
	p.positions.Lock()
	before := int64(isr.Unknown)
	if f := p.view.Follower(id); f != nil {
		before = f.LogEndOffset
	}
	known := p.view.Fetched(id, n)
	change := p.view.Expand(id, p.log().HighWatermark(), p.isEligible)
	p.positions.Unlock()
	if !known {
		return kerr.NotLeaderForPartition
	}
	if change != nil {
		p.host.isrChanged(p)
	}
	if n.Offset != before {
		p.advance(0)
	}
	p.wakeDeletes()
	return nil
}

// checkLag looks for followers that have fallen behind, and asks for their removal from the ISR. It also
// moves the high watermark where a follower that it waited for is no longer worth waiting for.
func (p *Partition) checkLag() {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.view == nil {
		return
	}
	p.positions.Lock()
	change := p.view.Shrink(p.log().LogEndOffset(), p.host.now(), p.host.lagTimeMax())
	p.positions.Unlock()
	if change != nil {
		p.host.isrChanged(p)
	}
	p.advance(0)
	p.wakeDeletes()
}
