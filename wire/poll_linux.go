package wire

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/panjf2000/gnet/v2"
	"golang.org/x/sys/unix"
)

// loopPoller is what an event loop polls with. gnet doesn't tell it.
type loopPoller struct {
	fd int
	// tasks is not 0 while tasks wait for the loop, and tasksFD what tells it of them.
	tasks   *int32
	tasksFD int
}

// pollerOf looks a loop's poller up.
func pollerOf(loop gnet.EventLoop) (p loopPoller, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = loopPoller{fd: -1}, fmt.Errorf("this version of gnet keeps its poller elsewhere: %v", r)
		}
	}()
	poller := reflect.ValueOf(loop).Elem().FieldByName("poller").Elem()
	tasks := poller.FieldByName("wakeupCall")
	if tasks.Kind() != reflect.Int32 {
		return loopPoller{fd: -1}, errors.New("this version of gnet counts its tasks elsewhere")
	}
	return loopPoller{
		fd:    int(poller.FieldByName("fd").Int()),
		tasks: (*int32)(unsafe.Pointer(tasks.UnsafeAddr())), tasksFD: int(poller.FieldByName("efd").Int()),
	}, nil
}

// hasTasks says whether tasks wait for the loop.
func (p *loopPoller) hasTasks() bool { return atomic.LoadInt32(p.tasks) != 0 }

// readyList is what wait found.
type readyList [32]unix.EpollEvent

// at tells of one descriptor whether it is readable, and nothing else than that.
func (l *readyList) at(i int) (fd int, readable bool) {
	return int(l[i].Fd), l[i].Events&^(unix.EPOLLIN|unix.EPOLLPRI) == 0
}

// wait polls in the loop's place. It returns how many descriptors are ready, 0 after the time. Requires: the loop doesn't poll.
func (p *loopPoller) wait(l *readyList, millis int) int {
	for {
		n, err := unix.EpollWait(p.fd, l[:], millis)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0)
		}
	}
}

// repeatTasks has the loop's own poll tell of tasks that wait is about to tell of, or did: gnet is told once.
func (p *loopPoller) repeatTasks() {
	e := unix.EpollEvent{Fd: int32(p.tasksFD), Events: unix.EPOLLIN | unix.EPOLLPRI | unix.EPOLLET | unix.EPOLLRDHUP} // As gnet has it.
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, p.tasksFD, &e)                                                        // It is known, so this can't fail.
}

// add has wait tell of another poller as well, when that has something to tell, until remove.
func (p *loopPoller) add(other *loopPoller) error {
	e := unix.EpollEvent{Fd: int32(other.fd), Events: unix.EPOLLIN}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, other.fd, &e))
}

func (p *loopPoller) remove(other *loopPoller) {
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, other.fd, nil) // It was added, so this can't fail.
}

// setPolled changes whether a loop is told that a socket is readable. Errors of the socket are
// told in any case.
func setPolled(pollFD, fd int, on bool) error {
	var events uint32
	if on {
		events = unix.EPOLLIN | unix.EPOLLPRI // As gnet has it.
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(pollFD, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Fd: int32(fd), Events: events}))
}

// writePoller tells sockets that they have room again. It is an epoll of its own, since gnet's
// reports to gnet, and hangs in Go's poller, so that it takes a goroutine and no thread.
type writePoller struct {
	file *os.File
	raw  syscall.RawConn
	// fd is file's descriptor; valid until close.
	fd      int
	workers *workers
	done    chan struct{}

	mu sync.Mutex
	// armed is the sockets that wait or are watched, by session id.
	armed map[uint64]*loopSocket
}

func newWritePoller(t *loopTransport) (*writePoller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "epoll")
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p := &writePoller{
		file: file, raw: raw, fd: fd, workers: &t.server.workers,
		done: make(chan struct{}), armed: map[uint64]*loopSocket{},
	}
	go p.loop()
	return p, nil
}

func (p *writePoller) loop() {
	defer close(p.done)
	events := make([]unix.EpollEvent, 64)
	for {
		n := 0
		err := p.raw.Read(func(fd uintptr) bool {
			var err error
			if n, err = unix.EpollWait(int(fd), events, 0); err != nil {
				n = 0
			}
			return n > 0
		})
		if err != nil {
			return // Closed.
		}
		for _, e := range events[:n] {
			id := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			p.mu.Lock()
			s := p.armed[id]
			delete(p.armed, id)
			p.mu.Unlock()
			if s != nil {
				p.workers.start(taskFunc(s.writable))
			}
		}
	}
}

// arm has s.writable called once when the socket has room or is broken. Requires: s.mu held.
func (p *writePoller) arm(s *loopSocket) error {
	if err := p.register(s, unix.EPOLLOUT); err != nil {
		return err
	}
	s.armed = true
	return nil
}

// watch has s.writable called once when the socket is closed both ways or broken. Requires: s.mu held,
// s isn't armed.
func (p *writePoller) watch(s *loopSocket) error { return p.register(s, 0) }

// register has s.writable called once after one of the events, or after an error, which is told in any
// case. Requires: s.mu held.
func (p *writePoller) register(s *loopSocket, events uint32) error {
	id := s.link.session.ID
	p.mu.Lock()
	p.armed[id] = s
	p.mu.Unlock()
	op := unix.EPOLL_CTL_ADD
	if s.registered {
		op = unix.EPOLL_CTL_MOD
	}
	e := unix.EpollEvent{Events: events | unix.EPOLLONESHOT, Fd: int32(uint32(id)), Pad: int32(uint32(id >> 32))}
	if err := unix.EpollCtl(p.fd, op, s.fd, &e); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	s.registered = true
	return nil
}

// remove forgets a socket whose descriptor is about to be closed. Requires: s.mu held.
func (p *writePoller) remove(s *loopSocket) {
	p.mu.Lock()
	delete(p.armed, s.link.session.ID)
	p.mu.Unlock()
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, s.fd, nil) // It is known, so this can't fail.
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
