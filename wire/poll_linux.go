package wire

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

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
