//go:build linux || darwin

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// haveLoops says that plaintext sockets can be served by event loops.
const haveLoops = true

const (
	// loopReadBytes is the size of a loop's own read buffer.
	loopReadBytes = 64 << 10
	// turnBytes is how much of one connection is read or sent before others get a turn.
	turnBytes = 1 << 20
)

// loopTransport serves sockets by gnet's event loops. Of gnet only the polling and reading is used:
//
//   - gnet's acceptor stops the server when descriptors run out, so connections are accepted by our
//     own and handed to a gnet client, which is an engine without listeners;
//   - gnet's outbound buffer is unbounded and copies, so gnet never writes: see loopSocket;
//   - gnet can't stop reading a connection, so its epoll descriptor is looked up to change what is
//     polled. This is safe as long as gnet itself doesn't change it, which it does only to write.
type loopTransport struct {
	gnet.BuiltinEventEngine
	server *Server
	client *gnet.Client
	writes *writePoller
	// standIns is how many loops have a stand-in.
	standIns atomic.Int32
	// leader is the stand-in that polls for further loops as well; nil without one.
	leader atomic.Pointer[standIn]
	// notBefore is when stand-ins may poll after one that stalled, and aloneUntil when one may poll for further loops after it had
	// too much to do. Both are in nanoseconds since the server's start.
	notBefore, aloneUntil atomic.Int64

	mu sync.Mutex
	// loops are those that have had a connection.
	loops map[gnet.EventLoop]*eventLoop
}

func startLoops(s *Server) (*loopTransport, error) {
	t := &loopTransport{server: s, loops: map[gnet.EventLoop]*eventLoop{}}
	loops := s.cfg.Loops
	if loops <= 0 {
		loops = runtime.GOMAXPROCS(0)
	}
	client, err := gnet.NewClient(t, gnet.WithNumEventLoop(loops), gnet.WithReadBufferCap(loopReadBytes),
		gnet.WithLogger(gnetLogger{s.cfg.Logger}))
	if err != nil {
		return nil, err
	}
	if t.writes, err = newWritePoller(t); err != nil {
		return nil, err
	}
	if err := client.Start(); err != nil {
		return nil, errors.Join(err, t.writes.close())
	}
	t.client = client
	return t, nil
}

// stop ends the loops and with them all connections.
func (t *loopTransport) stop() error { return t.client.Stop() }

// closePoller ends the wait for writability. Requires: no connection is left.
func (t *loopTransport) closePoller() error { return t.writes.close() }

// prepare binds a link to a socket; the returned function hands the socket to a loop, which
// duplicates its descriptor and closes c.
func (t *loopTransport) prepare(l *link, c net.Conn) func() error {
	s := &loopSocket{link: l, transport: t, fd: -1}
	l.sock, l.looped = s, true
	return func() error {
		_, err := t.client.EnrollContext(c, s)
		if err == nil && !s.opened.Load() {
			err = errors.New("the event loop can't poll the socket")
		}
		if err != nil {
			l.die()
		}
		return err
	}
}

// OnOpen implements gnet.EventHandler.
func (t *loopTransport) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	s := c.Context().(*loopSocket)
	loop, err := t.loopOf(c.EventLoop())
	s.mu.Lock()
	s.gnet, s.loop, s.fd, s.polled = c, loop, c.Fd(), true
	aborted := s.aborted
	s.mu.Unlock()
	s.opened.Store(true)
	if err != nil {
		t.server.cfg.Logger.Error("can't serve connections by event loops", "err", err)
		return nil, gnet.Close
	}
	if aborted {
		return nil, gnet.Close
	}
	loop.sockets[s.fd] = s
	return nil, gnet.None
}

// OnTraffic implements gnet.EventHandler.
func (t *loopTransport) OnTraffic(c gnet.Conn) gnet.Action {
	s := c.Context().(*loopSocket)
	p, err := c.Next(-1)
	if err != nil || len(p) == 0 {
		return gnet.None
	}
	l := s.loop
	l.ripe = l.mayLend()
	s.link.received(p)
	s.readFrame(len(p) == loopReadBytes, func(n int) bool {
		s.link.filled(n)
		return true
	})
	s.applyInterest()
	ripe, lending := l.ripe, l.lending
	l.ripe, l.lending = false, false
	switch {
	case lending:
		l.lend(s)
	case ripe:
		l.lend(nil)
	}
	return gnet.None
}

// OnClose implements gnet.EventHandler. gnet closes the descriptor when it returns.
func (t *loopTransport) OnClose(c gnet.Conn, err error) gnet.Action {
	s := c.Context().(*loopSocket)
	if s.loop != nil {
		delete(s.loop.sockets, c.Fd())
	}
	if errors.Is(err, io.EOF) && s.detach() {
		s.link.end()
		s.flush(patient)
		s.watch()
		return gnet.None
	}
	s.shut()
	s.link.die()
	return gnet.None
}

