package controller

import (
	"context"
	"errors"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handle runs a request on the active controller, wherever it is, and returns its response once the change is
// committed and this node's subscribers have seen it. The client that asks is that of ctx (WithClient).
//
// A request that wasn't taken, because the active controller moved or can't be reached, is sent again until ctx ends. One
// that may have been taken is sent again only if it is idempotent; else the error is NOT_CONTROLLER, and the change may
// have happened or still happen. The error is REQUEST_TIMED_OUT if ctx ends first (before Start has ended, requests wait), and
// UNSUPPORTED_VERSION for a request that the controller doesn't answer. Handle takes req.
func (c *Controller) Handle(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	if c.cfg.Network == nil {
		f, err := c.HandleHere(ctx, req)
		return f.Response, err
	}
	for {
		f, err := c.try(ctx, req)
		if err == nil {
			c.awaitOffset(ctx, f.Offset)
			return f.Response, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, timedOut(ctx)
		case !errors.Is(err, ErrNotTaken) && !(c.transient(err) && idempotent(req)):
			return nil, err
		}
		if err := c.pause(ctx, c.timeouts.retry); err != nil {
			if ctx.Err() != nil {
				return nil, timedOut(ctx)
			}
			return nil, kerror.Wrap(kerr.NotController, err)
		}
	}
}

// transient tells that another attempt may do better.
func (c *Controller) transient(err error) bool { return errors.Is(err, kerr.NotController) }

// try runs a request once, here or where the active controller is believed to be.
func (c *Controller) try(ctx context.Context, req kmsg.Request) (Forwarded, error) {
	if c.mayBeActive() {
		return c.HandleHere(ctx, req)
	}
	id, address := c.leader()
	if address == "" || id == c.cfg.NodeID {
		return Forwarded{}, kerror.Wrap(kerr.NotController, ErrNotTaken)
	}
	attempt := ctx
	if idempotent(req) {
		// A connection to a node that went away without a word would hold the request up for as long as
		// ctx allows.
		var cancel context.CancelCauseFunc
		attempt, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := c.cfg.Clock.AfterFunc(c.timeouts.request, func() { cancel(context.DeadlineExceeded) })
		defer timer.Stop()
	}
	f, err := c.cfg.Forwarder.Forward(attempt, address, ClientOf(ctx), req)
	if err == nil {
		if r, ok := f.Response.(*kmsg.BrokerRegistrationResponse); ok {
			f.Offset = max(f.Offset, r.BrokerEpoch) // An epoch is the offset of its record.
		}
		return f, nil
	}
	if kerror.CodeOf(err) != kerr.UnknownServerError.Code && !errors.Is(err, kerr.NotController) {
		return f, err
	}
	// Who isn't active says so; whoever doesn't answer is perhaps no more.
	c.follower.forget(address)
	if errors.Is(err, ErrNotTaken) {
		return f, err
	}
	return f, kerror.Wrap(kerr.NotController, err)
}

// mayBeActive tells that a request should be tried here: this node is the active controller or about to be.
func (c *Controller) mayBeActive() bool {
	n := c.raft.Load()
	return n != nil && n.State() == raft.Leader
}

// idempotent tells that a request may be sent twice: the broker's own, which carry what makes a repeat
// known, and those that only read.
func idempotent(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.BrokerRegistrationRequest, *kmsg.BrokerHeartbeatRequest, *kmsg.AlterPartitionRequest, *kmsg.AllocateProducerIDsRequest,
		*kmsg.AssignReplicasToDirsRequest, *kmsg.ControllerRegistrationRequest, *kmsg.UpdateRaftVoterRequest,
		*kmsg.DescribeQuorumRequest, *kmsg.ListPartitionReassignmentsRequest:
		return true
	}
	return false
}

// awaitOffset waits until this node has what a response speaks of, so that its clients read what they
// wrote. A node that lags for longer than a request may take answers nevertheless.
func (c *Controller) awaitOffset(ctx context.Context, offset int64) {
	if offset < 0 {
		return
	}
	late, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	defer c.cfg.Clock.AfterFunc(c.timeouts.silence(), cancel).Stop()
	c.publisher.wait(offset, late.Done())
}

// HandleHere runs a request on this node only. Other nodes' requests come to it by the CONTROLLER listener. The
// error wraps NOT_CONTROLLER and ErrNotTaken if this node isn't the active controller, NOT_CONTROLLER alone if it
// stopped being it before the commit.
func (c *Controller) HandleHere(ctx context.Context, req kmsg.Request) (Forwarded, error) {
	if c.members.handles(req) {
		return c.members.handle(ctx, req)
	}
	cmd := &command{req: req, done: make(chan result, 1)}
	select {
	case c.loop.mailbox <- cmd:
	case <-ctx.Done():
		return Forwarded{}, timedOut(ctx)
	case <-c.dead:
		return Forwarded{}, kerror.Wrap(kerr.NotController, errors.Join(ErrNotTaken, c.err))
	}
	select {
	case r := <-cmd.done:
		return Forwarded{Response: r.resp, Offset: r.offset}, r.err
	case <-ctx.Done():
		return Forwarded{}, timedOut(ctx)
	case <-c.loop.done:
	}
	// The loop and the completer have ended; the answer, if there is one, is there.
	select {
	case r := <-cmd.done:
		return Forwarded{Response: r.resp, Offset: r.offset}, r.err
	default:
		return Forwarded{}, kerror.Wrap(kerr.NotController, c.err)
	}
}
