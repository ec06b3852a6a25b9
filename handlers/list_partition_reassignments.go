package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleListPartitionReassignments answers ListPartitionReassignments, version 0 (KIP-455). The
// controller answers.
func handleListPartitionReassignments(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.ListPartitionReassignmentsRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrListPartitionReassignmentsResponse()
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		return resp
	})
}
