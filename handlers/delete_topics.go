package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDeleteTopics answers DeleteTopics, versions 1 to 6: messages since 5, topics by id since 6
// (KIP-516). The controller decides.
func handleDeleteTopics(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DeleteTopicsRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrDeleteTopicsResponse()
		failed := func(name *string, id [16]byte) {
			out := kmsg.NewDeleteTopicsResponseTopic()
			out.Topic, out.TopicID, out.ErrorCode, out.ErrorMessage = name, id, kerror.CodeOf(err), kerror.MessageOf(err)
			resp.Topics = append(resp.Topics, out)
		}
		for i := range req.TopicNames {
			failed(&req.TopicNames[i], [16]byte{})
		}
		for _, t := range req.Topics {
			failed(t.Topic, t.TopicID)
		}
		return resp
	})
}
