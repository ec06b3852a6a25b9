package handlers

import (
	"bytes"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SyncGroup, versions 0 to 5: fetch, and for the leader bring, the assignment.
//
//	3  static members (KIP-345)
//	5  protocol type and name, which must be there and are checked against the group's (KIP-559)
func handleSyncGroup(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.SyncGroupRequest)
	if r.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.ErrorCode, resp.MemberAssignment = kerr.InconsistentGroupProtocol.Code, []byte{}
		r.Reply(resp)
		return
	}
	// Followers are parked until the leader has synced; the request must not hold its frame.
	assignment := make([]kmsg.SyncGroupRequestGroupAssignment, len(req.GroupAssignment))
	for i, a := range req.GroupAssignment {
		a.MemberAssignment = bytes.Clone(a.MemberAssignment)
		assignment[i] = a
	}
	req.GroupAssignment = assignment
	r.ReleaseFrame()
	toGroups(d, r, &req, same[*kmsg.SyncGroupResponse])
}
