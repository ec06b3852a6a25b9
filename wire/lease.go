//go:build linux || darwin

package wire

import (
	"errors"

	"golang.org/x/sys/unix"
)

// leaseMillis is how long a lease waits for the client's next bytes.
const leaseMillis = 2

// lease is the reading of a busy connection by a worker, in the place of its event loop. The worker runs what it reads as
// well, and waits on the socket itself: no other thread has to be woken for a request. It ends when the client rests.
//
// The loop doesn't poll the socket meanwhile, but may find it broken all the same, and closes it. So the worker has a
// descriptor of its own, and doesn't read into frames directly, which end with the connection.
type lease struct {
	socket *loopSocket
	fd     int
	// late sends the replies that were held back for those of a request that turns out to take long.
	late sweepTimer
}

// lease implements socket. Requires: on the loop, within OnTraffic or Run, which begin what was promised.
func (s *loopSocket) lease() bool {
	t := s.transport
	if t.leases.Add(1) > t.maxLeases {
		t.leases.Add(-1)
		return false
	}
	s.leasing = true
	return true
}

// beginLease hands the reading over. Requires: on the loop, which is done with the socket; s.leasing.
func (s *loopSocket) beginLease() {
	s.leasing = false
	err := setPolled(s.pollFD, s.fd, false)
	var fd int
	if err == nil {
		s.polled = false
		fd, err = duplicate(s.fd)
	}
	if err != nil {
		s.transport.leases.Add(-1)
		s.link.startWorker(s.link) // As without a lease: descriptors run out.
		s.applyInterest()
		return
	}
	l := &lease{socket: s, fd: fd, late: sweepTimer{clock: s.transport.server.cfg.Clock, sweep: s.flush}}
	s.mu.Lock()
	s.leased = l
	s.mu.Unlock()
	if !s.link.startWorker(l) {
		l.end()
	}
}

// run reads and runs until the client rests, or the connection doesn't want to read.
func (l *lease) run() {
	defer l.end()
	link := l.socket.link
	buf := l.socket.transport.server.pool.Get(loopReadBytes)
	defer buf.Release()
	link.runBy(leaseRunner)
	for {
		for !link.reading() {
			if !link.resumeLeased() {
				return
			}
		}
		n, err := unix.Read(l.fd, buf.Full()[:loopReadBytes])
		switch {
		case n > 0:
			link.receivedLeased(buf.Full()[:n])
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EAGAIN) || !readableWithin(l.fd, leaseMillis):
			return // The end, and errors, the loop finds as well.
		}
	}
}

// end gives the reading back to the loop.
func (l *lease) end() {
	s := l.socket
	l.late.cancel() // A flush that runs may wait for the disk, and may as well come later.
	s.mu.Lock()
	s.leased = nil
	s.mu.Unlock()
	_ = unix.Close(l.fd) // Only a number: the loop has another one.
	s.transport.leases.Add(-1)
	s.resume()
}

// flushLate implements socket.
func (s *loopSocket) flushLate() {
	s.mu.Lock()
	l := s.leased
	s.mu.Unlock()
	if l == nil {
		s.flushSoon()
		return
	}
	l.late.arm(latestFlush)
}

// readableWithin waits until a socket has something to read, be it its end or an error.
func readableWithin(fd, millis int) bool { return polledWithin(fd, unix.POLLIN, millis) }

// writableWithin waits until a socket has room, or is broken, which the next call tells.
func writableWithin(fd, millis int) bool { return polledWithin(fd, unix.POLLOUT, millis) }

// polledWithin waits for an event of a socket. It may be wrong, after a signal.
func polledWithin(fd int, events int16, millis int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: events}}
	n, err := unix.Poll(fds, millis)
	return n > 0 || errors.Is(err, unix.EINTR)
}
