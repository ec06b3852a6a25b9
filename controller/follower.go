package controller

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/ottla/ottla/controller/image"
)

// follower keeps this node's image up to date while it isn't the active controller, and knows where that is. A voter
// gets the records from raft; a node that isn't one, or whose raft has no leader, observes the active controller.
type follower struct {
	c *Controller
	// state is the image as far as streams brought it. Owned by run.
	state *image.Image

	mu struct {
		sync.Mutex
		// leaderID and leaderAddress are the active controller as far as streams and requests told; -1 if
		// unknown.
		leaderID      int32
		leaderAddress string
		// streaming says that the active controller at leaderAddress brings the image now, so that it is alive,
		// whatever becomes of a single request.
		streaming bool
		// next is the position in the list of addresses to ask.
		next int
	}
}

func newFollower(c *Controller) *follower {
	f := &follower{c: c, state: image.Empty()}
	f.mu.leaderID = -1
	return f
}

// Leader is the active controller as far as this node knows, -1 if it doesn't, and where it is reached.
func (c *Controller) Leader() (id int32, address string) { return c.leader() }

// leader is the active controller as far as this node knows; -1 if it doesn't.
func (c *Controller) leader() (id int32, address string) {
	if _, ok := c.active.get(); ok {
		return c.cfg.NodeID, c.cfg.address()
	}
	if n := c.raft.Load(); n != nil {
		if addr, server := n.LeaderWithID(); server != "" {
			if i, ok := parseIdentity(server); ok {
				if configured, ok := c.cfg.staticVoter(i.node); ok {
					return i.node, configured
				}
				return i.node, string(addr)
			}
		}
	}
	c.follower.mu.Lock()
	defer c.follower.mu.Unlock()
	return c.follower.mu.leaderID, c.follower.mu.leaderAddress
}

// learn notes where the active controller is said to be; id -1 and an empty address forget it.
func (f *follower) learn(id int32, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.leaderID, f.mu.leaderAddress = id, address
}

// forget drops an address that a request didn't find the active controller at.
func (f *follower) forget(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.leaderAddress == address && !f.mu.streaming {
		f.mu.leaderID, f.mu.leaderAddress = -1, ""
	}
}

// streams notes the active controller that brings the image from now on; ended is due when it doesn't any more.
func (f *follower) streams(id int32, address string) (ended func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.leaderID, f.mu.leaderAddress, f.mu.streaming = id, address, true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.mu.leaderID, f.mu.leaderAddress, f.mu.streaming = -1, "", false
	}
}

