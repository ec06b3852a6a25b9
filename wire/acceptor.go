package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	minAcceptBackoff = 5 * time.Millisecond
	maxAcceptBackoff = time.Second
)

// listen opens a listening socket. SO_REUSEADDR is on, which Go does by itself, so that a
// restart right after a kill finds the port free. Keep-alive is on so that connections whose peer is gone,
// or that something on the way dropped, are noticed.
func listen(address string, receiveBuffer, backlog int) (net.Listener, error) {
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 60 * time.Second, Interval: 15 * time.Second, Count: 5}}
	if receiveBuffer > 0 {
		// The window's scale is agreed on at connect: the size must be set before.
		lc.Control = func(_, _ string, c syscall.RawConn) error {
			var err error
			if e := c.Control(func(fd uintptr) { err = setReceiveBuffer(fd, receiveBuffer) }); e != nil {
				return e
			}
			return err
		}
	}
	ln, err := lc.Listen(context.Background(), "tcp", address)
	if err != nil || backlog <= 0 {
		return ln, err
	}
	if err := setBacklog(ln, backlog); err != nil {
		_ = ln.Close() // It served nobody.
		return nil, fmt.Errorf("socket.listen.backlog.size: %w", err)
	}
	return ln, nil
}

// setBacklog sets how many connections may wait to be accepted. Go asks for the system's limit; listening
// once more on the same socket only changes that.
func setBacklog(ln net.Listener, backlog int) error {
	t, ok := ln.(*net.TCPListener)
	if !ok {
		return nil
	}
	c, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) { failed = relisten(fd, backlog) })
	return errors.Join(err, failed)
}

// accept accepts connections until the listener is closed. It survives every other error, such
// as running out of descriptors, by trying again with a growing pause.
func (s *Server) accept(ln *boundListener) {
	backoff := time.Duration(0)
	for {
		c, err := ln.socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			err = s.admit(ln, c)
		}
		if err == nil {
			backoff = 0
			continue
		}
		s.metrics.AcceptErrors.Add(1)
		s.reasons.event(closeAccept, "can't accept a connection", "listener", ln.Name, "err", err)
		backoff = min(max(2*backoff, minAcceptBackoff), maxAcceptBackoff)
		if !s.conns.pause(s.cfg.Clock, backoff) {
			return
		}
	}
}

// admit sets an accepted connection up, or closes it. It returns an error only if the cause isn't
// the client's.
func (s *Server) admit(ln *boundListener, c net.Conn) error {
	if n := s.cfg.Limits.SendBufferBytes; n > 0 {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetWriteBuffer(n) // The system's size does as well.
		}
	}
	l := newLink(s, s.newSession(ln, c), ln.Protected)
	var serve func() error
	if ln.usesLoops() {
		serve = s.loops.prepare(l, c)
	} else {
		serve = prepareStd(l, c, ln)
	}
	a := s.conns.add(l, ln)
	if !a.ok {
		if a.limit >= 0 {
			s.metrics.Rejected.Add(1)
			s.reasons.event(closeRejected, "connection refused: its address has too many (max.connections.per.ip)",
				"client", l.session.ClientAddr.String(), "listener", ln.Name, "limit", a.limit)
		}
		_ = c.Close() // It is refused by this; nothing was sent.
		return nil
	}
	if a.victim != nil {
		a.victim.abort()
	}
	s.metrics.Accepted.Add(1)
	s.metrics.Connections.Add(1)
	s.idle.arm()
	return serve()
}
