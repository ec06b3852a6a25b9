package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleAddRaftVoter answers AddRaftVoter, versions 0 and 1 (KIP-853): since 1 a client may ask to be answered
// before the change is committed, which is ignored. The active controller decides.
func handleAddRaftVoter(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.AddRaftVoterRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrAddRaftVoterResponse()
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		return resp
	})
}

// handleRemoveRaftVoter answers RemoveRaftVoter, version 0 (KIP-853). The active controller decides.
func handleRemoveRaftVoter(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrRemoveRaftVoterResponse()
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		return resp
	})
}
