package handlers

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleElectLeaders answers ElectLeaders, versions 0 to 2: unclean elections since 1 (KIP-460). The
// controller decides.
func handleElectLeaders(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.ElectLeadersRequest)
	d.forward(r, req.TimeoutMillis, func(err error) kmsg.Response {
		resp := kmsg.NewPtrElectLeadersResponse()
		resp.ErrorCode = kerror.CodeOf(err)
		for _, t := range req.Topics {
			out := kmsg.NewElectLeadersResponseTopic()
			out.Topic = t.Topic
			for _, p := range t.Partitions {
				o := kmsg.NewElectLeadersResponseTopicPartition()
				o.Partition, o.ErrorCode, o.ErrorMessage = p, kerror.CodeOf(err), kerror.MessageOf(err)
				out.Partitions = append(out.Partitions, o)
			}
			resp.Topics = append(resp.Topics, out)
		}
		return resp
	})
}
