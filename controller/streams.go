package controller

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// streams are the connections between this node's controller and others', both ways. They end with
// the controller.
type streams struct {
	mu struct {
		sync.Mutex
		closed bool
		conns  map[*stream]struct{}
	}
	serving sync.WaitGroup
}

// stream is a connection that closes once and is known until then.
type stream struct {
	net.Conn
	owner *streams
	once  sync.Once
	err   error
}

var errStreamsClosed = errors.New("controller is closing")

// add takes a connection over; after close it closes it and returns an error.
func (s *streams) add(c net.Conn) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(c)
}

// addLocked is add. Requires: s.mu held.
func (s *streams) addLocked(c net.Conn) (*stream, error) {
	if s.mu.closed {
		closeQuietly(c)
		return nil, errStreamsClosed
	}
	if s.mu.conns == nil {
		s.mu.conns = map[*stream]struct{}{}
	}
	st := &stream{Conn: c, owner: s}
	s.mu.conns[st] = struct{}{}
	return st, nil
}

// serve runs f for a connection on a goroutine that close waits for.
func (s *streams) serve(c net.Conn, f func(*stream)) {
	s.mu.Lock()
	defer s.mu.Unlock() // Over Go, too: close waits for all who came before it.
	st, err := s.addLocked(c)
	if err != nil {
		return
	}
	s.serving.Go(func() { f(st) })
}

// close closes all connections, refuses new ones and waits for those who serve them.
func (s *streams) close() {
	s.mu.Lock()
	s.mu.closed = true
	var all []*stream
	for st := range s.mu.conns {
		all = append(all, st)
	}
	s.mu.Unlock()
	for _, st := range all {
		closeQuietly(st)
	}
	s.serving.Wait()
}

// Close implements net.Conn.
func (st *stream) Close() error {
	st.once.Do(func() {
		st.owner.mu.Lock()
		delete(st.owner.mu.conns, st)
		st.owner.mu.Unlock()
		st.err = st.Conn.Close()
	})
	return st.err
}

// deadline closes the stream after d unless stop is called before.
func (c *Controller) deadline(st net.Conn, d time.Duration) (stop func() bool) {
	return c.cfg.Clock.AfterFunc(d, func() { closeQuietly(st) }).Stop
}

// dial opens a stream of a kind to another controller. The error is a *refusedError where the other side
// refused.
func (c *Controller) dial(ctx context.Context, address string, kind byte, h hello) (*stream, welcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := c.cfg.Clock.AfterFunc(c.timeouts.request, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	conn, err := c.cfg.Network.Dial(ctx, address)
	if err != nil {
		return nil, welcome{}, err
	}
	st, err := c.streams.add(conn)
	if err != nil {
		return nil, welcome{}, err
	}
	undo := context.AfterFunc(ctx, func() { closeQuietly(st) })
	h.ClusterID, h.Server = c.knownClusterID(), string(c.self.serverID())
	var w welcome
	if err = writeHello(st, kind, h); err == nil {
		err = readJSON(st, &w)
	}
	if !undo() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && w.Refused != "" {
		err = &refusedError{address: address, welcome: w}
		c.foreignCluster(address, w)
	}
	if err != nil {
		closeQuietly(st)
		return nil, w, err
	}
	return st, w, nil
}

// Divert takes a connection over if its first bytes are those of a stream between nodes; it is for the CONTROLLER
// listener's wire.Listener.Divert.
func (c *Controller) Divert(first []byte, conn net.Conn) bool {
	if !IsStream(first) {
		return false
	}
	c.streams.serve(conn, c.serveStream)
	return true
}

// serveStream answers the other side's hello and goes on as its kind wants.
func (c *Controller) serveStream(st *stream) {
	stop := c.deadline(st, c.timeouts.request)
	kind, h, err := readHello(st)
	if err != nil {
		closeQuietly(st)
		return
	}
	w := c.welcome(kind, h)
	if err := writeJSON(st, nil, w); err != nil || w.Refused != "" || !stop() {
		closeQuietly(st)
		return
	}
	switch kind {
	case streamRaft:
		c.layer.take(st) // Raft closes it.
	case streamObserve:
		c.observers.serve(st, h)
	default:
		closeQuietly(st)
	}
}

// welcome judges a hello.
func (c *Controller) welcome(kind byte, h hello) welcome {
	if c.cfg.Role == RoleController && !c.opened.Load() {
		// What this node is, and whether it has anything, is on its disk.
		return welcome{Version: streamVersion, Refused: refusedStarting, LeaderID: -1, Offset: -1}
	}
	w := welcome{Version: streamVersion, ClusterID: c.knownClusterID(), Server: string(c.self.serverID()), Fresh: c.fresh(), Offset: -1}
	w.LeaderID, w.LeaderAddress = c.leader()
	_, w.Active = c.active.get()
	if w.Active {
		w.Offset = c.Image().Offset()
	}
	select {
	case <-c.dead:
		w.Refused = refusedClosing
		return w
	default:
	}
	switch {
	case h.Version != streamVersion:
		w.Refused = refusedVersion
	case h.ClusterID != "" && w.ClusterID != "" && h.ClusterID != w.ClusterID:
		w.Refused = refusedCluster
		c.logger.Warn("refused a controller or broker of another cluster", "server", h.Server, "cluster_id", h.ClusterID)
	case kind == streamRaft && (h.To != w.Server || c.layer == nil):
		w.Refused = refusedIdentity
	case kind == streamObserve && !w.Active:
		w.Refused = refusedNotActive
	}
	return w
}
