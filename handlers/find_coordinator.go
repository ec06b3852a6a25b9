package handlers

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Types of coordinators.
const (
	coordinatorGroup = 0
	coordinatorTxn   = 1
	coordinatorShare = 2
)

// internalTopicTimeout bounds how long a FindCoordinator waits for the internal topic that it is
// the first to need.
const internalTopicTimeout = 5 * time.Second

// FindCoordinator, versions 0 to 6.
//
//	1  type of coordinator, error message
//	4  many keys (KIP-699)
//	6  share coordinator (KIP-932)
//
// Kafka answers COORDINATOR_NOT_AVAILABLE while it creates the internal topic; here the answer waits
// for it, which spares clients a round of their backoff.
func handleFindCoordinator(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.FindCoordinatorRequest)
	ctx, cancel := context.WithTimeout(context.Background(), internalTopicTimeout)
	defer cancel()
	r.OnClose(cancel)
	resp := kmsg.NewPtrFindCoordinatorResponse()
	if r.Version >= 4 {
		for _, key := range req.CoordinatorKeys {
			resp.Coordinators = append(resp.Coordinators, findCoordinator(ctx, d, r, req.CoordinatorType, key))
		}
		r.Reply(resp)
		return
	}
	c := findCoordinator(ctx, d, r, req.CoordinatorType, req.CoordinatorKey)
	resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = c.ErrorCode, c.NodeID, c.Host, c.Port
	message := "NONE"
	if err := kerr.TypedErrorForCode(c.ErrorCode); err != nil {
		message = err.Description
		if c.ErrorMessage != nil && *c.ErrorMessage != "" {
			message = *c.ErrorMessage
		}
	}
	resp.ErrorMessage = &message
	r.Reply(resp)
}

func findCoordinator(ctx context.Context, d *Deps, r *wire.Request, kind int8, key string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = key, -1, -1
	empty := ""
	c.ErrorMessage = &empty
	fail := func(err error) kmsg.FindCoordinatorResponseCoordinator {
		c.ErrorCode = kerror.CodeOf(err)
		if message := kerror.MessageOf(err); message != nil {
			c.ErrorMessage = message
		}
		return c
	}
	switch kind {
	case coordinatorGroup:
	case coordinatorTxn:
		// An error that clients don't retry, so that they don't wait for what won't come.
		return fail(kerror.New(kerr.UnsupportedVersion, "Transactions are not served by this broker."))
	case coordinatorShare:
		if r.Version < 6 || !isShareKey(key) {
			return fail(kerr.InvalidRequest)
		}
		return fail(kerror.New(kerr.UnsupportedVersion, "Share groups are not served by this broker."))
	default:
		return fail(kerror.New(kerr.InvalidRequest, "%s", kerr.InvalidRequest.Description))
	}
	nodeID, err := d.Groups.Coordinator(ctx, key)
	if err != nil {
		return fail(err)
	}
	host, port, ok := d.reach(r, d.Image().Broker(nodeID))
	if !ok {
		return fail(kerr.CoordinatorNotAvailable)
	}
	c.NodeID, c.Host, c.Port = nodeID, host, port
	return c
}

// isShareKey tells whether key is "group:topic id:partition".
func isShareKey(key string) bool {
	parts := strings.Split(key, ":")
	if len(parts) != 3 || parts[0] == "" {
		return false
	}
	if _, err := uuid.Parse(parts[1]); err != nil {
		return false
	}
	_, err := strconv.ParseInt(parts[2], 10, 32)
	return err == nil
}
