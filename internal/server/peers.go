package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// peers is this broker's connections to others: one for each of their users, made when it is first
// needed and again after it died or the other broker moved.
type peers struct {
	clock clock.Clock
	// image tells where brokers are reached, by the listener for brokers among themselves.
	image    func() *image.Image
	listener string
	clientID string
	// timeout bounds dialling and each request (replica.socket.timeout.ms).
	timeout time.Duration
	// dial connects; nil means TCP.
	dial func(ctx context.Context, address string) (net.Conn, error)

	mu     sync.Mutex
	conns  map[peerKey]*peer // guarded by mu
	closed bool              // guarded by mu
}

// peerKey tells connections to the same broker apart.
type peerKey struct {
	broker int32
	user   int
}

// peer is one connection, or the place for one.
type peer struct {
	dialing turn // held while the connection is made; guards the rest
	address string
	client  *wire.Client
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
	at, err := p.at(key)
	if err != nil {
		return none, err
	}
	client, err := at.connect(ctx, p, key.broker)
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

func (p *peers) at(key peerKey) (*peer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errPeersClosed
	}
	at := p.conns[key]
	if at == nil {
		at = &peer{dialing: newTurn()}
		p.conns[key] = at
	}
	return at, nil
}

// connect returns the connection to where the broker is now.
func (at *peer) connect(ctx context.Context, p *peers, broker int32) (*wire.Client, error) {
	b := p.image().Broker(broker)
	if b == nil {
		return nil, errors.New("it is not registered")
	}
	e, ok := b.Listener(p.listener)
	if !ok {
		return nil, fmt.Errorf("it has no listener %s", p.listener)
	}
	address := net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
	if err := at.dialing.take(ctx); err != nil {
		return nil, err
	}
	defer at.dialing.give()
	if at.client != nil {
		select {
		case <-at.client.Done():
		default:
			if at.address == address {
				return at.client, nil
			}
			_ = at.client.Close() // The broker isn't there any more.
		}
	}
	client, err := wire.Dial(ctx, wire.ClientConfig{Address: address, ClientID: p.clientID, Clock: p.clock, Timeout: p.timeout, Dial: p.dial,
		ReuseFetches: true}) // Each fetcher has a connection of its own, and one fetch at a time.
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		_ = client.Close() // Nobody has used it.
		return nil, errPeersClosed
	}
	at.address, at.client = address, client
	return client, nil
}

// close ends all connections; requests under way fail.
func (p *peers) close() {
	p.mu.Lock()
	p.closed = true
	conns := p.conns
	p.conns = nil
	p.mu.Unlock()
	for _, at := range conns {
		at.dialing.wait()
		if at.client != nil {
			_ = at.client.Close() // Nothing is on its way that anybody waits for.
		}
		at.dialing.give()
	}
}
