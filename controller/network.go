package controller

import (
	"context"
	"net"
)

// Network reaches the controller listeners of other nodes. Tests put one in memory in its place.
type Network interface {
	// Dial connects to the controller listener at host:port.
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// TCP is the Network of plaintext controller listeners.
type TCP struct{}

// Dial implements Network.
func (TCP) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}
