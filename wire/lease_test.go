//go:build linux || darwin

package wire

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// blocker is a handler whose Produce requests wait, once it is told to, and take effect in the end.
type blocker struct {
	blocks  atomic.Bool
	waiting atomic.Int32
	release chan struct{}
}

func (b *blocker) serve(r *Request) {
	if r.Key != keyProduce {
		answerMetadata(r)
		return
	}
	if b.blocks.Load() {
		b.waiting.Add(1)
		<-b.release
	}
	r.NoReply()
}

// serveLeasing serves with one loop and at most one lease, which a connection gets when the loop hands it over for the
// third time.
func serveLeasing(t *testing.T, h handlerFunc) *testServer {
	t.Helper()
	return serve(t, TransportLoop, h, func(c *Config) {
		c.Loops = 1
		c.leasing = leasePolicy{gap: math.MaxInt64, handovers: 3, perLoop: 1, runs: defaultLeases.runs}
	})
}

func (s *testServer) leased() int { return int(s.loops.leases.Load()) }

// exchange sends a Produce, and a Metadata whose answer says that it was run.
func (c *testClient) exchange(id int32) {
	c.t.Helper()
	c.send(produce(id, 0, nil))
	c.send(metadata(id, "after"))
	c.expectMetadata(id, "after")
}

// TestLease follows a connection that gets a lease when it is busy, keeps others from one, and gives it back when it rests.
func TestLease(t *testing.T) {
	b := &blocker{release: make(chan struct{})}
	s := serveLeasing(t, b.serve)
	busy, other := s.dial(), s.dial()
	for i := range int32(2) {
		busy.exchange(i)
	}
	if n := s.leased(); n != 0 {
		t.Errorf("%d leases after two hand-overs", n)
	}
	b.blocks.Store(true)
	busy.send(produce(2, 0, nil))
	eventually(t, "the third one runs", func() bool { return b.waiting.Load() == 1 })
	if n := s.leased(); n != 1 {
		t.Fatalf("%d leases after three hand-overs, want 1", n)
	}
	b.blocks.Store(false)
	for i := range int32(10) {
		other.exchange(i)
	}
	if n := s.leased(); n != 1 {
		t.Errorf("%d leases with two busy connections, want 1", n)
	}
	close(b.release)
	eventually(t, "the lease ends", func() bool { return s.leased() == 0 })
	for i := range int32(100) { // Some with a lease, some without.
		busy.exchange(i)
		other.exchange(i)
	}
	eventually(t, "no lease is left", func() bool { return s.leased() == 0 })
}

// TestRunnerStalls has a request wait for something. The reply to the one before it, which could have left together with its
// own, doesn't wait for it; nor does another connection.
func TestRunnerStalls(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		waiting, release := make(chan struct{}), make(chan struct{})
		s := serve(t, transport, func(r *Request) {
			if topicOf(r) == "slow" {
				close(waiting)
				<-release
			}
			answerMetadata(r)
		}, func(c *Config) { c.Loops = 1 })
		c, other := s.dial(), s.dial()
		c.send(append(metadata(0, "quick"), metadata(1, "slow")...))
		<-waiting
		c.expectMetadata(0, "quick")
		other.send(metadata(0, "other"))
		other.expectMetadata(0, "other")
		close(release)
		c.expectMetadata(1, "slow")
	})
}

// TestLeaseClosed closes a leased connection while a request of it waits: the client sees it at once.
func TestLeaseClosed(t *testing.T) {
	b := &blocker{release: make(chan struct{})}
	b.blocks.Store(true)
	s := serve(t, transportLease, b.serve)
	c := s.dial()
	c.send(produce(0, 0, nil))
	eventually(t, "the request runs", func() bool { return b.waiting.Load() == 1 && s.leased() == 1 })
	for _, l := range s.conns.all() {
		l.abort()
	}
	c.expectClosed()
	eventually(t, "the connection is gone", func() bool { return s.metrics.Connections.Load() == 0 })
	close(b.release)
	eventually(t, "the lease ends", func() bool { return s.leased() == 0 })
}

// TestLeaseOtherRequests has a request that a lease doesn't run wait on a worker: the lease reads on, and so its end tells
// the request that the client is gone.
func TestLeaseOtherRequests(t *testing.T) {
	parked, died := make(chan *Request, 1), make(chan struct{})
	s := serve(t, TransportLoop, func(r *Request) {
		if r.Key == keyProduce {
			r.NoReply()
			return
		}
		r.OnClose(func() { close(died) })
		parked <- r
		<-died
		r.NoReply()
	}, func(c *Config) {
		c.leasing = leasePolicy{gap: math.MaxInt64, perLoop: 1, runs: defaultLeases.runs}
	})
	c := s.dial()
	c.send(append(produce(0, 0, nil), metadata(1, "parked")...))
	<-parked
	c.tcp.SetLinger(0)
	c.c.Close()
	select {
	case <-died:
	case <-time.After(patience):
		t.Fatal("the request that waits wasn't told")
	}
}

