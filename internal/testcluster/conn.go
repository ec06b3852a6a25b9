package testcluster

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// pair is a connection: two ends, each of which reads what the other writes. All of it is guarded by the
// network's mu.
type pair struct {
	network *network
	ends    [2]*conn
	// orphan names the host of an end that is gone without a word; empty otherwise.
	orphan string
	dead   bool
}

// reset ends a connection at once, and loses what is on its way. Requires: network.mu held.
func (p *pair) reset() {
	for _, e := range p.ends {
		e.in.broken = true
		e.in.queue = nil
		e.in.changed.Broadcast()
	}
	p.forget()
}

// forget takes the connection out of the network's list. Requires: network.mu held.
func (p *pair) forget() {
	if p.dead {
		return
	}
	p.dead = true
	if i := slices.Index(p.network.conns, p); i >= 0 {
		p.network.conns = slices.Delete(p.network.conns, i, i+1)
	}
}

// half is one direction of a connection. Guarded by the network's mu.
type half struct {
	link    link
	rng     *rand.Rand
	changed sync.Cond
	queue   []chunk
	// last is when the newest chunk arrives: none overtakes another.
	last time.Time
	// broken says that the connection was reset.
	broken bool
}

// chunk is a write on its way. An end of file is one without bytes.
type chunk struct {
	at   time.Time
	data []byte
	eof  bool
}

func newHalf(p *pair, l link, seed uint64) *half {
	h := &half{link: l, rng: rand.New(rand.NewPCG(seed, 5))}
	h.changed.L = &p.network.mu
	return h
}

// send puts a chunk on its way. Requires: n.mu held.
func (h *half) send(n *network, c chunk) {
	now := time.Now()
	c.at = now.Add(n.latency(h.rng))
	if c.at.Before(h.last) {
		c.at = h.last
	}
	h.last = c.at
	h.queue = append(h.queue, c)
	if len(h.queue) == 1 {
		h.alarm(now)
	}
}

// alarm has readers look again when the first chunk arrives. Requires: network.mu held.
func (h *half) alarm(now time.Time) {
	if len(h.queue) == 0 {
		return
	}
	if d := h.queue[0].at.Sub(now); d > 0 {
		time.AfterFunc(d, h.changed.Broadcast)
		return
	}
	h.changed.Broadcast()
}

// conn is one end of a connection; it implements net.Conn. Writes never wait.
type conn struct {
	pair          *pair
	in, out       *half
	local, remote addr
	// closed and deadline are guarded by network.mu.
	closed   bool
	deadline time.Time
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, h := c.pair.network, c.in
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		now := time.Now()
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case h.broken:
			return 0, syscall.ECONNRESET
		case !c.deadline.IsZero() && !now.Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		case len(h.queue) > 0 && !h.queue[0].at.After(now) && n.cuts[h.link] == 0:
			head := &h.queue[0]
			if head.eof {
				return 0, io.EOF
			}
			m := copy(p, head.data)
			if head.data = head.data[m:]; len(head.data) == 0 {
				h.queue = h.queue[1:]
				h.alarm(now)
			}
			return m, nil
		}
		h.changed.Wait()
	}
}

// Write implements net.Conn. It copies p.
func (c *conn) Write(p []byte) (int, error) {
	n := c.pair.network
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.in.broken, c.out.broken:
		return 0, syscall.EPIPE
	case len(p) == 0:
		return 0, nil
	}
	c.out.send(n, chunk{data: slices.Clone(p)})
	return len(p), nil
}

// Close implements net.Conn. What was written arrives, and the end of file after it.
func (c *conn) Close() error {
	c.pair.network.mu.Lock()
	defer c.pair.network.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.shut()
	return nil
}

// shut closes the end. Requires: network.mu held.
func (c *conn) shut() {
	if c.closed {
		return
	}
	c.closed = true
	c.in.queue = nil
	c.in.changed.Broadcast()
	if !c.out.broken && c.pair.orphan == "" {
		c.out.send(c.pair.network, chunk{eof: true})
	}
	if c.pair.ends[0].closed && c.pair.ends[1].closed {
		c.pair.forget()
	}
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn; writes never wait.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.pair.network.mu.Lock()
	defer c.pair.network.mu.Unlock()
	c.deadline = t
	if !t.IsZero() {
		time.AfterFunc(max(time.Until(t), 0), c.in.changed.Broadcast)
	}
	c.in.changed.Broadcast()
	return nil
}
