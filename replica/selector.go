package replica

import (
	"cmp"

	"github.com/ottla/ottla/replica/isr"
)

// preferredReplica is the follower that a consumer should read from, -1 to read here (KIP-392): one in the
// consumer's rack that is in sync and has the offset, unless the leader is in that rack itself. Of several
// it is the one with the longest log, then the one that was caught up last. Requires: p.mu held.
func (p *Partition) preferredReplica(plan *FetchPlan, offset int64) int32 {
	if plan.Rack == "" || plan.ReplicaID >= 0 || p.view == nil || !p.host.rackAware() || p.rackOf(p.nodeID) == plan.Rack {
		return -1
	}
	p.positions.Lock()
	defer p.positions.Unlock()
	var best *isr.Follower
	for _, id := range p.state.isr {
		f := p.view.Follower(id)
		if f == nil || f.LogEndOffset < offset || f.LogStartOffset > offset || p.rackOf(id) != plan.Rack {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(f.LogEndOffset, best.LogEndOffset), f.LastCaughtUp().Compare(best.LastCaughtUp()),
			cmp.Compare(f.ID, best.ID)) > 0 {
			best = f
		}
	}
	if best == nil {
		return -1
	}
	return best.ID
}

// rackOf is a live broker's rack, empty if it has none.
func (p *Partition) rackOf(id int32) string {
	b := p.host.broker(id)
	if b == nil || b.Fenced || b.Rack == nil {
		return ""
	}
	return *b.Rack
}