// TestShutdownLeavesHandler shuts down while a request waits for something: the server ends with its context.
func TestShutdownLeavesHandler(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		b := &blocker{release: make(chan struct{})}
		b.blocks.Store(true)
		s := serve(t, transport, b.serve)
		c := s.dial()
		c.send(produce(0, 0, nil))
		eventually(t, "the request runs", func() bool { return b.waiting.Load() == 1 })
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown: %v", err)
		}
		close(b.release)
		eventually(t, "nothing is held", func() bool { return s.pool.InUseBytes() == 0 && s.MemoryInUse() == 0 })
		s.shutdownErr = nil // Else the end of the test complains of it.
	})
}

// TestGoneWhileRunning resets a connection, or closes it, while a request of it waits for something: one before it that is
// parked is told, and what the frames took is given back.
func TestGoneWhileRunning(t *testing.T) {
	ends := map[string]func(s *testServer, c *testClient){
		"reset": func(_ *testServer, c *testClient) {
			_ = c.tcp.SetLinger(0)
			_ = c.tcp.Close()
		},
		"abort": func(s *testServer, _ *testClient) {
			for _, l := range s.conns.all() {
				l.abort()
			}
		},
	}
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			eachTransport(t, func(t *testing.T, transport Transport) {
				waiting, told, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
				s := serve(t, transport, func(r *Request) {
					switch r.CorrelationID {
					case 0:
						r.ReleaseFrame()
						r.Proceed()
						r.OnClose(func() { close(told); r.NoReply() })
						return
					case 1:
						close(waiting)
						<-release
					}
					r.NoReply()
				})
				c := s.dial()
				c.send(produce(0, -1, nil))
				c.send(append(produce(1, 0, nil), produce(2, 0, pattern(100_000))...))
				<-waiting
				end(s, c)
				select {
				case <-told:
				case <-time.After(patience):
					t.Error("the parked request wasn't told")
				}
				eventually(t, "the connection is gone", func() bool { return s.metrics.Connections.Load() == 0 })
				close(release)
			})
		})
	}
}

// TestStalledByUs has a connection wait for memory, and another one with a frame half read whose request before it waits for
// something: that one isn't closed as if its client had stalled, since nobody reads it.
func TestStalledByUs(t *testing.T) {
	now := clock.NewManual(time.Unix(1000, 0))
	waiting, release := make(chan struct{}), make(chan struct{})
	s := serve(t, transportLease, func(r *Request) {
		switch {
		case r.Key != keyProduce:
			answerMetadata(r)
			return
		case r.CorrelationID == 1:
			close(waiting)
			<-release
		}
		r.NoReply()
	}, func(c *Config) { c.Clock, c.Limits.QueuedRequestBytes = now, 3<<20 })
	c, hog, waits := s.dial(), s.dial(), s.dial()
	second := produce(2, 0, pattern(1<<20))
	c.send(append(produce(1, 0, nil), second[:100]...))
	<-waiting
	hog.send(produce(3, 0, pattern(1<<20))[:100])
	eventually(t, "two frames are begun", func() bool { return s.MemoryInUse() > 2<<20 })
	waits.send(produce(4, 0, pattern(1<<20))[:100])
	eventually(t, "the third waits", func() bool { return s.metrics.BudgetWaits.Load() == 1 })
	now.Advance(stallInterval)
	now.Advance(stallInterval)
	hog.expectClosed()
	close(release)
	c.send(second[100:])
	c.send(metadata(5, "after"))
	c.expectMetadata(5, "after")
}

// TestLeaseLongPipeline sends more requests at once than are read ahead: the lease goes on with them.
func TestLeaseLongPipeline(t *testing.T) {
	var ran atomic.Int64
	s := serveLeasing(t, func(r *Request) {
		if r.Key != keyProduce {
			answerMetadata(r)
			return
		}
		ran.Add(1)
		r.NoReply()
	})
	c := s.dial()
	const n = 2_000
	var all []byte
	for i := range int32(n) {
		all = append(all, produce(i, 0, nil)...)
	}
	c.send(all)
	c.send(metadata(n, "after"))
	c.expectMetadata(n, "after")
	if got := ran.Load(); got != n {
		t.Errorf("%d requests ran, want %d", got, n)
	}
}
