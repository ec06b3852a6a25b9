package handlers

import (
	"strconv"

	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleAlterConfigs answers AlterConfigs, versions 0 to 2: it replaces all of a resource's dynamic
// settings. Resources that this broker can refuse don't reach the controller, which decides on the rest;
// the answer keeps the request's order.
func handleAlterConfigs(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.AlterConfigsRequest)
	decided := make([]verdict, len(req.Resources))
	passed := kmsg.NewPtrAlterConfigsRequest()
	passed.Version, passed.ValidateOnly = r.Version, req.ValidateOnly
	for i, res := range req.Resources {
		if err := d.refuseAlter(int8(res.ResourceType), res.ResourceName); err != nil {
			decided[i] = verdict{final: true, err: err}
			continue
		}
		passed.Resources = append(passed.Resources, res)
	}
	var answers []kmsg.AlterConfigsResponseResource
	var failure error
	if len(passed.Resources) > 0 {
		resp, err := d.askController(r, passed, -1)
		if failure = err; err == nil {
			answers = resp.(*kmsg.AlterConfigsResponse).Resources
		}
	}
	out := kmsg.NewPtrAlterConfigsResponse()
	out.Resources = inRequestOrder(decided, answers, failure, func(i int, err error) kmsg.AlterConfigsResponseResource {
		a := kmsg.NewAlterConfigsResponseResource()
		a.ResourceType, a.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		a.ErrorCode, a.ErrorMessage = d.codeOf(err, "altering configs"), kerror.MessageOf(err)
		return a
	})
	r.Reply(out)
}

// verdict is what this broker said to a resource: final, with the error or success that err is, or
// left to the controller.
type verdict struct {
	final bool
	err   error
}

// inRequestOrder puts the controller's answers and this broker's own into the order of the request.
// answers are those of the resources that aren't final; where the controller gave none, failure says why.
func inRequestOrder[A any](decided []verdict, answers []A, failure error, own func(i int, err error) A) []A {
	var out []A
	for i, v := range decided {
		switch {
		case v.final:
			out = append(out, own(i, v.err))
		case len(answers) > 0:
			out, answers = append(out, answers[0]), answers[1:]
		default:
			out = append(out, own(i, failure))
		}
	}
	return out
}

// refuseAlter is what this broker itself says to a change of a resource's settings: nil if the
// controller is to decide.
func (d *Deps) refuseAlter(resource int8, name string) error {
	switch config.Resource(resource) {
	case config.ResourceTopic, config.ResourceClientMetrics, config.ResourceGroup:
		return nil
	case config.ResourceBroker:
		if name == "" {
			return nil
		}
		return d.checkNodeID(name, "Unexpected broker id, expected %d, but received %s")
	}
	return kerror.New(kerr.InvalidRequest, "Unknown resource type %d", resource)
}

// checkNodeID refuses a resource name that isn't this broker's id.
func (d *Deps) checkNodeID(name, unexpected string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return kerror.New(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", name)
	case int32(id) != d.NodeID:
		return kerror.New(kerr.InvalidRequest, unexpected, d.NodeID, name)
	}
	return nil
}
