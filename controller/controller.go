// Package controller keeps the cluster's metadata: it decides on administrative requests, has
// their records replicated by raft and publishes the image that results.
//
// Goroutines, all started by Start and awaited by Close: the loop, which owns the speculative image
// and is the only one to decide; the completer, which answers requests once their records are
// committed and published; the publisher, which calls subscribers in order; and raft's own. Raft's
// state machine goroutine replays records and swaps the pointer that Image reads; nothing else
// changes what others see. Package decide holds the decisions, package image the state.
package controller

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Config is what a Controller is made of.
type Config struct {
	// NodeID is this node's node.id.
	NodeID int32
	// Settings are the node's static settings; dynamic ones are taken from the image.
	Settings *config.Broker
	// ClusterID is used when this node bootstraps a new cluster; empty means a random one. Set where
	// the log directories already belong to a cluster.
	ClusterID string
	// Endpoint is where this node's controller is reached, as DescribeQuorum tells it.
	Endpoint image.Endpoint
	// DirectoryID is the id of the directory that holds the stores; may be zero.
	DirectoryID image.ID

	// Stores opens what raft keeps; see DiskStores and MemoryStores.
	Stores StoreFactory
	// Transport connects the voters; nil for a quorum of one.
	Transport TransportFactory

	Logger *slog.Logger
	Clock  clock.Clock
	// Rand places replicas and makes ids; the controller's loop alone uses it.
	Rand *rand.Rand
	// OnFatal is called, at most once and on a goroutine that must not wait for Close, when this node
	// can't go on: a record it doesn't know, or a store that failed. May be nil.
	OnFatal func(error)
}

// Subscriber is told of every committed change, in order, on one goroutine. The first call brings
// everything that is known at start, with an empty old image. It may block, which holds up replies,
// but must not wait for a request to the controller.
type Subscriber func(old, new *image.Image, delta *image.Delta)

// Controller is this node's part of the metadata quorum.
type Controller struct {
	cfg    Config
	logger *slog.Logger

	image atomic.Pointer[image.Image]

	raft      *raftNode
	publisher *publisher
	loop      *loop

	// dead is closed when the controller can't serve any more; err says why and is set before.
	dead     chan struct{}
	deadOnce sync.Once
	err      error

	closeOnce sync.Once
	// closeErr is what the first Close returned.
	closeErr error
}

// New returns a controller that isn't started yet.
func New(cfg Config) (*Controller, error) {
	switch {
	case cfg.Settings == nil, cfg.Stores == nil, cfg.Logger == nil, cfg.Clock == nil, cfg.Rand == nil:
		return nil, errors.New("controller: Settings, Stores, Logger, Clock and Rand are needed")
	}
	if cfg.Transport == nil {
		cfg.Transport = LoopbackTransport
	}
	c := &Controller{cfg: cfg, logger: cfg.Logger, dead: make(chan struct{})}
	c.image.Store(image.Empty())
	c.publisher = newPublisher()
	c.loop = newLoop(c)
	return c, nil
}

// Start opens the stores, starts raft and returns once the image is loaded, subscribers have seen
// it and this node is the active controller of a bootstrapped cluster. After an error nothing is
// left running.
func (c *Controller) Start(ctx context.Context) error {
	c.publisher.start()
	node, err := startRaft(c.cfg, &fsm{controller: c}, c.loop.leadership)
	if err != nil {
		c.publisher.stop()
		return err
	}
	c.raft = node
	c.loop.start()
	select {
	case <-c.loop.ready:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.dead:
		err = c.err
	}
	return errors.Join(err, c.Close())
}

// Close stops raft and waits for all goroutines. Requests that wait are answered NOT_CONTROLLER. It may be
// called again, also after a Start that failed.
func (c *Controller) Close() error {
	c.closeOnce.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Controller) close() error {
	c.kill(errClosed)
	if c.raft == nil {
		return nil
	}
	err := c.raft.shutdown()
	c.loop.stop()
	c.publisher.stop()
	return errors.Join(err, c.raft.closeStores())
}

var errClosed = errors.New("controller is closed")

// kill marks the controller dead; only the first reason counts.
func (c *Controller) kill(reason error) {
	c.deadOnce.Do(func() {
		c.err = reason
		close(c.dead)
	})
}

// fail is kill for what must stop the node.
func (c *Controller) fail(reason error) {
	select {
	case <-c.dead:
		return
	default:
	}
	c.logger.Error("cluster metadata can't be kept, stopping", "error", reason)
	c.kill(reason)
	if c.cfg.OnFatal != nil {
		go c.cfg.OnFatal(reason)
	}
}

// Image is the newest committed image; never nil.
func (c *Controller) Image() *image.Image { return c.image.Load() }

// Subscribe adds a subscriber. Subscribers are called in the order in which they were added.
// Requires: Start wasn't called yet.
func (c *Controller) Subscribe(s Subscriber) { c.publisher.subscribe(s) }

// Handle runs a request on the active controller and returns its response once the change is
// committed and every subscriber of this node has seen it. The error is NOT_CONTROLLER if this node
// isn't the active controller or stops being it before the commit (the change may then still
// happen), REQUEST_TIMED_OUT if ctx ends first (before Start has ended, requests wait), and UNSUPPORTED_VERSION for a request that the
// controller doesn't answer. Handle takes req.
func (c *Controller) Handle(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	cmd := &command{req: req, done: make(chan result, 1)}
	select {
	case c.loop.mailbox <- cmd:
	case <-ctx.Done():
		return nil, timedOut(ctx)
	case <-c.dead:
		return nil, kerror.Wrap(kerr.NotController, c.err)
	}
	select {
	case r := <-cmd.done:
		return r.resp, r.err
	case <-ctx.Done():
		return nil, timedOut(ctx)
	case <-c.loop.done:
	}
	// The loop and the completer have ended; the answer, if there is one, is there.
	select {
	case r := <-cmd.done:
		return r.resp, r.err
	default:
		return nil, kerror.Wrap(kerr.NotController, c.err)
	}
}

func timedOut(ctx context.Context) error {
	return kerror.Wrap(kerr.RequestTimedOut, context.Cause(ctx))
}

// now is the time that decisions see.
func (c *Controller) now() time.Time { return c.cfg.Clock.Now() }
