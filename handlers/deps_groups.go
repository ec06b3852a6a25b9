package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Groups is what the handlers need of the group coordinator: everything about groups and their
// offsets whose coordinator is this broker, and where the others are.
type Groups interface {
	// Coordinator names the broker that coordinates the group: the leader of the group's partition
	// of __consumer_offsets, which is created first if there is none. It may block for the creation.
	// Errors: COORDINATOR_NOT_AVAILABLE, and INVALID_GROUP_ID for an empty id.
	Coordinator(ctx context.Context, group string) (nodeID int32, err error)

	// Handle runs one request and calls done exactly once with its response, at once or much later
	// (a JoinGroup waits for the other members), on any goroutine; done must not block. The request's
	// strings and byte slices are borrowed until done is called. clientID is the client.id of the
	// request header, empty if it had none; clientHost the client's address as Kafka writes it in
	// descriptions of members, "/127.0.0.1".
	//
	// It takes JoinGroup, SyncGroup, Heartbeat, LeaveGroup, DescribeGroups, ListGroups, DeleteGroups,
	// OffsetCommit, OffsetFetch and OffsetDelete. Topics of offset requests are given by name, with
	// their id where it is known; resolving ids is the handler's work. OffsetFetch uses Groups and
	// LeaveGroup Members whatever the version.
	Handle(clientID, clientHost string, req kmsg.Request, done func(kmsg.Response))
}
