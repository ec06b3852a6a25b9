package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleBrokerHeartbeat answers BrokerHeartbeat, versions 0 to 2: a broker is alive, wants to be fenced or to stop (KIP-631).
// Offline log directories since 1 (KIP-858), cordoned ones since 2 (KIP-1066).
// The active controller decides.
func handleBrokerHeartbeat(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrBrokerHeartbeatResponse()
		resp.ErrorCode = kerror.CodeOf(err)
		return resp
	})
}
