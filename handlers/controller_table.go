package handlers

import (
	"context"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ActiveController is this node's controller as its CONTROLLER listener sees it.
type ActiveController interface {
	// HandleHere runs a request if this node is the active controller, and doesn't send it on.
	HandleHere(ctx context.Context, req kmsg.Request) (controller.Forwarded, error)
	// BrokerDisconnected says that the connection of a broker's heartbeats ended.
	BrokerDisconnected(broker int32, epoch int64)
	// Leader is the active controller's id, -1 if unknown, and its address.
	Leader() (id int32, address string)
}

// controllerAPIs is the list of what is served on a CONTROLLER listener, by key. Unlike a broker, a
// controller that isn't active refuses what only the active one can do; clients and brokers look for it.
func controllerAPIs(a ActiveController) []api {
	own := func(d *Deps, r *wire.Request) { d.handleOwn(a, r) }
	return []api{
		{kmsg.ApiVersions, 0, 5, handleApiVersions},
		{kmsg.CreateTopics, 2, 7, handleCreateTopics},
		{kmsg.DeleteTopics, 1, 6, handleDeleteTopics},
		{kmsg.DescribeACLs, 1, 3, handleDescribeACLs},
		{kmsg.DescribeConfigs, 1, 4, handleDescribeConfigs},
		{kmsg.AlterConfigs, 0, 2, handleAlterConfigs},
		{kmsg.CreatePartitions, 0, 3, handleCreatePartitions},
		{kmsg.ElectLeaders, 0, 2, handleElectLeaders},
		{kmsg.IncrementalAlterConfigs, 0, 1, handleIncrementalAlterConfigs},
		{kmsg.ListPartitionReassignments, 0, 0, handleListPartitionReassignments},
		{kmsg.UpdateFeatures, 0, 2, handleUpdateFeatures},
		{kmsg.DescribeUserSCRAMCredentials, 0, 0, handleDescribeUserSCRAMCredentials},
		{kmsg.DescribeQuorum, 0, 2, own},
		{kmsg.AlterPartition, 2, 3, own},
		{kmsg.Envelope, 0, 0, func(d *Deps, r *wire.Request) { d.handleEnvelope(a, r) }},
		{kmsg.DescribeCluster, 0, 2, func(d *Deps, r *wire.Request) { handleDescribeControllers(d, a, r) }},
		{kmsg.BrokerRegistration, 0, 4, own},
		{kmsg.BrokerHeartbeat, 0, 2, own},
		{kmsg.UnregisterBroker, 0, 0, own},
		{kmsg.AllocateProducerIDs, 0, 0, own},
		{kmsg.ControllerRegistration, 0, 0, own},
		{kmsg.AssignReplicasToDirs, 0, 0, own},
		{kmsg.AddRaftVoter, 0, 1, own},
		{kmsg.RemoveRaftVoter, 0, 0, own},
		{kmsg.UpdateRaftVoter, 0, 0, own},
	}
}

// NewController returns the dispatcher of a CONTROLLER listener. It takes deps, of which Replicas, Groups
// and Controller aren't used and may be nil.
func NewController(deps Deps, a ActiveController) *Dispatcher {
	deps.Controller = here{a}
	return newDispatcher(&deps, controllerAPIs(a))
}

// here is an ActiveController as the handlers of clients' requests use it.
type here struct{ active ActiveController }

// Handle implements Controller.
func (h here) Handle(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	f, err := h.active.HandleHere(ctx, req)
	return f.Response, err
}
