//go:build linux || darwin

package wire

import (
	"math"
	"sync/atomic"
	"testing"
	"time"
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
		c.readers = readerPolicy{gap: math.MaxInt64, handovers: 3, perLoop: 1, runs: defaultReaders.runs}
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

// TestReaderStalls has a request wait for something on the goroutine that reads its connection. The reply to the one before
// it, which could have left together with its own, doesn't wait for it; nor does another connection.
func TestReaderStalls(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		waiting, release := make(chan struct{}), make(chan struct{})
		s := serve(t, transport, func(r *Request) {
			if topicOf(r) == "slow" {
				close(waiting)
				<-release
			}
			answerMetadata(r)
		}, func(c *Config) {
			c.Loops = 1
			c.readers.runs = func(int16) bool { return true }
		})
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
		c.readers = readerPolicy{gap: math.MaxInt64, perLoop: 1, runs: defaultReaders.runs}
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
