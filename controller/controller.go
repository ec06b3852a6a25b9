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
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Subscriber is told of every committed change, in order, on one goroutine. The first call brings
// everything that is known at start, with an empty old image. It may block, which holds up replies,
// but must not wait for a request to the controller.
type Subscriber func(old, new *image.Image, delta *image.Delta)

// Controller is this node's part of the metadata quorum.
type Controller struct {
	cfg      Config
	timeouts timeouts
	logger   *slog.Logger
	// incarnation is new with every start of the process.
	incarnation image.ID
	// self is who this node is in the quorum; fixed once opened is set.
	self identity
	// foundedID is the cluster id that this node gives to a cluster which it founds; empty for a random one.
	foundedID string

	image atomic.Pointer[image.Image]
	// advancing keeps changes of image and what is published of them in one order.
	advancing sync.Mutex

	// raft is nil for a broker, and until raft was started; layer is nil for a broker and a quorum of one.
	raft  atomic.Pointer[raftNode]
	layer *streamLayer
	// opened tells that a controller's stores were read: self is fixed, and known tells whether they held a
	// quorum.
	opened, known atomic.Bool

	fsm       *fsm
	feed      *feed
	publisher *publisher
	loop      *loop
	streams   streams
	commits   *commits
	observers *observers
	follower  *follower
	members   *members
	active    activity
	// background ends with the controller; awaited by Close.
	background sync.WaitGroup

	// ready is closed when the image was complete for the first time.
	ready     chan struct{}
	readyOnce sync.Once

	// ctx ends when dead is closed.
	ctx    context.Context
	cancel context.CancelFunc
	// dead is closed when the controller can't serve any more; err says why and is set before.
	dead     chan struct{}
	deadOnce sync.Once
	err      error

	closeOnce sync.Once
	// closeErr is what the first Close returned.
	closeErr error
}

// New returns a controller that isn't started yet. Divert may be called from now on.
func New(cfg Config) (*Controller, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c := &Controller{
		cfg: cfg, timeouts: cfg.timeouts(), logger: cfg.Logger, incarnation: uuid.New(cfg.Rand.Uint64), foundedID: cfg.ClusterID,
		self: identity{node: cfg.NodeID, directory: cfg.DirectoryID},
		feed: newFeed(), publisher: newPublisher(), ready: make(chan struct{}), dead: make(chan struct{}),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.image.Store(image.Empty())
	c.fsm = newFSM(c)
	c.loop = newLoop(c)
	c.commits = newCommits(c)
	c.observers = newObservers(c)
	c.follower = newFollower(c)
	c.members = &members{c: c}
	if cfg.Network != nil && cfg.Role == RoleController {
		c.layer = newStreamLayer(c)
	}
	return c, nil
}

// Start opens the stores, starts raft and returns once the image is loaded and subscribers have seen
// it: on the active controller when the cluster is bootstrapped, on others when they have everything that
// was committed when they asked. After an error nothing is left running.
func (c *Controller) Start(ctx context.Context) error {
	c.publisher.start()
	if c.cfg.Role == RoleController {
		node, err := c.startRaft(ctx)
		if err != nil {
			c.kill(err)
			c.stopStreams()
			c.publisher.stop()
			return err
		}
		c.raft.Store(node)
	}
	c.loop.start()
	if c.cfg.Network != nil {
		c.background.Go(c.follower.run)
		if c.cfg.Role == RoleController {
			c.background.Go(c.members.join)
		}
	}
	var err error
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.dead:
		err = c.err
	}
	return errors.Join(err, c.Close())
}

// markReady shows the image to subscribers, once they can see it up to an offset, and lets Start return.
// False if that won't happen any more.
func (c *Controller) markReady(offset int64) bool {
	c.publisher.load()
	if !c.publisher.wait(offset, c.dead) {
		return false
	}
	c.readyOnce.Do(func() { close(c.ready) })
	return true
}

// advance moves the image on, if next is newer. delta tells what changed, if that is known.
func (c *Controller) advance(next *image.Image, delta *image.Delta) {
	c.advancing.Lock()
	defer c.advancing.Unlock()
	old := c.Image()
	if next.Offset() <= old.Offset() {
		return
	}
	if id := next.ClusterID(); c.cfg.ClusterID != "" && id != c.cfg.ClusterID {
		c.fail(&ClusterError{Ours: c.cfg.ClusterID, Theirs: id})
		return
	}
	if delta == nil || delta.Old != old {
		delta = image.Diff(old, next)
	}
	c.image.Store(next)
	c.publisher.publish(delta)
}

// Close stops raft and waits for all goroutines. Requests that wait are answered NOT_CONTROLLER. It may be
// called again, also after a Start that failed.
func (c *Controller) Close() error {
	c.closeOnce.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Controller) close() error {
	node := c.raft.Load()
	if node != nil {
		node.handOver(c.self.serverID())
	}
	c.kill(errClosed)
	if c.loop.started.Load() {
		// Before raft's shutdown, which forgets entries that are committed and not applied yet, and never answers
		// for them. It takes as long as a leader needs to notice that it isn't one any more.
		c.loop.stop()
		c.members.changing.Lock() // For good: no change of voters begins any more.
	}
	c.stopStreams()
	if node == nil && c.cfg.Role == RoleController {
		return nil // Never started, or the start has cleaned up.
	}
	var err error
	if node != nil {
		err = node.shutdown()
	}
	c.background.Wait()
	c.commits.close()
	if c.loop.started.Load() {
		c.publisher.stop()
	}
	if node != nil {
		err = errors.Join(err, node.closeStores())
	}
	return err
}

// stopStreams ends all connections with other controllers. Requires: the controller is dead.
func (c *Controller) stopStreams() {
	if c.layer != nil {
		_ = c.layer.Close() // It never fails.
	}
	c.streams.close()
}

var errClosed = errors.New("controller is closed")

// kill marks the controller dead; only the first reason counts.
func (c *Controller) kill(reason error) {
	c.deadOnce.Do(func() {
		c.err = reason
		close(c.dead)
		c.cancel()
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

// fresh tells that this node has nothing of any quorum.
func (c *Controller) fresh() bool {
	if n := c.raft.Load(); n != nil {
		return len(n.servers()) == 0
	}
	return c.cfg.Role == RoleController && !c.known.Load()
}

// lastIndex is the last entry of this node's raft log.
func (c *Controller) lastIndex() uint64 {
	if n := c.raft.Load(); n != nil {
		return n.LastIndex()
	}
	return 0
}

func timedOut(ctx context.Context) error {
	return kerror.Wrap(kerr.RequestTimedOut, context.Cause(ctx))
}

// now is the time that decisions see.
func (c *Controller) now() time.Time { return c.cfg.Clock.Now() }
