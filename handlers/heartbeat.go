package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heartbeat, versions 0 to 4: prolong a session, learn of a rebalance.
//
//	3  static members (KIP-345)
func handleHeartbeat(d *Deps, r *wire.Request) {
	toGroups(d, r, r.Body, same[*kmsg.HeartbeatResponse])
}
