package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
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
type forwarder struct{ lines *connections[lineKey] }

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

// newForwarder makes a forwarder; timeout bounds dialling. dial connects; nil means TCP. secure holds the TLS
// configuration, nil for plaintext.
func newForwarder(c clock.Clock, nodeID int32, timeout time.Duration, dial func(context.Context, string) (net.Conn, error), secure *atomic.Pointer[tls.Config]) *forwarder {
	return &forwarder{newConnections[lineKey](wire.ClientConfig{
		ClientID: fmt.Sprintf("node-%d", nodeID), Clock: c, Timeout: timeout, Dial: dial,
	}, secure, errForwarderClosed)}
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
	c, err := f.lines.to(ctx, lineKey{address, kind}, address)
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

// close ends all connections; requests that wait fail.
func (f *forwarder) close() error { return f.lines.close() }
