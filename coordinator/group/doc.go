// Package group is the group coordinator's machine over one partition of __consumer_offsets: its
// groups (package classic) and their committed offsets. It picks the group for a request and does
// what concerns offsets; it knows no topic but by name, and nothing of the cluster.
//
// Records are Kafka's own (OffsetCommitKey/Value, GroupMetadataKey/Value), so stock tools read the
// topic and Kafka's can be taken over.
package group
