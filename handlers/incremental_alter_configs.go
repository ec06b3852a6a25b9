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
	refused := make([]error, len(req.Resources))
	passed := kmsg.NewPtrIncrementalAlterConfigsRequest()
	passed.Version, passed.ValidateOnly = r.Version, req.ValidateOnly
	// done are the resources that this broker alone decides on: its log levels (KIP-412).
	done := make([]bool, len(req.Resources))
	for i, res := range req.Resources {
		var err error
		if done[i] = config.Resource(res.ResourceType) == config.ResourceBrokerLogger; !done[i] {
			err = d.refuseAlter(int8(res.ResourceType), res.ResourceName)
		}
		if err == nil && times[resource{res.ResourceType, res.ResourceName}] > 1 {
			err = kerror.New(kerr.InvalidRequest, "Each resource must appear at most once.")
		}
		if err == nil && config.Resource(res.ResourceType) == config.ResourceTopic && res.ResourceName == "" {
			err = kerror.New(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if err == nil && done[i] {
			err = d.alterLoggers(res.ResourceName, res.Configs, req.ValidateOnly)
		}
		if refused[i] = err; err == nil && !done[i] {
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
	for i, res := range req.Resources {
		err := refused[i]
		if err == nil && !done[i] && len(answers) > 0 {
			out.Resources, answers = append(out.Resources, answers[0]), answers[1:]
			continue
		}
		if err == nil && !done[i] {
			err = failure
		}
		a := kmsg.NewIncrementalAlterConfigsResponseResource()
		a.ResourceType, a.ResourceName = res.ResourceType, res.ResourceName
		a.ErrorCode, a.ErrorMessage = d.codeOf(err, "altering configs"), kerror.MessageOf(err)
		out.Resources = append(out.Resources, a)
	}
	r.Reply(out)
}
