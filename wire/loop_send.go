//go:build linux || darwin

package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/ottla/ottla/internal/buf"
	"golang.org/x/sys/unix"
)

const (
	// sendPieces is how many pieces one system call sends at most.
	sendPieces = 64
	// smallFileBytes is up to what size a piece of a file is read and sent with its neighbours: as cheap
	// as sendfile or cheaper, by measurement.
	smallFileBytes = 64 << 10
)

func (s *loopSocket) push(r *reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		r.release()
		return
	}
	s.queue.push(r)
}

func (s *loopSocket) unsent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.unsent
}

// flush sends what the socket takes, and of a file also what it takes soon.
func (s *loopSocket) flush(p sendPatience) {
	s.mu.Lock()
	if s.sending || s.armed || s.closed || s.queue.empty() {
		s.mu.Unlock()
		return
	}
	s.sending = true
	s.link.touch(s.transport.server.cfg.Clock.Now()) // Before the client can have the reply and send more elsewhere.
	until := int64(math.MaxInt64)
	if p == brief {
		until = s.loop.now() + int64(briefSend)
	}
	var err error
	for err == nil && !s.closed && !s.queue.empty() {
		err = s.step(p, until)
	}
	s.sending = false
	later := errors.Is(err, errLater)
	if later {
		err = nil
	}
	if errors.Is(err, unix.EAGAIN) && !s.closed {
		err = s.transport.writes.arm(s)
	}
	if s.closed {
		s.queue.clear()
	}
	dead := s.closed
	s.mu.Unlock()
	if dead {
		return
	}
	if err != nil {
		if !isDisconnect(err) {
			s.transport.server.reasons.event(closeSend, "can't send to a client", "client", s.link.session.ClientAddr.String(), "err", err)
		}
		s.close()
		return
	}
	s.link.flushed()
	if later {
		s.flushSoon()
	}
}

// flushSoon calls flush on a worker. Replies that are pushed until it gets to run leave with one system
// call; if the goroutine that pushes them calls flush first, nothing is left to do.
func (s *loopSocket) flushSoon() {
	s.mu.Lock()
	if s.soon || s.sending || s.armed || s.closed || s.queue.empty() {
		s.mu.Unlock()
		return
	}
	s.soon = true
	s.mu.Unlock()
	if t := (*sendTask)(s); !s.transport.server.workers.start(t) {
		t.run()
	}
}

// sendTask is the sending of what a socket has, for a worker.
type sendTask loopSocket

func (t *sendTask) run() {
	s := (*loopSocket)(t)
	s.mu.Lock()
	s.soon = false
	s.mu.Unlock()
	s.flush(patient)
}

// isDisconnect says whether an error only means that the client is gone.
func isDisconnect(err error) bool {
	return errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.ETIMEDOUT)
}

// writable runs when the socket has room again.
func (s *loopSocket) writable() {
	s.mu.Lock()
	s.armed = false
	gone := s.detached && hungUp(s.fd)
	s.mu.Unlock()
	if gone {
		s.close()
		return
	}
	s.flush(patient)
	s.watch()
}

// watch has writable called once if a client that has closed its side closes the other one too: nobody
// is left then to read the answers, and requests that wait for long needn't be waited for.
func (s *loopSocket) watch() {
	s.mu.Lock()
	var err error
	if s.detached && !s.closed && !s.armed {
		err = s.transport.writes.watch(s)
	}
	s.mu.Unlock()
	if err != nil {
		s.transport.server.cfg.Logger.Debug("can't watch a half-closed connection", "err", err) // Sending tells, later.
	}
}

