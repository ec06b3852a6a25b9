package wire

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// TestLargeRequestsLeaveRoom checks that large requests, however slowly their clients send them, leave half of the budget
// to the others.
func TestLargeRequestsLeaveRoom(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, func(r *Request) { r.NoReply() }, func(c *Config) { c.Limits.QueuedRequestBytes = 48 << 20 })
		for i := range int32(5) {
			waits := s.metrics.BudgetWaits.Load()
			s.dial().send(produce(i, 0, pattern(10<<20))[:100])
			if i < 2 { // Two fit.
				eventually(t, "it is charged", func() bool { return s.MemoryInUse() > int64(1+i)*10<<20 })
			} else {
				eventually(t, "it waits", func() bool { return s.metrics.BudgetWaits.Load() == waits+1 })
			}
		}
		waits := s.metrics.BudgetWaits.Load()
		small := s.dial()
		small.send(produce(9, 0, pattern(1<<20)))
		eventually(t, "a usual request runs", func() bool { return s.metrics.Requests(keyProduce) == 1 })
		if n := s.metrics.BudgetWaits.Load(); n != waits {
			t.Error("the usual request had to wait")
		}
	})
}

// TestStalled steps a clock by hand: while a request waits for memory, the connection that holds it for half a frame
// is closed, and one that goes on sending isn't.
func TestStalled(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		now := clock.NewManual(time.Unix(1000, 0))
		s := serve(t, transport, func(r *Request) { r.NoReply() }, func(c *Config) { c.Clock, c.Limits.QueuedRequestBytes = now, 3<<20 })
		stalled, slow, waits := s.dial(), s.dial(), s.dial()
		stalled.send(produce(1, 0, pattern(1<<20))[:100])
		frame := produce(2, 0, pattern(1<<20))
		slow.send(frame[:100])
		eventually(t, "both are charged", func() bool { return s.MemoryInUse() > 2<<20 })
		now.Advance(stallInterval)
		now.Advance(stallInterval) // Nobody waits: both may take their time.
		go waits.send(produce(3, 0, pattern(1<<20)))
		eventually(t, "it waits", func() bool { return s.metrics.BudgetWaits.Load() == 1 })
		now.Advance(stallInterval)
		slow.send(frame[100 : 100+stallBytes])
		eventually(t, "it arrives", func() bool {
			return slices.ContainsFunc(s.conns.all(), func(l *link) bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.conn.frame.have == 100-4+stallBytes
			})
		})
		now.Advance(stallInterval)
		stalled.expectClosed()
		eventually(t, "memory is given to who waits", func() bool { return s.metrics.Requests(keyProduce) == 1 })
		slow.send(frame[100+stallBytes:])
		eventually(t, "the slow one gets through", func() bool { return s.metrics.Requests(keyProduce) == 2 })
		if !strings.Contains(s.log.String(), "stalled") {
			t.Errorf("log doesn't say why:\n%s", s.log)
		}
	})
}
