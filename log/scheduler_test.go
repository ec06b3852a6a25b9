package commitlog

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// burst is a clock whose timers all fall due at once, each on a goroutine of its own, as those of the system do.
type burst struct {
	clock.Clock
	timers []func()
}

func (b *burst) AfterFunc(_ time.Duration, f func()) clock.Timer {
	b.timers = append(b.timers, f)
	return stoppedTimer{}
}

type stoppedTimer struct{}

func (stoppedTimer) Stop() bool               { return true }
func (stoppedTimer) Reset(time.Duration) bool { return true }

// TestRemovalsInTurn has many functions that wait for the disk fall due at once: they run one after the other, since each
// would hold a thread of the system, and a stop waits for the one that runs only.
func TestRemovalsInTurn(t *testing.T) {
	const n = 300
	b := &burst{}
	s := newScheduler(b)
	var now, most, ran atomic.Int32
	gate := make(chan struct{})
	for range n {
		s.afterInTurn(time.Second, func() {
			most.Store(max(most.Load(), now.Add(1)))
			if ran.Add(1) == 10 {
				<-gate
			}
			runtime.Gosched()
			now.Add(-1)
		})
	}
	var fired sync.WaitGroup
	for _, f := range b.timers {
		fired.Go(f)
	}
	for ran.Load() < 10 {
		runtime.Gosched()
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.stop()
	}()
	for begun := false; !begun; runtime.Gosched() {
		s.mu.Lock()
		begun = s.stopped
		s.mu.Unlock()
	}
	close(gate)
	<-stopped
	fired.Wait()
	if got := ran.Load(); got != 10 || most.Load() != 1 {
		t.Errorf("%d ran before the stop, want 10; %d at the same time, want one", got, most.Load())
	}
	s.afterInTurn(0, func() { t.Error("ran after the stop") })

	s = newScheduler(b)
	b.timers = nil
	ran.Store(100)
	for range n {
		s.afterInTurn(time.Second, func() { ran.Add(1) })
	}
	for _, f := range b.timers {
		fired.Go(f)
	}
	fired.Wait()
	s.stop()
	if got := ran.Load(); got != 100+n {
		t.Errorf("%d of %d ran", got-100, n)
	}
}
