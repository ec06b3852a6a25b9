package classic

import (
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kinds of the timers that a group sets; their Name is the group, the session's Sub the member.
const (
	TimerJoin    = "join"
	TimerSync    = "sync"
	TimerSession = "session"
)

// Heartbeat handles a Heartbeat: it prolongs the session and tells of a rebalance.
func (g *Group) Heartbeat(call machine.Call, req *kmsg.HeartbeatRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = kerror.CodeOf(g.heartbeat(req, &r))
	r.Reply(call, resp)
	return r
}

func (g *Group) heartbeat(req *kmsg.HeartbeatRequest, r *machine.Result) error {
	if err := g.validateMember(req.MemberID, req.InstanceID); err != nil {
		return err
	}
	if req.Generation != g.generation {
		return kerr.IllegalGeneration
	}
	if g.state == Empty {
		return kerr.UnknownMemberID
	}
	g.Touch(req.MemberID, r)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress
	}
	return nil
}

// Touch prolongs a member's session; commits count as heartbeats.
func (g *Group) Touch(memberID string, r *machine.Result) {
	if m := g.member(memberID); m != nil {
		r.SetTimer(g.sessionKey(memberID), m.SessionTimeout)
	}
}

// TouchOnCommit prolongs the session of a member whose offsets were taken.
func (g *Group) TouchOnCommit(memberID string, r *machine.Result) {
	if g.state == Stable || g.state == PreparingRebalance {
		g.Touch(memberID, r)
	}
}

// Expire handles a timer of the group.
func (g *Group) Expire(now time.Time, key machine.TimerKey) machine.Result {
	var r machine.Result
	switch key.Kind {
	case TimerJoin:
		g.expireJoin(now, &r)
	case TimerSync:
		g.expireSync(now, &r)
	case TimerSession:
		g.expireSession(now, key.Sub, &r)
	}
	return r
}

// expireSession removes a member that wasn't heard of, or an id that wasn't used.
func (g *Group) expireSession(now time.Time, id string, r *machine.Result) {
	if g.isPending(id) {
		r.Info("Member id was not used within the session timeout.", "group", g.ID, "member", id)
		g.remove(id, r)
		if g.state == PreparingRebalance && g.hasAllMembersJoined() {
			g.completeJoin(now, r)
		}
		return
	}
	m := g.member(id)
	if m == nil || m.hasSatisfiedHeartbeat() {
		return
	}
	r.Info("Member has failed: no heartbeat within its session timeout. Removing it.", "group", g.ID, "member", id,
		"clientId", m.ClientID, "clientHost", m.ClientHost, "sessionTimeout", m.SessionTimeout)
	g.remove(id, r)
	switch {
	case g.state == Stable || g.state == CompletingRebalance:
		g.rebalance(now, "member "+id+" failed", r)
	case g.state == PreparingRebalance && g.hasAllMembersJoined():
		g.completeJoin(now, r)
	}
}
