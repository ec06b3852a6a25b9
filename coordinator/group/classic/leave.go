package classic

import (
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Leave handles a LeaveGroup. Members that leave are named in req.Members whatever the version;
// with an instance id and no member id an administrator removes a static member.
func (g *Group) Leave(now time.Time, call machine.Call, req *kmsg.LeaveGroupRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrLeaveGroupResponse()
	left := false
	for _, m := range req.Members {
		err := g.leave(m, &r)
		left = left || err == nil
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID = m.MemberID, m.InstanceID
		rm.ErrorCode = kerror.CodeOf(err)
		resp.Members = append(resp.Members, rm)
	}
	r.Reply(call, resp)
	if left && g.state != Empty {
		g.rebalance(now, "members left", &r)
	}
	return r
}

func (g *Group) leave(m kmsg.LeaveGroupRequestMember, r *machine.Result) error {
	id := m.MemberID
	switch {
	case id == "":
		if m.InstanceID == nil {
			return kerr.UnknownMemberID
		}
		static := g.staticMember(*m.InstanceID)
		if static == nil {
			return kerr.UnknownMemberID
		}
		id = static.ID
	case g.isPending(id):
		r.CancelTimer(g.sessionKey(id))
	default:
		if err := g.validateMember(id, m.InstanceID); err != nil {
			return err
		}
	}
	why := "not provided"
	if m.Reason != nil {
		why = shorten(*m.Reason)
	}
	var client Client // unknown for an id that was handed out only
	if member := g.member(id); member != nil {
		client = Client{ID: member.ClientID, Host: member.ClientHost}
	}
	r.Info("Member has left the group.", "group", g.ID, "member", id, "clientId", client.ID, "clientHost", client.Host, "reason", why)
	g.remove(id, r)
	return nil
}
