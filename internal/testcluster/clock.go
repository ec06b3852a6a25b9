package testcluster

import (
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// nodeClock is a node's clock, which may jump. Its timers don't: they are the machine's monotonic ones. What a
// node computes from two readings does jump with it, which is worse than what a machine does to whom
// subtracts monotonic readings, and is what a process meets that was stopped for a while.
type nodeClock struct {
	clock.System
	ahead atomic.Int64
}

// Now implements clock.Clock.
func (c *nodeClock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// jump moves the clock by d.
func (c *nodeClock) jump(d time.Duration) { c.ahead.Add(int64(d)) }
