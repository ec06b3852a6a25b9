package wire

import (
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

const (
	// stallInterval is how often, while connections wait for memory, the others are looked at.
	stallInterval = 2 * time.Second
	// stallBytes is the least that a frame under construction must get between two looks.
	stallBytes = 64 << 10
)

// stallSweep takes memory back from clients that hold it for frames they don't send: while connections wait
// for the budget, one whose frame gets less than stallBytes in a stallInterval is closed. Without
// it, a few half-sent frames would keep everybody waiting until connections.max.idle.ms. While
// there is memory, a client may be as slow as it likes.
type stallSweep struct {
	server *Server

	mu      sync.Mutex
	timer   clock.Timer
	armed   bool
	stopped bool
	running sync.WaitGroup
}

// arm makes sure that a sweep will come, as a connection waits. It doesn't block.
func (s *stallSweep) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed || s.stopped {
		return
	}
	s.armed = true
	if s.timer == nil {
		s.timer = s.server.cfg.Clock.AfterFunc(stallInterval, s.sweep)
	} else {
		s.timer.Reset(stallInterval)
	}
}

func (s *stallSweep) sweep() {
	s.mu.Lock()
	s.armed = false
	if s.stopped {
		s.mu.Unlock()
		return
	}
	s.running.Add(1)
	defer s.running.Done()
	s.mu.Unlock()

	if !s.server.budget.Wanted() {
		return
	}
	for _, l := range s.server.conns.all() {
		l.closeIfStalled(stallBytes)
	}
	s.arm()
}

// stop prevents further sweeps and waits for one that runs.
func (s *stallSweep) stop() {
	s.mu.Lock()
	s.stopped = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}