// candidate is an address at which to ask for the active controller: where it is believed to be, else the
// configured and registered controllers in turn.
func (f *follower) candidate() string {
	if id, address := f.c.leader(); address != "" && id != f.c.cfg.NodeID {
		return address
	}
	list := f.c.cfg.others()
	for _, r := range f.c.Image().Controllers() {
		if r.ID != f.c.cfg.NodeID && len(r.Listeners) > 0 {
			list = append(list, hostPort(r.Listeners[0].Host, int32(r.Listeners[0].Port)))
		}
	}
	if n := f.c.raft.Load(); n != nil {
		for _, s := range n.servers() {
			if s.ID != f.c.self.serverID() {
				list = append(list, string(s.Address))
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.next++
	return list[f.mu.next%len(list)]
}

// led tells whether raft brings the image to this node.
func (f *follower) led() bool {
	n := f.c.raft.Load()
	if n == nil || !n.votes(f.c.self.serverID()) {
		return false
	}
	_, leader := n.LeaderWithID()
	return leader != ""
}

// run follows until the controller ends.
func (f *follower) run() {
	ctx := f.c.ctx
	backoff := f.c.timeouts.retry
	for {
		wait := f.c.timeouts.silence() / 2
		switch _, active := f.c.active.get(); {
		case active:
			f.c.members.tidy()
		case f.led():
			if !f.c.isReady() {
				wait = f.c.timeouts.retry
				f.becomeReady(ctx)
			}
		default:
			before := f.state
			f.observe(ctx)
			if wait = backoff; f.state != before {
				wait = f.c.timeouts.retry
			}
			if backoff = min(2*backoff, f.c.timeouts.contact/4); wait == f.c.timeouts.retry {
				backoff = 2 * wait
			}
		}
		if f.c.pause(ctx, wait) != nil {
			return
		}
	}
}

func (c *Controller) isReady() bool {
	select {
	case <-c.ready:
		return true
	default:
		return false
	}
}

// becomeReady asks the active controller how far its image is, and waits until raft has brought that much.
func (f *follower) becomeReady(ctx context.Context) {
	id, address := f.c.leader()
	if address == "" || id == f.c.cfg.NodeID {
		return
	}
	w, err := f.c.probe(ctx, address)
	if err == nil && w.Active && f.c.Image().Offset() >= w.Offset {
		f.c.markReady(w.Offset)
	}
}

// observe follows one controller until its stream ends or raft takes over.
func (f *follower) observe(ctx context.Context) {
	address := f.candidate()
	if address == "" {
		return
	}
	if f.state.Offset() < f.c.Image().Offset() {
		f.state = f.c.Image()
	}
	st, w, err := f.c.dial(ctx, address, streamObserve, hello{Offset: f.state.Offset()})
	var refused *refusedError
	switch {
	case errors.As(err, &refused) && refused.welcome.Refused == refusedNotActive && refused.welcome.LeaderAddress != address:
		f.learn(refused.welcome.LeaderID, refused.welcome.LeaderAddress)
		return
	case err != nil:
		f.forget(address)
		f.c.logger.Debug("can't follow a controller", "address", address, "error", err)
		return
	}
	defer f.streams(w.LeaderID, address)()
	f.c.logger.Debug("following the active controller", "node_id", w.LeaderID, "address", address)
	if err := f.follow(st); err != nil {
		f.c.logger.Debug("the active controller is lost", "address", address, "error", err)
	}
	closeQuietly(st)
}

var errRaftTookOver = errors.New("raft brings the image now")

// follow applies what a stream brings.
func (f *follower) follow(st *stream) error {
	silent := f.c.cfg.Clock.AfterFunc(f.c.timeouts.silence(), func() { closeQuietly(st) })
	defer silent.Stop()
	heard := func() { silent.Reset(f.c.timeouts.silence()) }
	r := bufio.NewReaderSize(st, 32<<10)
	for {
		kind, body, err := readFrame(r, maxFrame)
		if err != nil {
			return err
		}
		heard()
		switch kind {
		case frameSnapshot:
			err = f.restore(&snapshotReader{from: r, read: heard, body: body, done: len(body) == 0})
		case frameEntry:
			err = f.apply(body)
		case frameAlive:
			err = f.alive(body)
		default:
			err = fmt.Errorf("unknown frame %q", kind)
		}
		if err != nil {
			return err
		}
		// Not for every entry of a long row: what is buffered comes first.
		if r.Buffered() == 0 || kind == frameAlive {
			if _, err := st.Write(appendOffsetFrame(nil, frameApplied, f.state.Offset())); err != nil {
				return err
			}
		}
	}
}

func (f *follower) restore(from *snapshotReader) error {
	next, err := readSnapshot(from)
	if err != nil {
		return f.fatal(err)
	}
	if next.Offset() < f.state.Offset() {
		return fmt.Errorf("snapshot at offset %d after %d", next.Offset(), f.state.Offset())
	}
	f.state = next
	f.c.advance(next, nil)
	return nil
}

func (f *follower) apply(body []byte) error {
	if len(body) < entryHead {
		return errEntry
	}
	base, epoch := int64(binary.BigEndian.Uint64(body)), int32(binary.BigEndian.Uint32(body[8:]))
	if base != f.state.Offset() {
		return fmt.Errorf("entry for offset %d at offset %d", base, f.state.Offset())
	}
	e, err := readEntry(body[entryHead:])
	if err != nil {
		f.c.fail(fmt.Errorf("following the active controller: %w", err))
		return err
	}
	next, delta, err := f.state.Apply(epoch, e.records)
	if err != nil {
		return f.fatal(err)
	}
	f.state = next
	f.c.advance(next, delta)
	return nil
}

// fatal stops the node for what the active controller committed and this node can't apply; a broken
// connection isn't that.
func (f *follower) fatal(err error) error {
	var apply *image.ApplyError
	if errors.As(err, &apply) || errors.Is(err, image.ErrUnsupported) {
		f.c.fail(fmt.Errorf("following the active controller: %w", err))
	}
	return err
}

func (f *follower) alive(body []byte) error {
	offset, err := readOffset(body)
	if err != nil {
		return err
	}
	if offset != f.state.Offset() {
		return fmt.Errorf("offset %d where the active controller is at %d", f.state.Offset(), offset)
	}
	if !f.c.isReady() && f.c.Image().ClusterID() != "" && !f.c.markReady(offset) {
		return errClosed
	}
	if f.led() {
		return errRaftTookOver
	}
	return nil
}
