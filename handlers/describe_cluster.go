package handlers

import (
	"fmt"

	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The endpoint types of DescribeCluster (KIP-919).
const (
	endpointBrokers     = 1
	endpointControllers = 2
)

// handleDescribeCluster answers DescribeCluster, versions 0 to 2: endpoint types since 1 (KIP-919),
// fenced brokers on demand since 2 (KIP-1073). Controllers are described on their own listener only.
func handleDescribeCluster(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeClusterRequest)
	resp := kmsg.NewPtrDescribeClusterResponse()
	switch {
	case r.Version == 0 || req.EndpointType == endpointBrokers:
	case req.EndpointType == endpointControllers:
		message := "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
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
	resp.ClusterID, resp.ControllerID = img.ClusterID(), d.controllerFor(r, img)
	for _, b := range img.Brokers() {
		n := kmsg.NewDescribeClusterResponseBroker()
		n.NodeID, n.Rack = b.ID, b.Rack
		host, port, alive := d.reach(r, b)
		if at, ok := b.Listener(r.Session.Listener); !alive && ok && b.Fenced && r.Version >= 2 && req.IncludeFencedBrokers {
			host, port, alive, n.IsFenced = at.Host, int32(at.Port), true, true
		}
		if alive {
			n.Host, n.Port = host, port
			resp.Brokers = append(resp.Brokers, n)
		}
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	r.Reply(resp)
}
