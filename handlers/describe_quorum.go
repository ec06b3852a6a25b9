package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDescribeQuorum answers DescribeQuorum, versions 0 to 2: times since 1 (KIP-836), nodes and
// directories since 2 (KIP-853). The active controller answers.
func handleDescribeQuorum(d *Deps, r *wire.Request) {
	d.forward(r, -1, func(err error) kmsg.Response {
		resp := kmsg.NewPtrDescribeQuorumResponse()
		resp.ErrorCode, resp.ErrorMessage = kerror.CodeOf(err), kerror.MessageOf(err)
		return resp
	})
}
