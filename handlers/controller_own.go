package handlers

import (
	"context"
	"errors"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handleOwn answers requests that brokers and controllers make for themselves, and those of tools to the quorum: the
// active controller does all of it. Many of them come by one connection, so that the next is started while
// this one waits for its commit.
func (d *Deps) handleOwn(a ActiveController, r *wire.Request) {
	r.Proceed()
	go func() {
		defer d.guard(r)
		ctx, cancel := context.WithTimeout(context.Background(), maxForward)
		defer cancel()
		r.OnClose(cancel)
		if beat, ok := r.Body.(*kmsg.BrokerHeartbeatRequest); ok && !beat.WantShutdown {
			broker, epoch := beat.BrokerID, beat.BrokerEpoch
			r.Session.AtEnd("broker", func() { a.BrokerDisconnected(broker, epoch) })
		}
		f, err := a.HandleHere(ctx, r.Body)
		if err != nil {
			f.Response = r.Body.ResponseKind()
			setFailure(f.Response, err)
		}
		r.Reply(f.Response)
	}()
}

// setFailure puts an error into the response of a request of nodes. The quorum's own requests name a controller that isn't
// active NOT_LEADER_OR_FOLLOWER, as Kafka's raft does.
func setFailure(resp kmsg.Response, err error) {
	code, message := kerror.CodeOf(err), kerror.MessageOf(err)
	quorumCode := code
	if errors.Is(err, kerr.NotController) {
		quorumCode = kerr.NotLeaderForPartition.Code
	}
	switch resp := resp.(type) {
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = code
	case *kmsg.BrokerRegistrationResponse:
		resp.ErrorCode, resp.BrokerEpoch = code, -1
	case *kmsg.BrokerHeartbeatResponse:
		resp.ErrorCode, resp.IsFenced = code, true
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = code, message
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = code
	case *kmsg.ControllerRegistrationResponse:
		resp.ErrorCode, resp.ErrorMessage = code, message
	case *kmsg.AssignReplicasToDirsResponse:
		resp.ErrorCode = code
	case *kmsg.DescribeQuorumResponse:
		resp.ErrorCode, resp.ErrorMessage = quorumCode, message
	case *kmsg.AddRaftVoterResponse:
		resp.ErrorCode, resp.ErrorMessage = quorumCode, message
	case *kmsg.RemoveRaftVoterResponse:
		resp.ErrorCode, resp.ErrorMessage = quorumCode, message
	case *kmsg.UpdateRaftVoterResponse:
		resp.ErrorCode = quorumCode
	}
}

// FailureOf is the error of a response to a node's own request whose whole request failed for the controller's sake: it isn't
// active. Nil for all others, whose errors the node must see itself.
func FailureOf(resp kmsg.Response) error {
	var code int16
	switch resp := resp.(type) {
	case *kmsg.AlterPartitionResponse:
		code = resp.ErrorCode
	case *kmsg.BrokerRegistrationResponse:
		code = resp.ErrorCode
	case *kmsg.BrokerHeartbeatResponse:
		code = resp.ErrorCode
	case *kmsg.AllocateProducerIDsResponse:
		code = resp.ErrorCode
	case *kmsg.ControllerRegistrationResponse:
		code = resp.ErrorCode
	case *kmsg.AssignReplicasToDirsResponse:
		code = resp.ErrorCode
	case *kmsg.UpdateRaftVoterResponse:
		if code = resp.ErrorCode; code == kerr.NotLeaderForPartition.Code {
			code = kerr.NotController.Code
		}
	}
	if code == kerr.NotController.Code {
		return kerror.Wrap(kerr.NotController, errRemoteNotActive)
	}
	return nil
}

var errRemoteNotActive = errors.New("the node isn't the active controller")

// OwnRequest tells whether nodes send a request for themselves, and so without an Envelope.
func OwnRequest(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.AlterPartitionRequest, *kmsg.BrokerRegistrationRequest, *kmsg.BrokerHeartbeatRequest, *kmsg.AllocateProducerIDsRequest,
		*kmsg.ControllerRegistrationRequest, *kmsg.AssignReplicasToDirsRequest, *kmsg.UpdateRaftVoterRequest:
		return true
	}
	return false
}

var _ ActiveController = (*controller.Controller)(nil)
