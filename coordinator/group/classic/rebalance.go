package classic

import (
	"time"

	"github.com/ottla/ottla/coordinator/machine"
)

// rebalance starts a rebalance where the state allows, or sees whether the running one can go on.
func (g *Group) rebalance(now time.Time, why string, r *machine.Result) {
	if g.state == PreparingRebalance {
		g.maybeCompleteJoin(now, r)
		return
	}
	g.prepareRebalance(now, why, r)
}

// prepareRebalance starts the join phase. A group that was empty waits for more members first.
func (g *Group) prepareRebalance(now time.Time, why string, r *machine.Result) {
	if g.state == CompletingRebalance {
		g.failSyncs(rebalanceInProgress, r)
	}
	clear(g.pendingSync)
	r.CancelTimer(g.syncKey())
	wasEmpty := g.state == Empty
	g.transition(PreparingRebalance, now)
	r.Info("Preparing to rebalance group.", "group", g.ID, "oldGeneration", g.generation, "reason", why)
	if wasEmpty {
		delay := g.cfg.InitialRebalanceDelay
		g.initial = &initialDelay{current: delay, remaining: max(g.rebalanceTimeout()-delay, 0)}
		r.SetTimer(g.joinKey(), delay)
		return
	}
	if g.hasAllMembersJoined() {
		g.completeJoin(now, r)
		return
	}
	r.SetTimer(g.joinKey(), g.rebalanceTimeout())
}

// maybeCompleteJoin ends the join phase if all are there; the initial delay is waited out.
func (g *Group) maybeCompleteJoin(now time.Time, r *machine.Result) {
	if g.state == PreparingRebalance && g.previousState != Empty && g.hasAllMembersJoined() {
		g.completeJoin(now, r)
	}
}

// expireJoin is the end of the rebalance timeout, or of a part of the initial delay.
func (g *Group) expireJoin(now time.Time, r *machine.Result) {
	if g.state != PreparingRebalance {
		return
	}
	if d := g.initial; d != nil && d.memberAdded && d.remaining != 0 {
		next := min(g.cfg.InitialRebalanceDelay, d.remaining)
		*d = initialDelay{current: next, remaining: max(d.remaining-d.current, 0)}
		r.SetTimer(g.joinKey(), next)
		return
	}
	g.completeJoin(now, r)
}

// minRejoinWait bounds how often a group looks again for static members that don't rejoin.
const minRejoinWait = time.Second

// completeJoin ends the join phase: who hasn't rejoined is out (static members stay), the next
// generation begins and its members are told of it.
func (g *Group) completeJoin(now time.Time, r *machine.Result) {
	r.CancelTimer(g.joinKey())
	g.initial = nil
	for _, m := range append([]*Member(nil), g.members...) {
		if m.join == 0 && !m.isStatic() {
			r.Info("Removing member that did not rejoin.", "group", g.ID, "member", m.ID, "clientId", m.ClientID, "clientHost", m.ClientHost)
			g.remove(m.ID, r)
		}
	}
	if !g.electJoinedLeader() && len(g.members) > 0 {
		// Static members only, none of which is here: wait until their sessions end. The floor is for members
		// that ask for no rebalance timeout; this would go round and round.
		r.Warn("Group could not complete its rebalance because no member rejoined.", "group", g.ID)
		r.SetTimer(g.joinKey(), max(g.rebalanceTimeout(), minRejoinWait))
		return
	}
	if len(g.members) == 0 {
		g.becomeEmpty(now, r)
		return
	}
	g.generation++
	protocol := selectProtocol(g.members)
	g.protocol = &protocol
	g.subscribed = g.subscriptions()
	g.transition(CompletingRebalance, now)
	r.Info("Stabilized group.", "group", g.ID, "generation", g.generation, "members", len(g.members))
	g.pendingSync = make(map[string]struct{}, len(g.members))
	for _, m := range g.members {
		g.replyJoin(m, g.joined(m, g.isLeader(m.ID)), r)
		r.SetTimer(g.sessionKey(m.ID), m.SessionTimeout)
		m.isNew = false
		g.pendingSync[m.ID] = struct{}{}
	}
	r.SetTimer(g.syncKey(), g.rebalanceTimeout())
}

// becomeEmpty logs the generation without members. If it can't be logged the group is empty all the
// same: after a failure of this broker the logged generation comes back and its members' sessions end.
func (g *Group) becomeEmpty(now time.Time, r *machine.Result) {
	generation := g.generation + 1
	since := now.UnixMilli()
	r.Info("Group is now empty.", "group", g.ID, "generation", generation)
	r.Append(g.record(generation, nil, nil, since, nil, nil))
	r.Else = func(_ time.Time, err error) machine.Result {
		var r machine.Result
		r.Warn("Could not log that a group is empty.", "group", g.ID, "error", err)
		g.generation, g.protocol, g.leader, g.stateSince = generation, nil, nil, since
		g.previousState, g.state = g.state, Empty
		g.subscribed = g.subscriptions()
		return r
	}
}

// failSyncs answers all parked SyncGroups with an error and forgets the assignments.
func (g *Group) failSyncs(err error, r *machine.Result) {
	for _, m := range g.members {
		m.Assignment = []byte{}
		if g.replySync(m, syncError(err), r) {
			r.SetTimer(g.sessionKey(m.ID), m.SessionTimeout)
		}
	}
}
