package replica

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// throttle bounds the bytes a second of replication: a bucket that holds one second's worth and may go
// into debt, since a batch is copied whole. Pure but for its lock: time is an argument.
type throttle struct {
	mu sync.Mutex
	// rate is bytes a second; no bound at zero and below, as Kafka's default of the largest number is.
	rate  int64     // guarded by mu
	left  float64   // guarded by mu
	since time.Time // guarded by mu
}

// set changes the rate; the bucket starts full.
func (t *throttle) set(rate int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate != rate {
		t.rate, t.left, t.since = rate, float64(rate), time.Time{}
	}
}

// fill adds what came in since the last look. Requires: t.mu held.
func (t *throttle) fill(now time.Time) {
	if !t.since.IsZero() {
		t.left = min(float64(t.rate), t.left+now.Sub(t.since).Seconds()*float64(t.rate))
	}
	t.since = now
}

// take notes that n bytes were copied.
func (t *throttle) take(n int, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate > 0 {
		t.fill(now)
		t.left -= float64(n)
	}
}

// delay is how long nothing more should be copied; zero if it may be.
func (t *throttle) delay(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rate <= 0 {
		return 0
	}
	t.fill(now)
	if t.left > 0 {
		return 0
	}
	return max(time.Duration((1-t.left)/float64(t.rate)*float64(time.Second)), time.Millisecond)
}

// names tells whether a list of throttled replicas, "*" or pairs partition:broker, has a replica.
func names(list []string, partition, broker int32) bool {
	want := strconv.Itoa(int(partition)) + ":" + strconv.Itoa(int(broker))
	for _, e := range list {
		if e = strings.TrimSpace(e); e == "*" || e == want {
			return true
		}
	}
	return false
}
