package classic

import (
	"strings"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client is who sent a request.
type Client struct{ ID, Host string }

// Join handles a JoinGroup for an existing group, in Kafka's order of checks. The reply is parked
// until the join phase ends unless it says otherwise at once.
//
// Before: the group id and the session timeout were checked, and the group exists.
func (g *Group) Join(now time.Time, call machine.Call, client Client, req *kmsg.JoinGroupRequest) machine.Result {
	var r machine.Result
	switch {
	case !g.accepts(req.MemberID):
		g.remove(req.MemberID, &r)
		r.Reply(call, joinError("", kerr.GroupMaxSizeReached))
	case req.MemberID == "":
		g.joinUnknown(now, call, client, req, &r)
	default:
		g.joinKnown(now, call, client, req, &r)
	}
	return r
}

// accepts tells whether the group has room. While it prepares a rebalance those that have joined
// count, so that the last ones to rejoin are left out when group.max.size was lowered.
func (g *Group) accepts(memberID string) bool {
	switch g.state {
	case PreparingRebalance:
		m := g.member(memberID)
		return m != nil && m.join != 0 || g.numJoining < g.cfg.MaxSize
	case CompletingRebalance, Stable:
		return g.member(memberID) != nil || len(g.members) < g.cfg.MaxSize
	}
	return true
}

// joinUnknown handles a client that has no member id yet.
func (g *Group) joinUnknown(now time.Time, call machine.Call, client Client, req *kmsg.JoinGroupRequest, r *machine.Result) {
	if !g.supportsProtocols(req.ProtocolType, req.Protocols) {
		r.Reply(call, joinError("", kerr.InconsistentGroupProtocol))
		return
	}
	if req.InstanceID != nil {
		id := g.cfg.NewMemberID(*req.InstanceID)
		if old := g.staticMember(*req.InstanceID); old != nil {
			r.Info("Static member joins without a member id and replaces its predecessor.",
				"group", g.ID, "instanceId", *req.InstanceID, "state", g.state, "old", old.ID, "new", id)
			g.replaceStatic(now, call, old, id, req, r)
			return
		}
		g.addMember(now, call, id, client, req, r)
		return
	}
	id := g.cfg.NewMemberID(client.ID)
	// KIP-394: a client that would never use its id leaves a ghost in the group, so the id is handed
	// out first.
	if req.Version >= 4 {
		g.pendingJoin[id] = struct{}{}
		r.SetTimer(g.sessionKey(id), millis(req.SessionTimeoutMillis))
		r.Reply(call, joinError(id, kerr.MemberIDRequired))
		return
	}
	g.addMember(now, call, id, client, req, r)
}

// joinKnown handles a client that names its member id.
func (g *Group) joinKnown(now time.Time, call machine.Call, client Client, req *kmsg.JoinGroupRequest, r *machine.Result) {
	if !g.supportsProtocols(req.ProtocolType, req.Protocols) {
		r.Reply(call, joinError(req.MemberID, kerr.InconsistentGroupProtocol))
		return
	}
	if g.isPending(req.MemberID) {
		if req.InstanceID != nil { // ids are handed out to dynamic members only; Kafka throws here
			r.Reply(call, joinError(req.MemberID, kerr.UnknownServerError))
			return
		}
		g.addMember(now, call, req.MemberID, client, req, r)
		return
	}
	if err := g.validateMember(req.MemberID, req.InstanceID); err != nil {
		r.Reply(call, joinError(req.MemberID, err))
		return
	}
	m := g.member(req.MemberID)
	same := m.matches(req.Protocols)
	switch {
	case g.state == PreparingRebalance:
		g.updateMember(now, call, m, req, "member joins during the rebalance", r)
	case g.state == CompletingRebalance && same:
		// The response was lost; tell it again.
		r.Reply(call, g.joined(m, g.isLeader(m.ID)))
	case g.state == CompletingRebalance:
		g.updateMember(now, call, m, req, "member's metadata changed", r)
	case g.state == Stable && g.isLeader(m.ID):
		// Leaders rejoin when something changed that only they see, such as the partitions of a topic.
		g.updateMember(now, call, m, req, "leader rejoins", r)
	case g.state == Stable && !same:
		g.updateMember(now, call, m, req, "member's metadata changed", r)
	case g.state == Stable:
		r.Reply(call, g.joined(m, false))
	default:
		r.Reply(call, joinError(req.MemberID, kerr.UnknownMemberID))
	}
}

func (g *Group) addMember(now time.Time, call machine.Call, id string, client Client, req *kmsg.JoinGroupRequest, r *machine.Result) {
	m := &Member{
		ID: id, InstanceID: req.InstanceID, ClientID: client.ID, ClientHost: client.Host,
		RebalanceTimeout: millis(req.RebalanceTimeoutMillis), SessionTimeout: millis(req.SessionTimeoutMillis),
		ProtocolType: req.ProtocolType, Protocols: copyProtocols(req.Protocols), Assignment: []byte{}, isNew: true,
	}
	if g.state == PreparingRebalance && g.initial != nil {
		g.initial.memberAdded = true
	}
	g.add(m, call)
	r.SetTimer(g.sessionKey(id), newMemberJoinTimeout)
	g.rebalance(now, "adding new member "+id+reason(req), r)
}

func (g *Group) updateMember(now time.Time, call machine.Call, m *Member, req *kmsg.JoinGroupRequest, why string, r *machine.Result) {
	g.setMember(call, m, req, r)
	g.rebalance(now, why+": "+m.ID+reason(req), r)
}

// setMember takes what a JoinGroup says and parks it. Kafka forgets a JoinGroup that the member has
// parked before (a retry on a new connection); here it is told to rejoin, since a request that is
// never answered would hold its connection.
func (g *Group) setMember(call machine.Call, m *Member, req *kmsg.JoinGroupRequest, r *machine.Result) {
	if m.join != 0 {
		g.replyJoin(m, joinError(m.ID, rebalanceInProgress), r)
	}
	m.Protocols = copyProtocols(req.Protocols)
	m.RebalanceTimeout = millis(req.RebalanceTimeoutMillis)
	m.SessionTimeout = millis(req.SessionTimeoutMillis)
	g.park(m, call)
}

// reason is the client's own reason, cut as Kafka's clients do.
func reason(req *kmsg.JoinGroupRequest) string {
	if req.Reason == nil || *req.Reason == "" {
		return ""
	}
	return "; client reason: " + shorten(*req.Reason)
}

// shorten bounds what a client may add to a line of the log.
func shorten(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > 255 {
		s = s[:255]
	}
	return s
}
