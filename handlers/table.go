// Package handlers answers Kafka requests: one file an API, registered in one table.
package handlers

import (
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleFunc answers one request; it completes it exactly once, now or later.
type handleFunc func(d *Deps, r *wire.Request)

// api is one row of the table. Its versions are those advertised by ApiVersions.
type api struct {
	key kmsg.Key
	// min and max are what is advertised. Produce is served from a higher version on than is
	// advertised, see wire.AdvertisedMin.
	min, max int16
	handle   handleFunc
	// place is where the handler may run at first.
	place wire.Place
}

// apis is the list of what is served on a broker listener, by key.
func apis() []api {
	return []api{
		{key: kmsg.Produce, min: 0, max: 13, handle: handleProduce, place: wire.OnStandIn},
		{key: kmsg.Fetch, min: 4, max: 18, handle: handleFetch, place: wire.OnLoop},
		{key: kmsg.ListOffsets, min: 1, max: 11, handle: handleListOffsets},
		{key: kmsg.Metadata, min: 0, max: 13, handle: handleMetadata},
		{key: kmsg.ApiVersions, min: 0, max: 5, handle: handleApiVersions},
		{key: kmsg.CreateTopics, min: 2, max: 7, handle: handleCreateTopics},
		{key: kmsg.DeleteTopics, min: 1, max: 6, handle: handleDeleteTopics},
		{key: kmsg.DeleteRecords, min: 0, max: 2, handle: handleDeleteRecords},
		{key: kmsg.InitProducerID, min: 0, max: 5, handle: handleInitProducerID},
		{key: kmsg.OffsetForLeaderEpoch, min: 2, max: 4, handle: handleOffsetForLeaderEpoch},
		{key: kmsg.DescribeACLs, min: 1, max: 3, handle: handleDescribeACLs},
		{key: kmsg.DescribeConfigs, min: 1, max: 4, handle: handleDescribeConfigs},
		{key: kmsg.AlterConfigs, min: 0, max: 2, handle: handleAlterConfigs},
		{key: kmsg.CreatePartitions, min: 0, max: 3, handle: handleCreatePartitions},
		{key: kmsg.ElectLeaders, min: 0, max: 2, handle: handleElectLeaders},
		{key: kmsg.IncrementalAlterConfigs, min: 0, max: 1, handle: handleIncrementalAlterConfigs},
		{key: kmsg.AlterPartitionAssignments, min: 0, max: 1, handle: handleAlterPartitionReassignments},
		{key: kmsg.ListPartitionReassignments, min: 0, max: 0, handle: handleListPartitionReassignments},
		{key: kmsg.DescribeClientQuotas, min: 0, max: 1, handle: handleDescribeClientQuotas},
		{key: kmsg.DescribeUserSCRAMCredentials, min: 0, max: 0, handle: handleDescribeUserSCRAMCredentials},
		{key: kmsg.DescribeQuorum, min: 0, max: 2, handle: handleDescribeQuorum},
		{key: kmsg.AddRaftVoter, min: 0, max: 1, handle: handleAddRaftVoter},
		{key: kmsg.RemoveRaftVoter, min: 0, max: 0, handle: handleRemoveRaftVoter},
		{key: kmsg.DescribeCluster, min: 0, max: 2, handle: handleDescribeCluster},
		{key: kmsg.ListConfigResources, min: 0, max: 1, handle: handleListConfigResources},
		{key: kmsg.DescribeTopicPartitions, min: 0, max: 0, handle: handleDescribeTopicPartitions},
		{key: kmsg.AlterReplicaLogDirs, min: 1, max: 2, handle: handleAlterReplicaLogDirs},
		{key: kmsg.DescribeLogDirs, min: 1, max: 5, handle: handleDescribeLogDirs},
		{key: kmsg.DescribeProducers, min: 0, max: 0, handle: handleDescribeProducers},
		{key: kmsg.OffsetCommit, min: 2, max: 10, handle: handleOffsetCommit},
		{key: kmsg.OffsetFetch, min: 1, max: 10, handle: handleOffsetFetch},
		{key: kmsg.FindCoordinator, min: 0, max: 6, handle: handleFindCoordinator},
		{key: kmsg.JoinGroup, min: 0, max: 9, handle: handleJoinGroup},
		{key: kmsg.Heartbeat, min: 0, max: 4, handle: handleHeartbeat},
		{key: kmsg.LeaveGroup, min: 0, max: 5, handle: handleLeaveGroup},
		{key: kmsg.SyncGroup, min: 0, max: 5, handle: handleSyncGroup},
		{key: kmsg.DescribeGroups, min: 0, max: 6, handle: handleDescribeGroups},
		{key: kmsg.ListGroups, min: 0, max: 5, handle: handleListGroups},
		{key: kmsg.DeleteGroups, min: 0, max: 3, handle: handleDeleteGroups},
		{key: kmsg.OffsetDelete, min: 0, max: 0, handle: handleOffsetDelete},
		{key: kmsg.UnregisterBroker, min: 0, max: 0, handle: handleUnregisterBroker},
		{key: kmsg.UpdateFeatures, min: 0, max: 2, handle: handleUpdateFeatures},
	}
}
