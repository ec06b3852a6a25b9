//go:build linux || darwin

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
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
	// leases is how many connections have one, and maxLeases how many may: as many as there are loops.
	leases    atomic.Int32
	maxLeases int32
}

func startLoops(s *Server) (*loopTransport, error) {
	t := &loopTransport{server: s}
	loops := s.cfg.Loops
	if loops <= 0 {
		loops = runtime.GOMAXPROCS(0)
	}
	t.maxLeases = int32(s.cfg.leasing.perLoop * loops)
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
	pollFD, err := pollDescriptor(c.EventLoop())
	s.mu.Lock()
	s.gnet, s.loop, s.fd, s.pollFD, s.polled = c, c.EventLoop(), c.Fd(), pollFD, true
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
	return nil, gnet.None
}

// OnTraffic implements gnet.EventHandler.
func (t *loopTransport) OnTraffic(c gnet.Conn) gnet.Action {
	s := c.Context().(*loopSocket)
	p, err := c.Next(-1)
	if err != nil || len(p) == 0 {
		return gnet.None
	}
	s.link.received(p)
	s.readFrame(len(p) == loopReadBytes)
	s.letGo()
	return gnet.None
}

// OnClose implements gnet.EventHandler. gnet closes the descriptor when it returns.
func (t *loopTransport) OnClose(c gnet.Conn, err error) gnet.Action {
	s := c.Context().(*loopSocket)
	if errors.Is(err, io.EOF) && s.detach() {
		s.link.end()
		s.flush()
		s.watch()
		return gnet.None
	}
	s.shut()
	s.link.die()
	return gnet.None
}

// pollDescriptor is the descriptor that a loop polls with. gnet doesn't tell it.
func pollDescriptor(loop gnet.EventLoop) (fd int, err error) {
	defer func() {
		if r := recover(); r != nil {
			fd, err = -1, fmt.Errorf("this version of gnet keeps its poller elsewhere: %v", r)
		}
	}()
	return int(reflect.ValueOf(loop).Elem().FieldByName("poller").Elem().FieldByName("fd").Int()), nil
}

// loopSocket is a connection on an event loop.
//
// The loop reads, or a lease does. Anyone sends: directly and without waiting; when the socket is full, the rest is sent once
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
	gnet   gnet.Conn
	loop   gnet.EventLoop
	pollFD int
	// polled: the loop polls the socket for reading. leasing: it will give that to a lease. Only the loop uses them.
	polled, leasing bool

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
	// leased is the lease that reads, if one does.
	leased *lease
	// armed: writePoller tells when there is room; registered: it knows fd.
	armed, registered bool
}

// readFrame reads the rest of a large frame where it belongs, past the loop's buffer. more says that
// the socket probably holds more than was read.
func (s *loopSocket) readFrame(more bool) {
	for turn := 0; turn < turnBytes; {
		space := s.link.space()
		if len(space) == 0 || !more && len(space) < loopReadBytes {
			return
		}
		n, err := unix.Read(s.fd, space[:min(len(space), turnBytes)])
		if err != nil || n <= 0 {
			return // The loop sees the same and acts on it.
		}
		s.link.filled(n)
		turn += n
		more = true
	}
}

// letGo ends the loop's turn with the socket. Requires: on the loop.
func (s *loopSocket) letGo() {
	if s.leasing {
		s.beginLease()
		return
	}
	s.applyInterest()
}

// applyInterest polls for reading as long as the link wants to read. Requires: on the loop.
func (s *loopSocket) applyInterest() {
	want := s.link.reading()
	if want == s.polled {
		return
	}
	if err := setPolled(s.pollFD, s.fd, want); err != nil {
		s.transport.server.cfg.Logger.Error("can't change what is polled", "err", err)
		s.close()
		return
	}
	s.polled = want
}

// Run implements gnet.Runnable: the loop goes on reading.
func (s *loopSocket) Run(context.Context) error {
	s.mu.Lock()
	mine := s.readByLoop()
	s.mu.Unlock()
	if !mine {
		return nil
	}
	s.link.resume()
	s.letGo()
	return nil
}

// readByLoop says whether it is the loop that reads. Requires: s.mu held.
func (s *loopSocket) readByLoop() bool { return !s.closed && !s.detached && s.leased == nil }

func (s *loopSocket) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.readByLoop() { // The end of a lease resumes.
		return
	}
	// Under mu, so that the loop's end, which comes after OnClose, can't overtake it.
	if err := s.loop.Execute(context.Background(), s); err != nil {
		s.transport.server.cfg.Logger.Debug("event loop has stopped", "err", err)
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
	if s.leased != nil {
		_ = unix.Shutdown(s.fd, unix.SHUT_RDWR) // Its own descriptor would keep the connection open.
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
