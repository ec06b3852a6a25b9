package classic

import (
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// replaceStatic gives old's place to the member id id of the same instance (KIP-345). In a stable
// group whose protocol stays the same nothing is rebalanced: the new id is logged, and the newcomer
// gets its predecessor's assignment when it syncs.
func (g *Group) replaceStatic(now time.Time, call machine.Call, old *Member, id string, req *kmsg.JoinGroupRequest, r *machine.Result) {
	if g.state == Stable && selectProtocol(g.replaced(old, id, req)) == deref(g.protocol) {
		g.replaceStaticStable(call, old, id, req, r)
		return
	}
	g.fence(old, r)
	oldID := old.ID
	old.ID = id
	if g.isLeader(oldID) {
		g.leader = &id
	}
	delete(g.pendingSync, oldID)
	r.CancelTimer(g.sessionKey(oldID))
	g.setMember(call, old, req, r)
	r.SetTimer(g.sessionKey(id), old.SessionTimeout)
	switch g.state {
	case Stable:
		g.rebalance(now, "static member "+id+" changes the group's protocol"+reason(req), r)
	case CompletingRebalance:
		// The leader may have been told of the old id; its assignment wouldn't reach the new one.
		g.prepareRebalance(now, "static member "+id+" was replaced"+reason(req), r)
	default:
		g.maybeCompleteJoin(now, r)
	}
}

// fence answers what the predecessor has parked.
func (g *Group) fence(m *Member, r *machine.Result) {
	g.replyJoin(m, joinError(m.ID, kerr.FencedInstanceID), r)
	g.replySync(m, syncError(kerr.FencedInstanceID), r)
}

// replaced is the list of members as it would be.
func (g *Group) replaced(old *Member, id string, req *kmsg.JoinGroupRequest) []*Member {
	list := make([]*Member, len(g.members))
	for i, m := range g.members {
		if m == old {
			successor := *old
			successor.ID, successor.Protocols = id, copyProtocols(req.Protocols)
			successor.RebalanceTimeout, successor.SessionTimeout = millis(req.RebalanceTimeoutMillis), millis(req.SessionTimeoutMillis)
			successor.join, successor.sync = 0, 0
			m = &successor
		}
		list[i] = m
	}
	return list
}

func (g *Group) replaceStaticStable(call machine.Call, old *Member, id string, req *kmsg.JoinGroupRequest, r *machine.Result) {
	members := g.replaced(old, id, req)
	oldLeader, leader, oldID := deref(g.leader), g.leader, old.ID
	if g.isLeader(oldID) {
		leader = &id
	}
	g.fence(old, r)
	r.Append(g.record(g.generation, g.protocol, leader, g.stateSince, members, nil))
	r.Then = func(now time.Time) machine.Result {
		var r machine.Result
		m := g.member(id)
		m.Protocols = copyProtocols(req.Protocols)
		delete(g.pendingSync, oldID)
		r.CancelTimer(g.sessionKey(oldID))
		r.SetTimer(g.sessionKey(id), m.SessionTimeout)
		resp := g.joined(m, false)
		if req.Version >= 9 { // KIP-814: the leader may be told that its assignment still holds
			resp = g.joined(m, g.isLeader(id))
			resp.SkipAssignment = g.isLeader(id)
		} else {
			// An old client that believed to lead would assign again; it is told of its predecessor.
			resp.LeaderID = oldLeader
		}
		r.Reply(call, resp)
		return r
	}
	r.Else = func(now time.Time, err error) machine.Result {
		var r machine.Result
		r.Warn("Could not log the replacement of a static member; keeping the old member id.", "group", g.ID, "old", oldID, "new", id, "error", err)
		return r
	}
}
