// Package classic is one group of the classic protocol (JoinGroup, SyncGroup, Heartbeat, LeaveGroup)
// as a pure machine, after Kafka 4.4's ClassicGroup and GroupMetadataManager.
//
// What is durable (generation, protocol, leader, members with their assignments) changes in Apply
// only, which takes the group's metadata record, live and while loading. What isn't in the log (the
// state of a rebalance, parked requests, members that are still joining) dies with the shard; the
// members find out by heartbeat and join again.
//
// Methods add what they want done to a machine.Result.
package classic
