package wire

import (
	"time"

	"github.com/ottla/ottla/internal/buf"
)

// conn is one connection as a machine without I/O: bytes go in by Feed, requests come out by Start
// in their order, are marked by Proceed and Complete, and their replies come out by Emit in the
// same order. It holds no lock; its link guards it.
//
// Only the goroutine that reads the connection calls Feed, Space, Filled and DropInput.
type conn struct {
	limits connLimits
	// charge asks the memory budget for n bytes. If it reports false the connection waits, and
	// Granted is called once the bytes are there.
	charge func(n int64) bool

	frame frameReader
	slots *slotPool
	// cost is what is charged for the frame under construction; 0 if it isn't begun.
	cost int64
	// swept is how much the frame under construction had when Stalled last looked at it; -1 if it didn't yet.
	swept int
	// waiting: the frame under construction waits for memory.
	waiting bool
	// carry is what was read from the socket beyond what could be taken. Bounded by the size of two
	// reads: no other one is begun while it isn't empty, but one may be under way.
	carry []byte

	order order
	// blocked: the client doesn't read its replies; nothing more is started.
	blocked bool
	// ended: no more requests come, since the client closed its side or the server stops.
	ended bool
	// stopped: a request asked to close the connection; nothing after it is started or read.
	stopped bool
	// failure is why the connection is closed once the requests before it are answered.
	failure error
}

// connLimits are the bounds of one connection; see Limits.
type connLimits struct {
	maxRequestBytes int
	queued, pending int
}

func newConn(limits connLimits, pool *buf.Pool, slots *slotPool, charge func(int64) bool) conn {
	return conn{limits: limits, charge: charge, slots: slots, frame: frameReader{pool: pool, maxBytes: limits.maxRequestBytes}}
}

// Feed takes bytes that were read from the socket (copies) and cuts them into requests received at
// now. Where it may go no further it keeps the rest; Feed(nil) goes on.
func (c *conn) Feed(p []byte, now time.Time) {
	if c.ended {
		p = nil
	}
	carried := len(c.carry) > 0
	if carried {
		p = append(c.carry, p...)
	}
	for len(p) > 0 || c.frame.headDone() {
		if c.failure != nil {
			p = nil
			break
		}
		if c.waiting || c.full() {
			break
		}
		if c.frame.body == nil {
			if !c.frame.headDone() {
				first := p
				if p, c.failure = c.frame.feedHead(p); c.failure != nil {
					c.failure = sniff(c.frame.head[:c.frame.headLen], first, c.failure)
					continue
				}
				if !c.frame.headDone() {
					continue
				}
			}
			if cost := c.frame.cost(); c.charge(cost) {
				c.begin(cost)
			} else {
				c.waiting = true
			}
			continue
		}
		n := copy(c.frame.space(), p)
		p = p[n:]
		c.Filled(n, now)
	}
	switch {
	case len(p) == 0:
		c.carry = nil
	case carried:
		c.carry = p
	default:
		c.carry = append([]byte(nil), p...)
	}
}

// full says whether enough requests are read ahead.
func (c *conn) full() bool { return c.order.queued() >= c.limits.queued }

func (c *conn) begin(cost int64) {
	c.cost, c.swept = cost, -1
	c.frame.begin()
	if c.frame.full() { // A frame of nothing but its head can't be: its correlation id is missing.
		panic("wire: frame complete before its correlation id")
	}
}

// Granted says that the memory asked for by charge is there. Feed(nil) goes on.
func (c *conn) Granted() {
	c.waiting = false
	c.begin(c.frame.cost())
}

// Space is where the bytes of a frame under construction may be read to directly; empty if
// there is none or bytes are carried.
func (c *conn) Space() []byte {
	if c.frame.body == nil || len(c.carry) > 0 || c.failure != nil {
		return nil
	}
	return c.frame.space()
}

// Filled says that n bytes were read into Space.
func (c *conn) Filled(n int, now time.Time) {
	c.frame.filled(n)
	if c.frame.full() {
		s := c.slots.get()
		s.receivedAt, s.cost, s.frame = now, c.cost, c.frame.take()
		c.order.push(s)
		c.cost = 0
	}
}

// Reading says whether more bytes should be read from the socket.
func (c *conn) Reading() bool {
	return !c.ended && !c.stopped && c.failure == nil && !c.waiting && len(c.carry) == 0 && !c.full() &&
		!(c.blocked && c.order.queued() > 0)
}

// CanFeed says whether Feed(nil) would get any further.
func (c *conn) CanFeed() bool {
	return (len(c.carry) > 0 || c.frame.headDone()) && c.failure == nil && !c.stopped && !c.waiting && !c.full()
}

// CanStart says whether Start would return a request.
func (c *conn) CanStart() bool {
	return c.order.queued() > 0 && !c.stopped && !c.order.runs() && !c.blocked && c.order.started < c.limits.pending
}

// Start returns the next request that may run, marked as started; nil if none may.
func (c *conn) Start() *slot {
	if !c.CanStart() {
		return nil
	}
	return c.order.start()
}

// Emit returns the oldest request if it is completed, and removes it; nil if it isn't. After a
// request with a close reason, nothing is returned any more: the requests after it are dropped and
// returned as the second value.
func (c *conn) Emit() (done *slot, dropped []*slot) {
	s := c.order.pop()
	if s != nil && s.reply.closeReason != nil {
		c.failure = s.reply.closeReason
		c.carry = nil
		dropped = c.order.clear()
	}
	return s, dropped
}

// Stop says that a request was completed by a reason to close: no later one is started, though those
// before it are still to be answered.
func (c *conn) Stop() { c.stopped = true }

// End says that nothing more will be read.
func (c *conn) End() { c.ended = true }

// Finished says that every request was answered and none will come: once the replies are sent the
// connection is to be closed.
func (c *conn) Finished() bool {
	return len(c.order.slots) == 0 && (c.failure != nil || c.ended && !c.CanFeed() && !c.waiting)
}

// Idle says whether the connection neither runs nor holds a request.
func (c *conn) Idle() bool { return len(c.order.slots) == 0 }

// Stalled says whether the frame under construction got less than minBytes since the last call; false if
// that one saw another frame.
func (c *conn) Stalled(minBytes int) bool {
	if c.frame.body == nil {
		return false
	}
	last := c.swept
	c.swept = c.frame.have
	return last >= 0 && c.swept-last < minBytes
}

// DropInput gives up the frame under construction and returns what was charged for it.
func (c *conn) DropInput() (cost int64) {
	cost, c.cost = c.cost, 0
	c.waiting = false
	c.carry = nil
	c.frame.drop()
	return cost
}