// step makes one system call that sends, after reading small files that come first. Requires: s.mu
// held, which it gives up while it works with a file; s.sending. until is when waiting for the client has taken long enough, in
// nanoseconds since the server's start.
func (s *loopSocket) step(p sendPatience, until int64) error {
	if i := s.fileToRead(); i >= 0 {
		return s.readFile(i, p)
	}
	if s.queue.items[0].file != nil {
		if p == impatient {
			return errLater // sendfile doesn't tell.
		}
		return s.sendFile(until)
	}
	var pieces [sendPieces][]byte
	bufs, more := s.queue.buffers(pieces[:])
	n, err := sendBytes(s.fd, bufs, more)
	if n > 0 {
		s.count(n)
	}
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

func (s *loopSocket) count(n int) {
	s.queue.sent(n)
	s.transport.server.metrics.BytesOut.Add(int64(n))
}

// fileToRead is the index of the first file within the next system call's reach if it is to be read
// into memory, else -1.
func (s *loopSocket) fileToRead() int {
	bytes := 0
	for i := range s.queue.items {
		item := &s.queue.items[i]
		if i == sendPieces || bytes >= filePieceBytes {
			return -1
		}
		if item.file != nil {
			_, ok := item.file.Fd()
			if haveSendfile && ok && item.left > smallFileBytes {
				return -1
			}
			return i
		}
		bytes += len(item.bytes)
	}
	return -1
}

// readFile puts bytes in the place of a piece of a file. Requires: as step.
func (s *loopSocket) readFile(i int, p sendPatience) error {
	item := s.queue.items[i]
	s.mu.Unlock()
	var b *buf.Buf
	var err error
	if p != patient {
		b, err = readCachedPiece(&s.transport.server.pool, &item, filePieceBytes)
	} else {
		b, err = readPiece(&s.transport.server.pool, &item, filePieceBytes)
	}
	s.mu.Lock()
	if err != nil {
		return err
	}
	s.queue.replace(i, b)
	return nil
}

// briefSend is how long brief sending waits for the client in all.
const briefSend = time.Millisecond

// lingerMillis is how long a worker waits for a client to read on before it leaves the rest to the poller. A client that
// reads makes room in less: waiting for it takes one switch of threads, the way through the poller three.
const lingerMillis = 2

// sendFile sends from the file at the head of the queue until it is sent, or the client doesn't read on, or it takes until until. Requires: as
// step.
func (s *loopSocket) sendFile(until int64) error {
	item := s.queue.items[0]
	in, _ := item.file.Fd()
	out, err := duplicate(s.fd)
	if err != nil {
		// No descriptor to be had: read instead.
		var b *buf.Buf
		s.mu.Unlock()
		b, err = readPiece(&s.transport.server.pool, &item, filePieceBytes)
		s.mu.Lock()
		if err == nil {
			s.queue.replace(0, b)
		}
		return err
	}
	for err == nil && item.left > 0 && !s.closed {
		if s.loop.now() >= until {
			err = errLater
			break
		}
		want := min(item.left, turnBytes)
		s.mu.Unlock()
		var n int
		n, err = sendFile(out, int(in), item.position, want)
		switch {
		case n > 0:
			err = nil // It shows at the next call.
		case errors.Is(err, unix.EINTR):
			err = nil
		case err == nil:
			err = fmt.Errorf("%w: the file ends before position %d", io.ErrUnexpectedEOF, item.position)
		}
		full := errors.Is(err, unix.EAGAIN) || err == nil && n < want
		if full {
			err = s.linger(out, until)
		}
		s.mu.Lock()
		if n > 0 {
			item.position += int64(n)
			item.left -= n
			s.count(n)
		}
	}
	_ = unix.Close(out) // Only a number: the socket stays open.
	return err
}

// linger waits a while for a client to read on, a millisecond if that is past until; EAGAIN if it doesn't.
func (s *loopSocket) linger(out int, until int64) error {
	millis := min(max(time.Duration(until-s.loop.now())/time.Millisecond, 1), lingerMillis)
	if writableWithin(out, int(millis)) {
		return nil
	}
	return unix.EAGAIN
}

// writableWithin waits until a socket has room, or is broken, which the next call tells. It may be wrong, after a signal.
func writableWithin(fd, millis int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, millis)
	return n > 0 || errors.Is(err, unix.EINTR)
}
