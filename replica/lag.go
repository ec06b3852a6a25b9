package replica

import (
	"sync"

	"github.com/ottla/ottla/internal/clock"
)

// lagCheck looks at the followers of all partitions every half replica.lag.time.max.ms, as Kafka does. It
// begins with the first partition that has followers.
type lagCheck struct {
	m *Manager

	mu     sync.Mutex
	timer  clock.Timer // guarded by mu; nil until begun
	closed bool        // guarded by mu
	// running is held while partitions are looked at.
	running sync.Mutex
}

// begin starts the timer if it isn't.
func (c *lagCheck) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil && !c.closed {
		c.timer = c.m.cfg.Clock.AfterFunc(c.m.lagTimeMax()/2, c.run)
	}
}

func (c *lagCheck) run() {
	c.running.Lock()
	defer c.running.Unlock()
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return
	}
	for _, p := range c.m.all() {
		p.checkLag()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.timer.Reset(c.m.lagTimeMax() / 2)
	}
}

// close stops the timer and waits for a check that runs.
func (c *lagCheck) close() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.running.Lock()
	c.running.Unlock() //nolint:staticcheck // Entered only to wait for run.
}
