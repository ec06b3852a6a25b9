package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// peers is this broker's connections to others: one for each of their users, made when it is first
// needed and again after it died or the other broker moved.
type peers struct {
	// image tells where brokers are reached, by the listener for brokers among themselves.
	image    func() *image.Image
	listener string
	conns    *connections[peerKey]
}

// peerKey tells connections to the same broker apart.
type peerKey struct {
	broker int32
	user   int
}

var errPeersClosed = errors.New("this broker is stopping")

// Fetch implements replica.Peers.
func (p *peers) Fetch(ctx context.Context, broker int32, fetcher int, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	return requestPeer[*kmsg.FetchResponse](ctx, p, peerKey{broker, fetcher}, req)
}

// ListOffsets implements replica.Peers.
func (p *peers) ListOffsets(ctx context.Context, broker int32, fetcher int, req *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error) {
	return requestPeer[*kmsg.ListOffsetsResponse](ctx, p, peerKey{broker, fetcher}, req)
}

// requestPeer sends a request over a connection. A request that was given up takes its connection with it, since the
// other broker answers in order.
func requestPeer[R kmsg.Response](ctx context.Context, p *peers, key peerKey, req kmsg.Request) (R, error) {
	var none R
	client, err := p.connect(ctx, key)
	if err != nil {
		return none, fmt.Errorf("connect to broker %d: %w", key.broker, err)
	}
	resp, err := client.Request(ctx, req)
	if err != nil {
		_ = client.Close() // The error of the request is what counts.
		return none, fmt.Errorf("ask broker %d: %w", key.broker, err)
	}
	return resp.(R), nil
}

// connect returns the connection to where the broker is now.
func (p *peers) connect(ctx context.Context, key peerKey) (*wire.Client, error) {
	b := p.image().Broker(key.broker)
	if b == nil {
		return nil, errors.New("it is not registered")
	}
	e, ok := b.Listener(p.listener)
	if !ok {
		return nil, fmt.Errorf("it has no listener %s", p.listener)
	}
	return p.conns.to(ctx, key, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
}

// close ends all connections; requests under way fail.
func (p *peers) close() {
	_ = p.conns.close() // Nothing is on its way that anybody waits for.
}
