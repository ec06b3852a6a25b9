package controller

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// streamLayer carries raft's messages over streams between controllers; it implements
// raft.StreamLayer. Addresses that it dials are target(id, address): whom raft means to reach, and where.
type streamLayer struct {
	c        *Controller
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
	ctx      context.Context
	cancel   context.CancelFunc
}

func newStreamLayer(c *Controller) *streamLayer {
	l := &streamLayer{c: c, accepted: make(chan net.Conn), closed: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// target joins a server's id and its address, and split takes them apart.
func target(id raft.ServerID, address raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(string(id) + "|" + string(address))
}

func splitTarget(t raft.ServerAddress) (id raft.ServerID, address string) {
	before, after, _ := strings.Cut(string(t), "|")
	return raft.ServerID(before), after
}

// take hands a connection from another controller to raft.
func (l *streamLayer) take(conn net.Conn) {
	select {
	case l.accepted <- conn:
	case <-l.closed:
		closeQuietly(conn)
	}
}

// Dial implements raft.StreamLayer. The other side checks that it is the server that is meant: a voter
// whose disk was replaced answers at the same address, and must not vote in the old one's place.
func (l *streamLayer) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	id, address := splitTarget(to)
	if id == l.c.self.serverID() {
		ours, theirs := net.Pipe()
		l.take(theirs)
		return ours, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	st, _, err := l.c.dial(ctx, address, streamRaft, hello{To: string(id)})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// Accept implements net.Listener.
func (l *streamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *streamLayer) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.cancel()
	})
	return nil
}

// Addr implements net.Listener.
func (l *streamLayer) Addr() net.Addr { return layerAddr(l.c.cfg.address()) }

// layerAddr is the address of the controller listener, as others know it.
type layerAddr string

// Network implements net.Addr.
func (layerAddr) Network() string { return "tcp" }

// String implements net.Addr.
func (a layerAddr) String() string { return string(a) }
