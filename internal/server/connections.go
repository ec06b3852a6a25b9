package server

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/wire"
)

// connections are this node's connections to others, one for each key: made when it is first needed, and again
// after it died or the other node moved. Who waits for one that is being made gives up with its context.
type connections[K comparable] struct {
	// config is that of all clients, but for their addresses and TLS; its Timeout bounds dialling, too.
	config wire.ClientConfig
	// secure holds the TLS configuration of new connections, nil for plaintext.
	secure *atomic.Pointer[tls.Config]
	// closing is the error after close.
	closing error

	mu     sync.Mutex
	places map[K]*connection // guarded by mu
	closed bool              // guarded by mu
}

// connection is the place for one connection.
type connection struct {
	dialing turn // held while the connection is made; guards the rest
	address string
	client  *wire.Client
}

func newConnections[K comparable](config wire.ClientConfig, secure *atomic.Pointer[tls.Config], closing error) *connections[K] {
	return &connections[K]{config: config, secure: secure, closing: closing, places: map[K]*connection{}}
}

// to returns a living connection to an address.
func (c *connections[K]) to(ctx context.Context, key K, address string) (*wire.Client, error) {
	at, err := c.place(key)
	if err != nil {
		return nil, err
	}
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
			_ = at.client.Close() // The node isn't there any more.
		}
		at.client = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.config.Clock.AfterFunc(c.config.Timeout, cancel).Stop() // However long the request may take.
	config := c.config
	config.Address, config.TLS = address, c.secure.Load()
	client, err := wire.Dial(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := c.place(key); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	at.address, at.client = address, client
	return client, nil
}

func (c *connections[K]) place(key K) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, c.closing
	}
	at := c.places[key]
	if at == nil {
		at = &connection{dialing: newTurn()}
		c.places[key] = at
	}
	return at, nil
}

// close ends all connections; requests under way fail.
func (c *connections[K]) close() error {
	c.mu.Lock()
	c.closed = true
	places := c.places
	c.places = nil
	c.mu.Unlock()
	var err error
	for _, at := range places {
		at.dialing.wait()
		if at.client != nil {
			err = errors.Join(err, at.client.Close())
		}
		at.dialing.give()
	}
	return err
}
