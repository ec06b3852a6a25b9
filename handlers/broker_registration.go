package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleBrokerRegistration answers BrokerRegistration, versions 0 to 4: a broker joins with its listeners, features and
// directories (KIP-631); its former epoch since 3 (KIP-966).
// The active controller decides.
func handleBrokerRegistration(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrBrokerRegistrationResponse()
		resp.ErrorCode = kerror.CodeOf(err)
		resp.BrokerEpoch = -1
		return resp
	})
}
