package wire

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// stdReadBytes is what a waiting goroutine offers to a read; larger frames are read in place.
	stdReadBytes = 4 << 10
	// filePieceBytes is how much of a file is read into memory at a time where it can't be sent
	// from the page cache.
	filePieceBytes = 256 << 10
	// handshakeTimeout bounds a TLS handshake, and the wait for the bytes that Divert looks at.
	handshakeTimeout = 30 * time.Second
	// divertBytes is how many bytes Divert is shown at least.
	divertBytes = 4
)

// stdSocket serves a connection over net.Conn: one goroutine reads; replies are sent by whoever flushes, and by a
// worker once it is the client that is waited for.
type stdSocket struct {
	link *link
	// base is the connection below TLS.
	base net.Conn
	// conn is out, or TLS over it; set before the first request.
	conn net.Conn
	// closed is closed when the connection is to end.
	closed    chan struct{}
	closeOnce sync.Once
	// wake has room for one: the reader is to go on.
	wake chan struct{}

	// out is base, below TLS.
	out *outConn
	// secured is conn if that is TLS, once it may be told goodbye.
	secured atomic.Pointer[tls.Conn]
	// late is set when the handshake took too long.
	late atomic.Bool

	mu sync.Mutex
	// The rest is guarded by mu.
	queue outQueue
	// sending: a goroutine sends the queue; soon: a worker will.
	sending, soon bool
	dead          bool
}

// prepareStd binds a link to a net.Conn; the returned function starts its goroutine.
func prepareStd(l *link, c net.Conn, ln *boundListener) func() error {
	out := newOutConn(c, &l.server.pool)
	s := &stdSocket{link: l, base: c, conn: out, out: out, closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.sock = s
	return func() error {
		l.server.readers.Go(func() { s.serve(ln) })
		return nil
	}
}

// serve reads until the connection ends.
func (s *stdSocket) serve(ln *boundListener) {
	diverted := s.open(ln)
	if !diverted {
		s.read()
		<-s.closed
	}
	s.mu.Lock()
	s.dead = true
	sending := s.sending
	if !sending {
		s.queue.clear()
	}
	s.mu.Unlock()
	if !sending && !diverted {
		s.out.discard()
	}
	if !diverted {
		s.close()
	}
	s.link.die()
}

// open does what comes before the first request. It reports whether the connection was taken over.
func (s *stdSocket) open(ln *boundListener) (diverted bool) {
	late := s.link.server.cfg.Clock.AfterFunc(handshakeTimeout, func() {
		s.late.Store(true)
		s.close()
	})
	defer late.Stop()
	if ln.TLS != nil {
		t := tls.Server(s.out, ln.TLS)
		if err := t.Handshake(); err != nil {
			s.close()
			reason := handshakeReason(err)
			if s.late.Load() {
				reason = closeBecause(closeHandshake, "the client didn't finish the TLS handshake within %s", handshakeTimeout)
			}
			if reason != nil {
				s.link.server.metrics.Disconnects.Add(1)
				s.link.server.reasons.log(s.link, reason)
			}
			return false
		}
		s.conn = t
	}
	if ln.Divert == nil {
		s.settled()
		return false
	}
	first := make([]byte, divertBytes, 64)
	if _, err := io.ReadFull(s.conn, first); err != nil {
		s.close()
		return false
	}
	if !late.Stop() {
		return false
	}
	if ln.Divert(first, &prefixedConn{Conn: s.conn, prefix: first}) {
		return true
	}
	s.settled()
	s.link.received(first)
	return false
}

// settled says that the connection stays, and is ready for requests.
func (s *stdSocket) settled() {
	s.out.gather()
	if t, ok := s.conn.(*tls.Conn); ok {
		s.secured.Store(t)
	}
}

// handshakeReason explains a failed TLS handshake; nil if the client just went away.
func handshakeReason(err error) error {
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		h := record.RecordHeader
		if err := sniff(h[:], nil, nil); err != nil {
			return closeBecause(closeHTTP, "the client speaks HTTP: this port speaks the Kafka protocol over TLS")
		}
		return closeBecause(closeHandshake, "the client didn't begin with a TLS handshake (first bytes %x): "+
			"set its security.protocol to SSL or SASL_SSL, or connect to a plaintext listener", h[:])
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return nil
	}
	return closeBecause(closeHandshake, "TLS handshake failed: %s", err)
}

func (s *stdSocket) read() {
	small := s.link.server.pool.Get(stdReadBytes)
	defer small.Release()
	for {
		for !s.link.reading() {
			select {
			case <-s.closed:
				return
			case <-s.wake:
				s.link.resume()
			}
		}
		var n int
		var err error
		if space := s.link.space(); len(space) >= stdReadBytes {
			if n, err = s.conn.Read(space); n > 0 {
				s.link.filled(n)
			}
		} else if n, err = s.conn.Read(small.Bytes()); n > 0 {
			s.link.received(small.Bytes()[:n])
		}
		if s.conn != s.out && s.out.unsent() > 0 {
			s.flush(patient) // TLS may have answered by itself, to an update of keys.
		}
		if err != nil {
			s.readFailed(err)
			return
		}
	}
}

// readFailed ends the connection: after a clean end of the client's side, what was read is still
// answered, unless the client closes the other side too.
func (s *stdSocket) readFailed(err error) {
	if errors.Is(err, io.EOF) {
		s.link.end()
		s.awaitHangUp()
	}
	s.close()
}

// awaitHangUp waits until the connection is closed, by us or by the client, or breaks.
func (s *stdSocket) awaitHangUp() {
	c, ok := s.base.(syscall.Conn)
	if !ok {
		<-s.closed
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	// Go's poller tells of every change of the socket's state; an error means that we closed it.
	_ = raw.Read(func(fd uintptr) bool { return hungUp(int(fd)) })
}

func (s *stdSocket) resume() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close ends both directions, which also ends a read or write that waits. TLS's own close isn't used:
// it waits for a writer.
func (s *stdSocket) close() {
	s.closeOnce.Do(func() {
		s.sayGoodbye()
		close(s.closed)
		_ = s.base.Close() // Waiting calls return whether or not this fails.
	})
}

// sayGoodbye tells a client that speaks TLS that nothing comes any more, unless it would have to be waited for: its
// library can tell this from a connection that was cut, and may complain of the latter.
func (s *stdSocket) sayGoodbye() {
	t := s.secured.Load()
	s.mu.Lock()
	if t == nil || s.sending || s.dead {
		s.mu.Unlock()
		return
	}
	s.sending = true
	s.mu.Unlock()
	if t.CloseWrite() == nil {
		_, _ = s.out.send(false) // It is a courtesy.
	}
	s.mu.Lock()
	s.sending = false
	s.mu.Unlock()
}

// prefixedConn is a connection some bytes of which were read already.
type prefixedConn struct {
	net.Conn
	prefix []byte
}

func (c *prefixedConn) Read(p []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(p, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
