package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/handlers"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// forwarder sends requests to other nodes' controller listeners; it implements controller.Forwarder. A broker
// keeps up to three connections to the active controller: replies leave in the order of requests, so that heartbeats
// must not wait behind clients' requests, nor those behind changes of the quorum, which take long.
type forwarder struct {
	clock    clock.Clock
	clientID string
	timeout  time.Duration
	// dial connects; nil means TCP.
	dial func(ctx context.Context, address string) (net.Conn, error)

	mu sync.Mutex
	// lines are the connections by what they are for; guarded by mu.
	lines map[lineKey]*line
	// closed refuses new ones; guarded by mu.
	closed bool
}

// lineKey is what a connection is for.
type lineKey struct {
	address string
	kind    lineKind
}

type lineKind int8

const (
	lineOwn lineKind = iota
	lineClients
	lineVoters
)

// line is a connection that is made when it is first needed.
type line struct {
	// dialing is held while the connection is made.
	dialing turn
	client  *wire.Client // guarded by dialing
}

// newForwarder makes a forwarder; timeout bounds dialling.
func newForwarder(c clock.Clock, nodeID int32, timeout time.Duration, dial func(context.Context, string) (net.Conn, error)) *forwarder {
	return &forwarder{clock: c, clientID: fmt.Sprintf("node-%d", nodeID), timeout: timeout, dial: dial, lines: map[lineKey]*line{}}
}

// Forward implements controller.Forwarder.
func (f *forwarder) Forward(ctx context.Context, address string, client *controller.Client, req kmsg.Request) (controller.Forwarded, error) {
	none := controller.Forwarded{Offset: -1}
	own := client == nil && handlers.OwnRequest(req)
	kind := lineClients
	switch req.(type) {
	case *kmsg.AddRaftVoterRequest, *kmsg.RemoveRaftVoterRequest:
		kind = lineVoters
	default:
		if own {
			kind = lineOwn
		}
	}
	c, err := f.connect(ctx, lineKey{address, kind})
	if err != nil {
		return none, fmt.Errorf("controller at %s: %w", address, errors.Join(err, controller.ErrNotTaken))
	}
	sent := req
	if !own {
		sent = handlers.SealEnvelope(client, req)
	}
	resp, err := c.Request(ctx, sent)
	if err != nil {
		return none, fmt.Errorf("controller at %s: %w", address, err)
	}
	if e, ok := resp.(*kmsg.EnvelopeResponse); ok && !own {
		return handlers.OpenEnvelopeResponse(e, req)
	}
	if err := handlers.FailureOf(resp); err != nil {
		return none, err
	}
	return controller.Forwarded{Response: resp, Offset: -1}, nil
}

var errForwarderClosed = kerror.New(kerr.NotController, "the node is stopping")

// connect returns a living connection. A connection that died is replaced, also by callers that come
// while another one dials.
func (f *forwarder) connect(ctx context.Context, key lineKey) (*wire.Client, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, errForwarderClosed
	}
	l := f.lines[key]
	if l == nil {
		l = &line{dialing: newTurn()}
		f.lines[key] = l
	}
	f.mu.Unlock()
	if err := l.dialing.take(ctx); err != nil {
		return nil, err
	}
	defer l.dialing.give()
	if l.client != nil {
		select {
		case <-l.client.Done():
			l.client = nil
		default:
			return l.client, nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.clock.AfterFunc(f.timeout, cancel).Stop() // However long the request may take.
	c, err := wire.Dial(ctx, wire.ClientConfig{Address: key.address, ClientID: f.clientID, Clock: f.clock, Timeout: f.timeout, Dial: f.dial})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	closed := f.closed
	f.mu.Unlock()
	if closed {
		return nil, errors.Join(errForwarderClosed, c.Close())
	}
	l.client = c
	return c, nil
}

// close ends all connections; requests that wait fail.
func (f *forwarder) close() error {
	f.mu.Lock()
	f.closed = true
	lines := f.lines
	f.lines = nil
	f.mu.Unlock()
	var err error
	for _, l := range lines {
		l.dialing.wait()
		if l.client != nil {
			err = errors.Join(err, l.client.Close())
		}
		l.dialing.give()
	}
	return err
}
