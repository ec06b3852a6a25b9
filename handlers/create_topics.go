package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleCreateTopics answers CreateTopics, versions 2 to 7: partition and replica counts of -1 stand
// for the defaults since 4 (KIP-464), counts and configs are answered since 5 (KIP-525), ids since 7.
// The controller decides.
func handleCreateTopics(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.CreateTopicsRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrCreateTopicsResponse()
		for _, t := range req.Topics {
			out := kmsg.NewCreateTopicsResponseTopic()
			out.Topic, out.ErrorCode, out.ErrorMessage = t.Topic, kerror.CodeOf(err), kerror.MessageOf(err)
			out.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	})
}
