package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleAllocateProducerIDs answers AllocateProducerIds, version 0: a broker gets a block of producer ids (KIP-730).
// The active controller decides.
func handleAllocateProducerIDs(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrAllocateProducerIDsResponse()
		resp.ErrorCode = kerror.CodeOf(err)
		resp.ProducerIDStart = -1
		return resp
	})
}
