package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups, versions 0 to 6: classic groups.
//
//	3  authorized operations (KIP-430)
//	4  static members (KIP-345)
//	6  GROUP_ID_NOT_FOUND with a message for what was "Dead" before (KIP-1043)
func handleDescribeGroups(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeGroupsRequest)
	toGroups(d, r, req, func(resp *kmsg.DescribeGroupsResponse) kmsg.Response {
		for i := range resp.Groups {
			if req.IncludeAuthorizedOperations && resp.Groups[i].ErrorCode == 0 {
				resp.Groups[i].AuthorizedOperations = allGroupOperations
			}
		}
		return resp
	})
}
