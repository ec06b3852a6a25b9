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
		{key: kmsg.ApiVersions, min: 0, max: 5, handle: handleApiVersions},
		{key: kmsg.CreateTopics, min: 2, max: 7, handle: handleCreateTopics},
		{key: kmsg.DeleteTopics, min: 1, max: 6, handle: handleDeleteTopics},
		{key: kmsg.DescribeACLs, min: 1, max: 3, handle: handleDescribeACLs},
		{key: kmsg.DescribeConfigs, min: 1, max: 4, handle: handleDescribeConfigs},
		{key: kmsg.AlterConfigs, min: 0, max: 2, handle: handleAlterConfigs},
		{key: kmsg.CreatePartitions, min: 0, max: 3, handle: handleCreatePartitions},
		{key: kmsg.ElectLeaders, min: 0, max: 2, handle: handleElectLeaders},
		{key: kmsg.IncrementalAlterConfigs, min: 0, max: 1, handle: handleIncrementalAlterConfigs},
		{key: kmsg.ListPartitionReassignments, min: 0, max: 0, handle: handleListPartitionReassignments},
		{key: kmsg.UpdateFeatures, min: 0, max: 2, handle: handleUpdateFeatures},
		{key: kmsg.DescribeUserSCRAMCredentials, min: 0, max: 0, handle: handleDescribeUserSCRAMCredentials},
		{key: kmsg.DescribeQuorum, min: 0, max: 2, handle: own},
		{key: kmsg.AlterPartition, min: 2, max: 3, handle: own},
		{key: kmsg.Envelope, min: 0, max: 0, handle: func(d *Deps, r *wire.Request) { d.handleEnvelope(a, r) }},
		{key: kmsg.DescribeCluster, min: 0, max: 2, handle: func(d *Deps, r *wire.Request) { handleDescribeControllers(d, a, r) }},
		{key: kmsg.BrokerRegistration, min: 0, max: 4, handle: own},
		{key: kmsg.BrokerHeartbeat, min: 0, max: 2, handle: own},
		{key: kmsg.UnregisterBroker, min: 0, max: 0, handle: own},
		{key: kmsg.AllocateProducerIDs, min: 0, max: 0, handle: own},
		{key: kmsg.ControllerRegistration, min: 0, max: 0, handle: own},
		{key: kmsg.AssignReplicasToDirs, min: 0, max: 0, handle: own},
		{key: kmsg.AddRaftVoter, min: 0, max: 1, handle: own},
		{key: kmsg.RemoveRaftVoter, min: 0, max: 0, handle: own},
		{key: kmsg.UpdateRaftVoter, min: 0, max: 0, handle: own},
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