// loopSocket is a connection on an event loop.
//
// The loop reads, or its stand-in. Anyone sends: directly and without waiting; when the socket is full, the rest is sent once
// writePoller says that there is room.
//
// No descriptor is used after it was closed: the loop closes it after OnClose, which takes mu to set
// closed; every use of the descriptor by others is under mu, with closed checked. Sending from a
// file may wait for the disk and so isn't done under mu, for which the loop may be waiting: it uses
// a duplicate of its own.
type loopSocket struct {
	link      *link
	transport *loopTransport
	opened    atomic.Bool

	// Set by OnOpen before anything else runs.
	gnet gnet.Conn
	loop *eventLoop
	// polled: the loop polls the socket for reading. Only who polls uses it.
	polled bool
	// again is used by stand-ins.
	again rereading

	mu sync.Mutex
	// The rest is guarded by mu.
	queue outQueue
	fd    int
	// closed: fd is not to be used any more. aborted: closed before it was open.
	closed, aborted bool
	// detached: the client closed its side and gnet its descriptor; fd is a duplicate of our own.
	detached bool
	// sending: a goroutine sends from the queue; nobody else may. soon: one is about to.
	sending, soon bool
	// reader is the stand-in that has read what is run now, if one has: it resumes.
	reader *standIn
	// armed: writePoller tells when there is room; registered: it knows fd.
	armed, registered bool
}

// readFrame reads the rest of a large frame where it belongs, past the buffer of who polls. more says that the socket probably holds
// more than was read. Each time took takes what was read; false ends the reading. It returns how many bytes it read, and false if took
// ended it.
func (s *loopSocket) readFrame(more bool, took func(n int) bool) (read int, goes bool) {
	for read < turnBytes {
		space := s.link.space()
		if len(space) == 0 || !more && len(space) < loopReadBytes {
			break
		}
		n, err := unix.Read(s.fd, space[:min(len(space), turnBytes)])
		if err != nil || n <= 0 {
			break // Polling tells the same, and the loop acts on it.
		}
		if !took(n) {
			return read, false
		}
		read += n
		more = true
	}
	return read, true
}

// applyInterest polls for reading as long as the link wants to read. Requires: the caller polls.
func (s *loopSocket) applyInterest() {
	want := s.link.reading()
	if want == s.polled {
		return
	}
	if err := setPolled(s.loop.poller.fd, s.fd, want); err != nil {
		s.transport.server.cfg.Logger.Error("can't change what is polled", "err", err)
		s.close()
		return
	}
	s.polled = want
}

// Run implements gnet.Runnable.
func (s *loopSocket) Run(context.Context) error {
	s.goOn()
	return nil
}

// goOn has the loop go on with reading. Requires: on the loop.
func (s *loopSocket) goOn() {
	s.mu.Lock()
	ended := s.closed || s.detached
	s.mu.Unlock()
	if ended {
		return
	}
	s.link.resume()
	s.applyInterest()
}

// read says who resumes the socket: a stand-in, or with nil the loop.
func (s *loopSocket) read(by *standIn) {
	s.mu.Lock()
	s.reader = by
	s.mu.Unlock()
}

// lend implements socket.
func (s *loopSocket) lend() bool {
	s.loop.lending = s.loop.ripe
	return s.loop.ripe
}

func (s *loopSocket) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.detached || s.reader != nil {
		return
	}
	// Under mu, so that the loop's end, which comes after OnClose, can't overtake it.
	if err := s.loop.run(s); err != nil {
		s.transport.server.cfg.Logger.Debug("event loop has stopped", "err", err)
	}
}

// flushLate implements socket.
func (s *loopSocket) flushLate() {
	s.mu.Lock()
	looked := s.reader != nil // By lookForStall.
	s.mu.Unlock()
	if !looked {
		s.flushSoon()
	}
}

func (s *loopSocket) close() {
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
	case s.detached:
		s.mu.Unlock()
		s.shut()
		s.link.die()
	case s.gnet == nil:
		s.aborted = true
		s.mu.Unlock()
	default:
		if err := s.gnet.Close(); err != nil {
			s.transport.server.cfg.Logger.Debug("event loop has stopped", "err", err)
		}
		s.mu.Unlock()
	}
}

// detach keeps the socket for sending when the client has closed its side while requests of it are
// unanswered: Kafka answers them. It reports false where nobody is there to read the answers.
func (s *loopSocket) detach() bool {
	if !s.link.unanswered() && s.unsent() == 0 {
		return false
	}
	if hungUp(s.fd) {
		return false
	}
	fd, err := duplicate(s.fd)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.registered {
		s.transport.writes.remove(s)
	}
	s.fd, s.detached, s.armed = fd, true, false
	return true
}

// hungUp says whether a connection is closed both ways, or broken.
func hungUp(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd)}}
	_, err := unix.Poll(fds, 0)
	return err != nil && !errors.Is(err, unix.EINTR) || fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
}

// shut ends all use of the descriptor and drops what isn't sent.
func (s *loopSocket) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.registered {
		s.transport.writes.remove(s)
	}
	if s.detached {
		_ = unix.Close(s.fd) // Everything that was to be sent was sent or is dropped.
	}
	s.fd = -1
	if !s.sending {
		s.queue.clear()
	}
}

// gnetLogger passes gnet's complaints on.
type gnetLogger struct{ logger *slog.Logger }

func (l gnetLogger) Debugf(string, ...any) {}
func (l gnetLogger) Infof(string, ...any)  {}
func (l gnetLogger) Warnf(format string, args ...any) {
	l.logger.Debug("gnet: " + fmt.Sprintf(format, args...))
}
func (l gnetLogger) Errorf(format string, args ...any) {
	l.logger.Debug("gnet: " + fmt.Sprintf(format, args...))
}
func (l gnetLogger) Fatalf(format string, args ...any) {
	l.logger.Error("gnet: " + fmt.Sprintf(format, args...))
}
