package controller

import (
	"context"
	"errors"
	"net/netip"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Forwarder sends Kafka requests to other nodes' controller listeners; internal/server fills it with
// wire.Forwarder. It is called from many goroutines.
type Forwarder interface {
	// Forward sends req to the controller at address (host:port) and waits for the response. client
	// is who asks for it, nil for the node's own requests: a client's request travels in an Envelope.
	//
	// An error that wraps ErrNotTaken says that the request can't have had an effect. The error of a
	// controller that isn't active is NOT_CONTROLLER, in both forms.
	Forward(ctx context.Context, address string, client *Client, req kmsg.Request) (Forwarded, error)
}

// Forwarded is a response with what the image must hold before it is told on.
type Forwarded struct {
	Response kmsg.Response
	// Offset is the metadata offset up to which the response speaks; -1 where unknown.
	Offset int64
}

// ErrNotTaken is wrapped by errors of requests that certainly had no effect, so that they may be sent again.
var ErrNotTaken = errors.New("the request wasn't taken")

// Client is who a request comes from, as an Envelope tells it.
type Client struct {
	// Principal is Kafka's serialised principal; see wire.AppendPrincipal.
	Principal []byte
	// Address is the client's address.
	Address netip.Addr
}

type clientKey struct{}

// WithClient returns a context whose requests are made for a client.
func WithClient(ctx context.Context, c *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf is the client that a request is made for; nil for the node's own.
func ClientOf(ctx context.Context) *Client {
	c, _ := ctx.Value(clientKey{}).(*Client)
	return c
}
