package wire

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"syscall"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// loopPoller is what an event loop polls with. gnet doesn't tell it. Loops have no stand-ins on this system.
type loopPoller struct{ fd int }

// pollerOf looks a loop's poller up.
func pollerOf(loop gnet.EventLoop) (p loopPoller, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = loopPoller{fd: -1}, fmt.Errorf("this version of gnet keeps its poller elsewhere: %v", r)
		}
	}()
	return loopPoller{fd: int(reflect.ValueOf(loop).Elem().FieldByName("poller").Elem().FieldByName("fd").Int())}, nil
}

// hasTasks says that the loop is needed.
func (p *loopPoller) hasTasks() bool { return true }

type readyList struct{}

func (l *readyList) at(int) (fd int, readable bool) { return -1, false }

func (p *loopPoller) wait(*readyList, int) int { return 0 }

func (p *loopPoller) repeatTasks() {}

func (p *loopPoller) add(*loopPoller) error { return errors.ErrUnsupported }

func (p *loopPoller) remove(*loopPoller) {}

// setPolled changes whether a loop is told that a socket is readable.
func setPolled(pollFD, fd int, on bool) error {
	flags := unix.EV_DISABLE
	if on {
		flags = unix.EV_ENABLE
	}
	var e unix.Kevent_t
	unix.SetKevent(&e, fd, unix.EVFILT_READ, flags)
	_, err := unix.Kevent(pollFD, []unix.Kevent_t{e}, nil, nil)
	return os.NewSyscallError("kevent", err)
}

// writePoller tells sockets that they have room again. It is a kqueue of its own, since gnet's
// reports to gnet, and hangs in Go's poller, so that it takes a goroutine and no thread.
type writePoller struct {
	file    *os.File
	raw     syscall.RawConn
	fd      int
	workers *workers
	done    chan struct{}

	mu sync.Mutex
	// armed is the sockets that wait, by descriptor. A socket leaves it before its descriptor is closed.
	armed map[int]*loopSocket
}

func newWritePoller(t *loopTransport) (*writePoller, error) {
	fd, err := unix.Kqueue()
	if err != nil {
		return nil, os.NewSyscallError("kqueue", err)
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "kqueue")
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p := &writePoller{
		file: file, raw: raw, fd: fd, workers: &t.server.workers,
		done: make(chan struct{}), armed: map[int]*loopSocket{},
	}
	go p.loop()
	return p, nil
}

func (p *writePoller) loop() {
	defer close(p.done)
	events := make([]unix.Kevent_t, 64)
	for {
		n := 0
		err := p.raw.Read(func(fd uintptr) bool {
			var err error
			if n, err = unix.Kevent(int(fd), nil, events, &unix.Timespec{}); err != nil {
				n = 0
			}
			return n > 0
		})
		if err != nil {
			return // Closed.
		}
		for _, e := range events[:n] {
			p.mu.Lock()
			s := p.armed[int(e.Ident)]
			delete(p.armed, int(e.Ident))
			p.mu.Unlock()
			if s != nil {
				p.workers.start(taskFunc(s.writable))
			}
		}
	}
}

// arm has s.writable called once when the socket has room or is broken. Requires: s.mu held.
func (p *writePoller) arm(s *loopSocket) error {
	p.mu.Lock()
	p.armed[s.fd] = s
	p.mu.Unlock()
	var e unix.Kevent_t
	unix.SetKevent(&e, s.fd, unix.EVFILT_WRITE, unix.EV_ADD|unix.EV_ONESHOT)
	if _, err := unix.Kevent(p.fd, []unix.Kevent_t{e}, nil, nil); err != nil {
		return os.NewSyscallError("kevent", err)
	}
	s.armed, s.registered = true, true
	return nil
}

// watch does nothing here: that a client is gone is noticed when it is sent something.
func (p *writePoller) watch(*loopSocket) error { return nil }

// remove forgets a socket whose descriptor is about to be closed. Requires: s.mu held.
func (p *writePoller) remove(s *loopSocket) {
	p.mu.Lock()
	delete(p.armed, s.fd)
	p.mu.Unlock()
	var e unix.Kevent_t
	unix.SetKevent(&e, s.fd, unix.EVFILT_WRITE, unix.EV_DELETE)
	_, _ = unix.Kevent(p.fd, []unix.Kevent_t{e}, nil, nil) // It may have fired, which removed it.
	s.registered = false
}

func (p *writePoller) close() error {
	err := p.file.Close()
	<-p.done
	return err
}

func duplicate(fd int) (int, error) {
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
}

// relisten asks the system for another backlog of a listening socket.
func relisten(fd uintptr, backlog int) error {
	return os.NewSyscallError("listen", unix.Listen(int(fd), backlog))
}

func setReceiveBuffer(fd uintptr, n int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, n))
}
