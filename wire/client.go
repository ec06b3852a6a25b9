package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ClientConfig is what a Client needs.
type ClientConfig struct {
	Address  string
	ClientID string
	// Clock times requests out.
	Clock clock.Clock
	// Timeout bounds dialling, and each request whose context has no deadline; 0 means 30 s.
	Timeout time.Duration
	// MaxResponseBytes bounds a response frame; 0 means 100 MiB.
	MaxResponseBytes int
	// TLS is set to talk TLS.
	TLS *tls.Config
}

// Client sends requests to one broker over one connection; requests are pipelined and responses
// matched by correlation id. It is safe for concurrent use. It doesn't reconnect: after an error
// that isn't the request's own, all calls fail and the owner dials anew.
type Client struct{}

// Dial connects to a broker.
func Dial(ctx context.Context, cfg ClientConfig) (*Client, error) { return nil, errors.New("not built") }

// Request sends req at its version and waits for its response. A context that ends abandons the
// wait and leaves the connection usable.
func (c *Client) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return nil, errors.New("not built")
}

// Close ends the connection; pending calls fail.
func (c *Client) Close() error { return nil }

// Done is closed once the connection has died.
func (c *Client) Done() <-chan struct{} { return nil }
