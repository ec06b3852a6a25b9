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
}

// apis is the list of what is served on a broker listener, by key.
func apis() []api {
	return []api{
		{kmsg.Produce, 0, 13, handleProduce},
		{kmsg.Fetch, 4, 18, handleFetch},
		{kmsg.ListOffsets, 1, 11, handleListOffsets},
		{kmsg.Metadata, 0, 13, handleMetadata},
		{kmsg.ApiVersions, 0, 5, handleApiVersions},
		{kmsg.CreateTopics, 2, 7, handleCreateTopics},
		{kmsg.DeleteTopics, 1, 6, handleDeleteTopics},
		{kmsg.DeleteRecords, 0, 2, handleDeleteRecords},
		{kmsg.InitProducerID, 0, 5, handleInitProducerID},
		{kmsg.OffsetForLeaderEpoch, 2, 4, handleOffsetForLeaderEpoch},
		{kmsg.DescribeACLs, 1, 3, handleDescribeACLs},
		{kmsg.DescribeConfigs, 1, 4, handleDescribeConfigs},
		{kmsg.AlterConfigs, 0, 2, handleAlterConfigs},
		{kmsg.CreatePartitions, 0, 3, handleCreatePartitions},
		{kmsg.ElectLeaders, 0, 2, handleElectLeaders},
		{kmsg.IncrementalAlterConfigs, 0, 1, handleIncrementalAlterConfigs},
		{kmsg.AlterPartitionAssignments, 0, 1, handleAlterPartitionReassignments},
		{kmsg.ListPartitionReassignments, 0, 0, handleListPartitionReassignments},
		{kmsg.DescribeClientQuotas, 0, 1, handleDescribeClientQuotas},
		{kmsg.DescribeUserSCRAMCredentials, 0, 0, handleDescribeUserSCRAMCredentials},
		{kmsg.DescribeQuorum, 0, 2, handleDescribeQuorum},
		{kmsg.AddRaftVoter, 0, 1, handleAddRaftVoter},
		{kmsg.RemoveRaftVoter, 0, 0, handleRemoveRaftVoter},
		{kmsg.DescribeCluster, 0, 2, handleDescribeCluster},
		{kmsg.ListConfigResources, 0, 1, handleListConfigResources},
		{kmsg.DescribeTopicPartitions, 0, 0, handleDescribeTopicPartitions},
		{kmsg.AlterReplicaLogDirs, 1, 2, handleAlterReplicaLogDirs},
		{kmsg.DescribeLogDirs, 1, 5, handleDescribeLogDirs},
		{kmsg.DescribeProducers, 0, 0, handleDescribeProducers},
		{kmsg.OffsetCommit, 2, 10, handleOffsetCommit},
		{kmsg.OffsetFetch, 1, 10, handleOffsetFetch},
		{kmsg.FindCoordinator, 0, 6, handleFindCoordinator},
		{kmsg.JoinGroup, 0, 9, handleJoinGroup},
		{kmsg.Heartbeat, 0, 4, handleHeartbeat},
		{kmsg.LeaveGroup, 0, 5, handleLeaveGroup},
		{kmsg.SyncGroup, 0, 5, handleSyncGroup},
		{kmsg.DescribeGroups, 0, 6, handleDescribeGroups},
		{kmsg.ListGroups, 0, 5, handleListGroups},
		{kmsg.DeleteGroups, 0, 3, handleDeleteGroups},
		{kmsg.OffsetDelete, 0, 0, handleOffsetDelete},
		{kmsg.UnregisterBroker, 0, 0, handleUnregisterBroker},
		{kmsg.UpdateFeatures, 0, 2, handleUpdateFeatures},
	}
}
