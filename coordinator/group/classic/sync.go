package classic

import (
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Sync handles a SyncGroup: followers wait for the leader's, which is logged first.
func (g *Group) Sync(now time.Time, call machine.Call, req *kmsg.SyncGroupRequest) machine.Result {
	var r machine.Result
	if err := g.validateSync(req); err != nil {
		r.Reply(call, syncError(err))
		return r
	}
	switch g.state {
	case Empty:
		r.Reply(call, syncError(kerr.UnknownMemberID))
	case PreparingRebalance:
		r.Reply(call, syncError(kerr.RebalanceInProgress))
	case CompletingRebalance:
		m := g.member(req.MemberID)
		g.replySync(m, syncError(rebalanceInProgress), &r) // a retry takes the place of the lost request
		m.sync = call
		g.synchronized(m.ID, &r)
		if g.isLeader(m.ID) {
			g.assign(req, &r)
		}
	case Stable:
		g.synchronized(req.MemberID, &r)
		r.Reply(call, g.synced(g.member(req.MemberID)))
	}
	return r
}

// validateSync checks member, generation and, from version 5 on, the protocol that the member
// believes in (KIP-559).
func (g *Group) validateSync(req *kmsg.SyncGroupRequest) error {
	if err := g.validateMember(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	if differs(req.ProtocolType, g.protocolType) || differs(req.Protocol, g.protocol) {
		return kerr.InconsistentGroupProtocol
	}
	return nil
}

func differs(asked, have *string) bool { return asked != nil && have != nil && *asked != *have }

// synchronized notes that a member has synced.
func (g *Group) synchronized(id string, r *machine.Result) {
	delete(g.pendingSync, id)
	if len(g.pendingSync) == 0 {
		r.CancelTimer(g.syncKey())
	}
}

// assign logs the leader's assignment; members that it left out get an empty one. Once it is
// applied the group is stable and all that wait are answered.
func (g *Group) assign(req *kmsg.SyncGroupRequest, r *machine.Result) {
	assignment := make(map[string][]byte, len(g.members))
	for _, a := range req.GroupAssignment {
		assignment[a.MemberID] = a.MemberAssignment
	}
	r.Info("Assignment received from the leader.", "group", g.ID, "leader", req.MemberID, "generation", g.generation, "members", len(g.members))
	for _, m := range g.members {
		if assignment[m.ID] == nil {
			assignment[m.ID] = []byte{}
			r.Warn("Leader left a member without an assignment.", "group", g.ID, "member", m.ID, "generation", g.generation)
		}
	}
	r.Append(g.record(g.generation, g.protocol, g.leader, g.stateSince, g.members, assignment))
	r.Then = func(time.Time) machine.Result {
		var r machine.Result
		for _, m := range g.members {
			if g.replySync(m, g.synced(m), &r) {
				r.SetTimer(g.sessionKey(m.ID), m.SessionTimeout)
			}
		}
		return r
	}
	r.Else = func(now time.Time, err error) machine.Result {
		var r machine.Result
		g.failSyncs(err, &r)
		g.rebalance(now, "could not log the assignment", &r)
		return r
	}
}

// expireSync is the end of the rebalance timeout after the join phase: members that haven't synced
// are out (KIP-62's promise, checked since Kafka 3.0).
func (g *Group) expireSync(now time.Time, r *machine.Result) {
	if g.state != CompletingRebalance && g.state != Stable || len(g.pendingSync) == 0 {
		return
	}
	for _, m := range append([]*Member(nil), g.members...) {
		if _, pending := g.pendingSync[m.ID]; pending {
			r.Info("Removing member that did not sync.", "group", g.ID, "member", m.ID, "clientId", m.ClientID, "clientHost", m.ClientHost)
			g.remove(m.ID, r)
		}
	}
	g.prepareRebalance(now, "members did not sync in time", r)
}
