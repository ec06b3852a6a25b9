package wire

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/ottla/ottla/internal/buf"
)

const (
	// sendTurnBytes is how much of the replies is taken, sealed and sent at a time: a few records of TLS in one
	// system call, little enough to stay in the processor's cache between the steps.
	sendTurnBytes = 64 << 10
	// recordBytes is the most that a record of TLS carries; recordExtraBytes is more than it adds.
	recordBytes, recordExtraBytes = 16 << 10, 256
)

// errWouldWait is what a send returns that would have to wait for the client.
var errWouldWait = errors.New("the client isn't ready to receive")

// outConn is a connection whose writes gather in memory until send: the socket, with TLS above it or none. Before
// gather is called they go out at once.
type outConn struct {
	net.Conn
	// raw is the socket's; nil where sending without waiting isn't possible.
	raw  syscall.RawConn
	pool *buf.Pool

	mu sync.Mutex
	// The rest is guarded by mu.
	gathers bool
	// out is what was written and not sent; nil if nothing is. What lies before sent has gone out.
	out  *buf.Buf
	sent int
	// closed refuses writes, since nobody would send them.
	closed bool
}

func newOutConn(c net.Conn, pool *buf.Pool) *outConn {
	o := &outConn{Conn: c, pool: pool}
	if s, ok := c.(syscall.Conn); ok && canSendNow {
		if raw, err := s.SyscallConn(); err == nil {
			o.raw = raw
		}
	}
	return o
}

// gather begins to gather.
func (o *outConn) gather() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gathers = true
}

// Write implements net.Conn (copies). It waits for nobody once writes gather.
func (o *outConn) Write(p []byte) (int, error) {
	o.mu.Lock()
	if !o.gathers {
		o.mu.Unlock()
		return o.Conn.Write(p)
	}
	defer o.mu.Unlock()
	if o.closed {
		return 0, net.ErrClosed
	}
	copy(o.room(len(p)), p)
	return len(p), nil
}

// SetWriteDeadline implements net.Conn. crypto/tls lets the deadline pass when it has said goodbye; what has gathered is
// still to be sent then.
func (o *outConn) SetWriteDeadline(t time.Time) error {
	o.mu.Lock()
	gathers := o.gathers
	o.mu.Unlock()
	if gathers {
		return nil
	}
	return o.Conn.SetWriteDeadline(t)
}

// room extends out by n bytes and returns them. Requires: o.mu held.
func (o *outConn) room(n int) []byte {
	if o.out == nil {
		o.out = o.pool.Get(0)
	}
	have := len(o.out.Bytes())
	o.grow(have + n)
	o.out.SetLen(have + n) // Who sends holds the buffer, too, but looks at what lies before only.
	return o.out.Bytes()[have:]
}

// grow makes out's memory hold n bytes. Requires: o.mu held, o.out set.
func (o *outConn) grow(n int) {
	if n <= len(o.out.Full()) {
		return
	}
	larger := o.pool.Get(n)
	larger.SetLen(copy(larger.Full(), o.out.Bytes()))
	o.out.Release()
	o.out = larger
}

// expect makes room for the records of n bytes.
func (o *outConn) expect(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n += (n/recordBytes + 1) * recordExtraBytes
	if o.out == nil {
		o.out = o.pool.Get(n)
		o.out.SetLen(0)
		return
	}
	o.grow(len(o.out.Bytes()) + n)
}

// unsent is how many bytes wait for send.
func (o *outConn) unsent() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out == nil {
		return 0
	}
	return len(o.out.Bytes()) - o.sent
}

// send sends what has gathered. Unless it may wait for the client it returns errWouldWait where something is left. One
// goroutine sends at a time.
func (o *outConn) send(wait bool) (n int, err error) {
	o.mu.Lock()
	b, sent := o.out, o.sent
	if b == nil || sent == len(b.Bytes()) {
		o.drop()
		o.mu.Unlock()
		return 0, nil
	}
	// Others may write behind, and replace the buffer by a larger one, meanwhile.
	b.Retain()
	p := b.Bytes()[sent:]
	o.mu.Unlock()
	switch {
	case wait:
		n, err = o.Conn.Write(p)
	case o.raw == nil:
		err = errWouldWait
	default:
		n, err = sendNow(o.raw, p)
	}
	b.Release()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out == nil { // Closed.
		return n, net.ErrClosed
	}
	if o.sent += n; o.sent == len(o.out.Bytes()) {
		o.drop()
	}
	return n, err
}

// drop releases what has gathered. Requires: o.mu held.
func (o *outConn) drop() {
	if o.out != nil {
		o.out.Release()
	}
	o.out, o.sent = nil, 0
}

// discard drops what has gathered and refuses what comes.
func (o *outConn) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.drop()
}
