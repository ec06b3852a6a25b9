package wire

import (
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// sweepTimer runs a look at the connections some time after it was armed: once, however often it
// was armed meanwhile.
type sweepTimer struct {
	clock clock.Clock
	// sweep is the look. It may arm the timer again.
	sweep func()

	mu      sync.Mutex
	timer   clock.Timer
	armed   bool
	stopped bool
	running sync.WaitGroup
}

// arm sets the timer if none is pending. It doesn't block.
func (t *sweepTimer) arm(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed || t.stopped {
		return
	}
	t.armed = true
	if t.timer == nil {
		t.timer = t.clock.AfterFunc(d, t.fire)
	} else {
		t.timer.Reset(d)
	}
}

func (t *sweepTimer) fire() {
	t.mu.Lock()
	t.armed = false
	if t.stopped {
		t.mu.Unlock()
		return
	}
	t.running.Add(1)
	defer t.running.Done()
	t.mu.Unlock()
	t.sweep()
}

// stop prevents further sweeps and waits for one that runs.
func (t *sweepTimer) stop() {
	t.cancel()
	t.running.Wait()
}

// cancel prevents further sweeps.
func (t *sweepTimer) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}
