package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleCreatePartitions answers CreatePartitions, versions 0 to 3, which differ in encoding and
// throttling only. The controller decides.
func handleCreatePartitions(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.CreatePartitionsRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrCreatePartitionsResponse()
		for _, t := range req.Topics {
			out := kmsg.NewCreatePartitionsResponseTopic()
			out.Topic, out.ErrorCode, out.ErrorMessage = t.Topic, kerror.CodeOf(err), kerror.MessageOf(err)
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	})
}
