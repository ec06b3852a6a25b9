package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleUnregisterBroker answers UnregisterBroker, version 0: a broker is taken out of the cluster for good.
// The active controller decides.
func handleUnregisterBroker(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrUnregisterBrokerResponse()
		resp.ErrorCode = kerror.CodeOf(err)
		resp.ErrorMessage = kerror.MessageOf(err)
		return resp
	})
}
