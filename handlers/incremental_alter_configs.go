package handlers

import (
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleIncrementalAlterConfigs answers IncrementalAlterConfigs, versions 0 and 1 (KIP-339): it sets,
// deletes, appends to and subtracts from single settings. Resources that this broker can refuse don't
// reach the controller; the answer keeps the request's order.
func handleIncrementalAlterConfigs(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	type resource struct {
		kind kmsg.ConfigResourceType
		name string
	}
	times := make(map[resource]int, len(req.Resources))
	for _, res := range req.Resources {
		times[resource{res.ResourceType, res.ResourceName}]++
	}
	decided := make([]verdict, len(req.Resources))
	passed := kmsg.NewPtrIncrementalAlterConfigsRequest()
	passed.Version, passed.ValidateOnly = r.Version, req.ValidateOnly
	for i, res := range req.Resources {
		// Log levels (KIP-412) are this broker's own to decide on.
		own := config.Resource(res.ResourceType) == config.ResourceBrokerLogger
		var err error
		if !own {
			err = d.refuseAlter(int8(res.ResourceType), res.ResourceName)
		}
		if err == nil && times[resource{res.ResourceType, res.ResourceName}] > 1 {
			err = kerror.New(kerr.InvalidRequest, "Each resource must appear at most once.")
		}
		if err == nil && config.Resource(res.ResourceType) == config.ResourceTopic && res.ResourceName == "" {
			err = kerror.New(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if err == nil && own {
			err = d.alterLoggers(res.ResourceName, res.Configs, req.ValidateOnly)
		}
		if decided[i] = (verdict{final: own || err != nil, err: err}); !decided[i].final {
			passed.Resources = append(passed.Resources, res)
		}
	}
	var answers []kmsg.IncrementalAlterConfigsResponseResource
	var failure error
	if len(passed.Resources) > 0 {
		resp, err := d.askController(r, passed, -1)
		if failure = err; err == nil {
			answers = resp.(*kmsg.IncrementalAlterConfigsResponse).Resources
		}
	}
	out := kmsg.NewPtrIncrementalAlterConfigsResponse()
	out.Resources = inRequestOrder(decided, answers, failure, func(i int, err error) kmsg.IncrementalAlterConfigsResponseResource {
		a := kmsg.NewIncrementalAlterConfigsResponseResource()
		a.ResourceType, a.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		a.ErrorCode, a.ErrorMessage = d.codeOf(err, "altering configs"), kerror.MessageOf(err)
		return a
	})
	r.Reply(out)
}
