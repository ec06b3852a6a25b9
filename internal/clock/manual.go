package clock

import (
	"slices"
	"sync"
	"time"
)

// Manual is a Clock that moves only when told to. Timers that fall due run in order of their
// deadlines, on the goroutine that calls Advance.
type Manual struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

type manualTimer struct {
	clock *Manual
	at    time.Time
	f     func()
}

// NewManual returns a Manual that stands at start.
func NewManual(start time.Time) *Manual { return &Manual{now: start} }

// Now implements Clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// AfterFunc implements Clock.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := &manualTimer{clock: m, at: m.now.Add(d), f: f}
	m.timers = append(m.timers, t)
	return t
}

// Advance moves the clock by d and runs what falls due on the way, each at its own deadline.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	end := m.now.Add(d)
	for {
		i := -1
		for j, t := range m.timers {
			if !t.at.After(end) && (i < 0 || t.at.Before(m.timers[i].at)) {
				i = j
			}
		}
		if i < 0 {
			break
		}
		t := m.timers[i]
		m.timers = slices.Delete(m.timers, i, i+1)
		if t.at.After(m.now) {
			m.now = t.at
		}
		m.mu.Unlock()
		t.f()
		m.mu.Lock()
	}
	m.now = end
	m.mu.Unlock()
}

// Stop implements Timer.
func (t *manualTimer) Stop() bool {
	m := t.clock
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.timers, t)
	if i < 0 {
		return false
	}
	m.timers = slices.Delete(m.timers, i, i+1)
	return true
}

// Reset implements Timer.
func (t *manualTimer) Reset(d time.Duration) bool {
	pending := t.Stop()
	m := t.clock
	m.mu.Lock()
	defer m.mu.Unlock()
	t.at = m.now.Add(d)
	m.timers = append(m.timers, t)
	return pending
}
