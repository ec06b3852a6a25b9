package wire

import (
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// idleSweep closes connections that moved no byte for connections.max.idle.ms and wait for
// nothing. One timer serves all of them: it looks at every connection when the one that was
// the longest idle may be due, so that activity costs a store and no timer operation.
type idleSweep struct {
	server  *Server
	maxIdle time.Duration

	mu      sync.Mutex
	timer   clock.Timer
	armed   bool
	stopped bool
	running sync.WaitGroup
}

// minSweep is the shortest time between two sweeps.
const minSweep = 10 * time.Millisecond

// arm makes sure that a sweep will come, as there is a connection.
func (s *idleSweep) arm() {
	if s.maxIdle < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armIn(s.maxIdle)
}

// armIn sets the timer if none is pending. Requires: s.mu held.
func (s *idleSweep) armIn(d time.Duration) {
	if s.armed || s.stopped {
		return
	}
	s.armed = true
	if s.timer == nil {
		s.timer = s.server.cfg.Clock.AfterFunc(d, s.sweep)
	} else {
		s.timer.Reset(d)
	}
}

func (s *idleSweep) sweep() {
	s.mu.Lock()
	s.armed = false
	if s.stopped {
		s.mu.Unlock()
		return
	}
	s.running.Add(1)
	defer s.running.Done()
	s.mu.Unlock()

	now := s.server.cfg.Clock.Now().Sub(s.server.started)
	links := s.server.conns.all()
	next := s.maxIdle
	for _, l := range links {
		left := time.Duration(l.lastActive.Load()) + s.maxIdle - now
		if left > 0 {
			next = min(next, left)
			continue
		}
		if l.closeIfIdle() {
			s.server.metrics.IdleCloses.Add(1)
			s.server.cfg.Logger.Debug("closing idle connection", "client", l.session.ClientAddr.String(), "listener", l.session.Listener)
		}
	}
	if len(links) > 0 {
		s.mu.Lock()
		s.armIn(max(next, minSweep))
		s.mu.Unlock()
	}
}

// stop prevents further sweeps and waits for one that runs.
func (s *idleSweep) stop() {
	s.mu.Lock()
	s.stopped = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}
