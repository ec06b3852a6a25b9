package handlers

import (
	"bytes"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// JoinGroup, versions 0 to 9: member of a classic group.
//
//	1  rebalance timeout of its own (KIP-62); before, it is the session timeout
//	4  MEMBER_ID_REQUIRED before a new dynamic member is let in (KIP-394)
//	5  static members (KIP-345)
//	7  protocol type in the response (KIP-559)
//	8  reason (KIP-800)
//	9  the leader may skip the assignment (KIP-814)
func handleJoinGroup(d *Deps, r *wire.Request) {
	req := *r.Body.(*kmsg.JoinGroupRequest)
	if r.Version == 0 {
		req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
	}
	// A JoinGroup is parked for as long as a rebalance takes; it must not hold its frame.
	protocols := make([]kmsg.JoinGroupRequestProtocol, len(req.Protocols))
	for i, p := range req.Protocols {
		p.Metadata = bytes.Clone(p.Metadata)
		protocols[i] = p
	}
	req.Protocols = protocols
	r.ReleaseFrame()
	toGroups(d, r, &req, same[*kmsg.JoinGroupResponse])
}
