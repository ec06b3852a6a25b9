package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveGroup, versions 0 to 5.
//
//	3  several members, static ones by instance id (KIP-345)
//	5  reason (KIP-800)
func handleLeaveGroup(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.LeaveGroupRequest)
	if r.Version < 3 {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = req.MemberID
		req.Members = []kmsg.LeaveGroupRequestMember{m}
	}
	toGroups(d, r, &req, func(resp *kmsg.LeaveGroupResponse) kmsg.Response {
		if r.Version < 3 && len(resp.Members) > 0 {
			if resp.ErrorCode == 0 {
				resp.ErrorCode = resp.Members[0].ErrorCode
			}
			resp.Members = nil
		}
		return resp
	})
}
