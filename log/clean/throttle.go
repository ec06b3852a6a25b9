package clean

import (
	"sync"
	"time"
)

// maxPause bounds one pause, so that a stop isn't waited for long.
const maxPause = time.Second

// Throttle holds all cleaners together to log.cleaner.io.max.bytes.per.second.
type Throttle struct {
	mu sync.Mutex // guards what follows
	// bytesPerSecond is the limit; zero or less is none.
	bytesPerSecond float64
	// free is when what was done so far would be done at that rate.
	free time.Time
}

// SetRate changes the limit.
func (t *Throttle) SetRate(bytesPerSecond float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytesPerSecond != bytesPerSecond {
		t.bytesPerSecond, t.free = bytesPerSecond, time.Time{}
	}
}

// Take accounts for n bytes read or written and returns how long to pause.
func (t *Throttle) Take(n int64, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bytesPerSecond <= 0 {
		return 0
	}
	if t.free.Before(now) {
		t.free = now
	}
	seconds := min(float64(n)/t.bytesPerSecond, 3600)
	t.free = t.free.Add(time.Duration(seconds * float64(time.Second)))
	return min(t.free.Sub(now), maxPause)
}
