package classic

import (
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	unknownMemberID     = kerr.UnknownMemberID
	rebalanceInProgress = kerr.RebalanceInProgress
)

// joinError is a JoinGroup response that tells of an error.
func joinError(memberID string, err error) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.MemberID = memberID
	resp.ErrorCode = kerror.CodeOf(err)
	return resp
}

// JoinError is a JoinGroup response for a request that was refused before the group saw it.
func JoinError(req *kmsg.JoinGroupRequest, err error) *kmsg.JoinGroupResponse {
	return joinError(req.MemberID, err)
}

// joined is the JoinGroup response of the current generation.
func (g *Group) joined(m *Member, withMembers bool) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Generation = g.generation
	resp.ProtocolType = g.protocolType
	resp.Protocol = g.protocol
	resp.LeaderID = deref(g.leader)
	resp.MemberID = m.ID
	if withMembers {
		for _, other := range g.members {
			rm := kmsg.NewJoinGroupResponseMember()
			rm.MemberID = other.ID
			rm.InstanceID = other.InstanceID
			rm.ProtocolMetadata = other.metadata(deref(g.protocol))
			resp.Members = append(resp.Members, rm)
		}
	}
	return resp
}

func syncError(err error) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.MemberAssignment = []byte{}
	resp.ErrorCode = kerror.CodeOf(err)
	return resp
}

// synced is the SyncGroup response with the member's assignment.
func (g *Group) synced(m *Member) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ProtocolType = g.protocolType
	resp.Protocol = g.protocol
	resp.MemberAssignment = m.Assignment
	return resp
}

// replyJoin answers the member's parked JoinGroup, if there is one.
func (g *Group) replyJoin(m *Member, resp *kmsg.JoinGroupResponse, r *machine.Result) {
	r.Reply(m.join, resp)
	g.park(m, 0)
}

// replySync answers the member's parked SyncGroup, if there is one, and tells whether there was.
func (g *Group) replySync(m *Member, resp *kmsg.SyncGroupResponse, r *machine.Result) bool {
	r.Reply(m.sync, resp)
	was := m.sync != 0
	m.sync = 0
	return was
}

// SyncError is a SyncGroup response for a request that no group saw.
func SyncError(err error) *kmsg.SyncGroupResponse { return syncError(err) }
