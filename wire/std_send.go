package wire

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/buf"
)

func (s *stdSocket) push(r *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		r.release()
		return
	}
	s.queue.push(r)
}

// unsent counts a byte until the goroutine that sends is done, so that it is told of the end of the connection after
// the last reply, and the client is told goodbye.
func (s *stdSocket) unsent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.queue.unsent + s.out.unsent()
	if s.sending && n == 0 {
		return 1
	}
	return n
}

// flush sends what the socket takes, on this goroutine, of which it has one for each connection; a worker goes on with the rest,
// and waits for the client.
func (s *stdSocket) flush(sendPatience) {
	if s.startSending() {
		s.send(false)
	}
}

// flushSoon has a worker send. Replies that are pushed until it gets to run leave together.
func (s *stdSocket) flushSoon() {
	s.mu.Lock()
	if s.soon || s.sending || s.dead || s.queue.empty() {
		s.mu.Unlock()
		return
	}
	s.soon = true
	s.mu.Unlock()
	if !s.link.server.workers.start(taskFunc(s.flushNow)) {
		s.flushNow()
	}
}

func (s *stdSocket) flushNow() {
	s.mu.Lock()
	s.soon = false
	s.mu.Unlock()
	s.flush(patient)
}

// startSending says whether the caller is to send: if there is something, and nobody does.
func (s *stdSocket) startSending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sending || s.dead || s.queue.empty() && s.out.unsent() == 0 {
		return false
	}
	s.sending = true
	return true
}

// sendRest is send, waiting for the client.
func (s *stdSocket) sendRest() { s.send(true) }

// send sends the queue until it is empty, turn by turn. Unless it may wait for the client, a worker goes on where it
// would have to. Requires: s.sending.
func (s *stdSocket) send(wait bool) {
	for {
		if !wait { // Before the client can know: of two that were answered the first is idle for longer.
			s.link.touch(s.link.server.cfg.Clock.Now())
		}
		n, err := s.out.send(wait)
		if wait && n > 0 {
			s.link.touch(s.link.server.cfg.Clock.Now())
		}
		if errors.Is(err, errWouldWait) {
			if s.link.server.workers.start(taskFunc(s.sendRest)) {
				return
			}
			s.mu.Lock()
			s.sending = false
			s.mu.Unlock()
			return
		}
		var more bool
		if err == nil {
			more, err = s.fill()
		}
		if err != nil {
			s.abandon()
			return
		}
		if n > 0 {
			s.link.flushed()
		}
		if !more {
			return
		}
	}
}

// abandon ends a connection that can't be sent to.
func (s *stdSocket) abandon() {
	s.mu.Lock()
	s.dead, s.sending = true, false
	s.queue.clear()
	s.mu.Unlock()
	s.out.discard()
	s.close()
}

// fill takes the next turn of the queue to out, through TLS if there is any. It says whether there is something to be
// sent; if not, sending has ended. Requires: s.sending.
func (s *stdSocket) fill() (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false, io.ErrClosedPipe
	}
	n := min(s.queue.unsent, sendTurnBytes)
	if n == 0 {
		if s.out.unsent() > 0 { // TLS itself had something to say meanwhile.
			return true, nil
		}
		s.sending = false
		return false, nil
	}
	plain := s.link.server.pool.Get(n)
	defer plain.Release()
	if err := s.take(plain); err != nil {
		s.link.server.reasons.event(closeSend, "can't read a file to send", "err", err)
		return false, err
	}
	s.mu.Unlock()
	s.out.expect(n)
	_, err = s.conn.Write(plain.Bytes())
	s.mu.Lock()
	s.link.server.metrics.BytesOut.Add(int64(n))
	return err == nil, err
}

// take fills b from the head of the queue. Requires: s.mu held, which it gives up while it reads a file; s.sending, so
// that nobody else takes from the queue or clears it; as much in the queue.
func (s *stdSocket) take(b *buf.Buf) error {
	for p := b.Bytes(); len(p) > 0; {
		head := s.queue.items[0]
		if head.file == nil {
			n := copy(p, head.bytes)
			s.queue.sent(n)
			p = p[n:]
			continue
		}
		n := min(len(p), head.left)
		s.mu.Unlock()
		got, err := head.file.ReadAt(p[:n], head.position)
		s.mu.Lock()
		if got < n {
			if err == nil || errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: %d bytes at position %d are not there", io.ErrUnexpectedEOF, head.left, head.position)
			}
			return err
		}
		s.queue.sent(n)
		p = p[n:]
	}
	return nil
}

// flushLate implements socket.
func (s *stdSocket) flushLate() { s.flushSoon() }

// lend implements socket: there is no event loop.
func (s *stdSocket) lend() bool { return false }
