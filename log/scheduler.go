package commitlog

import (
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// scheduler runs functions later and again and again until stop: each on a goroutine of its own, or one after the other.
type scheduler struct {
	clk clock.Clock

	mu      sync.Mutex // guards what follows
	stopped bool
	timers  map[*task]struct{}
	running sync.WaitGroup
	// queue is what is due of afterInTurn; inTurn says that a goroutine runs it.
	queue  []func()
	inTurn bool
}

// task is a function that waits for its time.
type task struct{ timer clock.Timer }

func newScheduler(clk clock.Clock) *scheduler {
	return &scheduler{clk: clk, timers: map[*task]struct{}{}}
}

// after runs f once d has passed, or never if the scheduler is stopped before.
func (s *scheduler) after(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	t := &task{}
	s.timers[t] = struct{}{}
	// The function below waits for s.mu, so t.timer is set before it is needed.
	t.timer = s.clk.AfterFunc(d, func() {
		s.mu.Lock()
		_, due := s.timers[t]
		if due {
			delete(s.timers, t)
			s.running.Add(1)
		}
		s.mu.Unlock()
		if due {
			defer s.running.Done()
			f()
		}
	})
}

// afterInTurn is after for what waits for the disk: one function at a time. As many goroutines would take a thread of the
// system each, and the process has a limit of them.
func (s *scheduler) afterInTurn(d time.Duration, f func()) {
	s.after(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue = append(s.queue, f)
		if !s.inTurn {
			s.runQueue()
		}
	})
}

// runQueue runs what is due until nothing is, or the scheduler is stopped. Requires: s.mu held, which it gives up
// meanwhile.
func (s *scheduler) runQueue() {
	s.inTurn = true
	for len(s.queue) > 0 && !s.stopped {
		f := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.mu.Unlock()
		f()
		s.mu.Lock()
	}
	s.queue, s.inTurn = nil, false
}

// every runs f after first, and then again and again, interval after its last end. An interval of zero or
// less is never.
func (s *scheduler) every(first, interval time.Duration, f func()) {
	if interval <= 0 {
		return
	}
	s.after(first, func() {
		f()
		s.every(interval, interval, f)
	})
}

// stop lets nothing start any more and waits for what runs.
func (s *scheduler) stop() {
	s.mu.Lock()
	s.stopped = true
	for t := range s.timers {
		t.timer.Stop()
	}
	clear(s.timers)
	s.mu.Unlock()
	s.running.Wait()
}
