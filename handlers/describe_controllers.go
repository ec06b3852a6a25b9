package handlers

import (
	"fmt"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleDescribeControllers answers DescribeCluster on a CONTROLLER listener, versions 0 to 2 (KIP-919): where the
// controllers are that registered an endpoint of this listener's name, and which one is active. It is how clients
// with bootstrap.controllers find their way; brokers are described on their own listeners only.
func handleDescribeControllers(d *Deps, a ActiveController, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	switch {
	case r.Version >= 1 && req.EndpointType == endpointControllers:
	case r.Version == 0 || req.EndpointType == endpointBrokers:
		message := "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
		resp.ErrorCode, resp.ErrorMessage = kerr.MismatchedEndpointType.Code, &message
		r.Reply(resp)
		return
	default:
		message := fmt.Sprintf("Unsupported endpoint type %d", req.EndpointType)
		resp.ErrorCode, resp.ErrorMessage = kerr.UnsupportedEndpointType.Code, &message
		r.Reply(resp)
		return
	}
	img := d.Image()
	resp.EndpointType, resp.ClusterID = endpointControllers, img.ClusterID()
	resp.ControllerID, _ = a.Leader()
	for _, c := range img.Controllers() {
		for _, e := range c.Listeners {
			if e.Name == r.Session.Listener {
				n := kmsg.NewDescribeClusterResponseBroker()
				n.NodeID, n.Host, n.Port = c.ID, e.Host, int32(e.Port)
				resp.Brokers = append(resp.Brokers, n)
			}
		}
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	r.Reply(resp)
}
