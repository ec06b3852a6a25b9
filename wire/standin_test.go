//go:build linux || darwin

package wire

import (
	"context"
	"errors"
	"math"
	"sync"
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
	// byStandIns is how many of them stand-ins ran.
	byStandIns atomic.Int32
}

func (b *blocker) serve(r *Request) {
	if r.Key != keyProduce {
		answerMetadata(r)
		return
	}
	if r.Inline() {
		b.byStandIns.Add(1)
	}
	if b.blocks.Load() {
		b.waiting.Add(1)
		<-b.release
	}
	r.NoReply()
}

// serveStandIn serves with one loop, which has a stand-in when it reads for the third time.
func serveStandIn(t *testing.T, h handlerFunc) *testServer {
	t.Helper()
	return serve(t, TransportLoop, h, func(c *Config) {
		c.Loops = 1
		c.standIns = standInPolicy{gap: math.MaxInt64, reads: 3, pause: defaultStandIns.pause, round: time.Hour}
		c.Place = placeProduce
	})
}

// placeProduce lets stand-ins run Produce.
func placeProduce(_ string, key, _ int16) Place {
	if key == keyProduce {
		return OnStandIn
	}
	return OnWorker
}

func (s *testServer) standIns() int { return int(s.loops.standIns.Load()) }

// settled waits until no goroutine runs requests of a connection, or would take the next one, and no loop has a task.
func (s *testServer) settled(connections int) {
	s.t.Helper()
	eventually(s.t, "all connections rest", func() bool {
		links := s.conns.all()
		for _, l := range links {
			l.mu.Lock()
			running := l.running
			l.mu.Unlock()
			sock := l.sock.(*loopSocket)
			if running || !sock.opened.Load() || sock.loop.poller.hasTasks() {
				return false
			}
		}
		return len(links) == connections
	})
}

// exchange sends a Produce, and a Metadata whose answer says that it was run, which are read together.
func (c *testClient) exchange(id int32) {
	c.t.Helper()
	c.send(append(produce(id, 0, nil), metadata(id, "after")...))
	c.expectMetadata(id, "after")
}

// TestStandIn follows a loop that has a stand-in when it is busy: a request that stalls is left to it, and the loop polls again, as
// it does when its clients rest.
func TestStandIn(t *testing.T) {
	b := &blocker{release: make(chan struct{})}
	s := serveStandIn(t, b.serve)
	busy, other := s.dial(), s.dial()
	s.settled(2)
	for i := range int32(2) {
		busy.exchange(i)
		s.settled(2) // Else what ran this one takes the next one.
	}
	if n := b.byStandIns.Load(); n != 0 {
		t.Errorf("stand-ins ran %d of two requests", n)
	}
	b.blocks.Store(true)
	busy.send(produce(2, 0, nil))
	eventually(t, "the third one runs", func() bool { return b.waiting.Load() == 1 })
	if n := b.byStandIns.Load(); n != 1 {
		t.Errorf("stand-ins ran %d requests, want the third one", n)
	}
	b.blocks.Store(false)
	for i := range int32(10) {
		other.exchange(i)
	}
	eventually(t, "the loop polls", func() bool { return s.standIns() == 0 })
	close(b.release)
	for i := range int32(100) { // Some by a stand-in, some not.
		busy.exchange(i)
		other.exchange(i)
	}
	eventually(t, "the loop polls while all rest", func() bool { return s.standIns() == 0 })
}

// TestStandInRunsWhatLoopsRun follows a loop that runs all requests itself: it has a stand-in when it is busy too, and a request that stalls
// after all doesn't hold up other connections then.
func TestStandInRunsWhatLoopsRun(t *testing.T) {
	var server atomic.Pointer[testServer]
	stalls, release := make(chan struct{}), make(chan struct{})
	requests, stalled := 0, false // Of the busy connection, whose requests run one after the other.
	s := serve(t, TransportLoop, func(r *Request) {
		if topicOf(r) == "busy" {
			requests++
			if byStandIn := server.Load().loops.leader.Load() != nil; byStandIn && requests <= 3 {
				t.Errorf("a stand-in runs request %d", requests)
			} else if byStandIn && !stalled {
				stalled = true
				close(stalls)
				<-release
			}
		}
		answerMetadata(r)
	}, func(c *Config) {
		c.Loops, c.standIns = 1, standInPolicy{gap: math.MaxInt64, reads: 3, readsAgain: 1, recently: time.Hour, round: time.Hour}
		c.Place = func(string, int16, int16) Place { return OnLoop }
	})
	server.Store(s)
	busy, other := s.dial(), s.dial()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for {
			if _, err := busy.tryReceive(); err != nil {
				return
			}
			answered <- struct{}{}
		}
	}()
	id := int32(0)
	eventually(t, "a stand-in runs a request", func() bool {
		id++
		busy.send(metadata(id, "busy"))
		select {
		case <-stalls:
			return true
		case <-answered:
			return false
		}
	})
	other.send(metadata(0, "other"))
	other.expectMetadata(0, "other")
	close(release)
	<-answered
	_ = busy.c.Close()
	<-answered
}

// joined is how many loops the leader polls for besides its own.
func (s *testServer) joined() int {
	in := s.loops.leader.Load()
	if in == nil {
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.joined)
}

// serveTwoLoops serves two clients by a loop each, which have stand-ins at once.
func serveTwoLoops(t *testing.T, h handlerFunc, p standInPolicy) (s *testServer, a, b *testClient) {
	t.Helper()
	s = serve(t, TransportLoop, h, func(c *Config) { c.Loops, c.standIns, c.Place = 2, p, placeProduce })
	a, b = s.dial(), s.dial()
	a.exchange(0)
	b.exchange(0)
	loops := map[*eventLoop]bool{}
	for _, l := range s.conns.all() {
		sock := l.sock.(*loopSocket)
		sock.mu.Lock()
		loops[sock.loop] = true
		sock.mu.Unlock()
	}
	if len(loops) != 2 {
		t.Fatalf("two connections are on %d loops", len(loops))
	}
	return s, a, b
}

// TestStandInJoins has one stand-in poll for two loops. A request of one that stalls doesn't keep the other one's waiting.
func TestStandInJoins(t *testing.T) {
	bl := &blocker{release: make(chan struct{})}
	s, a, b := serveTwoLoops(t, bl.serve, standInPolicy{gap: math.MaxInt64, round: time.Hour, rounds: 64})
	id := int32(0)
	eventually(t, "a loop joins", func() bool {
		id++
		a.exchange(id)
		b.exchange(id)
		return s.joined() == 1
	})
	bl.blocks.Store(true)
	b.send(produce(-1, 0, nil))
	eventually(t, "it stalls", func() bool { return bl.waiting.Load() == 1 })
	bl.blocks.Store(false)
	a.exchange(-2)
	close(bl.release)
	b.exchange(-2)
	eventually(t, "both loops poll", func() bool { return s.standIns() == 0 })
}

// TestStandInSheds has a stand-in that polls for two loops find too much to do: it keeps to its own, for as long as it is told.
func TestStandInSheds(t *testing.T) {
	b := &blocker{}
	s, a, c := serveTwoLoops(t, b.serve, standInPolicy{gap: math.MaxInt64, round: time.Hour, rounds: 1, alone: math.MaxInt64 / 2})
	id := int32(0)
	eventually(t, "the other loop leaves", func() bool {
		id++
		a.send(produce(id, 0, nil))
		c.exchange(id)
		a.exchange(id)
		return s.loops.aloneUntil.Load() > 0 && s.joined() == 0
	})
}

// TestStandInSole has a stand-in find one connection again and again: its requests may wait for a device. Those of another one
// that comes up may not.
func TestStandInSole(t *testing.T) {
	var inline atomic.Bool
	s := serve(t, TransportLoop, func(r *Request) {
		if r.Key == keyProduce {
			inline.Store(r.Inline())
			r.NoReply()
			return
		}
		answerMetadata(r)
	}, func(c *Config) {
		c.Loops, c.standIns, c.Place = 1, standInPolicy{gap: math.MaxInt64, round: time.Hour, sole: 16}, placeProduce
	})
	first, second := s.dial(), s.dial()
	s.settled(2)
	first.exchange(0)
	if !inline.Load() {
		t.Error("a stand-in's first request may wait")
	}
	id := int32(0)
	eventually(t, "it is the only one", func() bool {
		id++
		first.exchange(id)
		return !inline.Load()
	})
	s.settled(2)
	second.exchange(0)
	if !inline.Load() {
		t.Error("a request may wait though another connection has work")
	}
}

// TestStandInsWaitForEachOther has requests that end only when another connection's have begun: nobody who polls may wait
// for one that runs.
func TestStandInsWaitForEachOther(t *testing.T) {
	const clients, each = 4, 10
	var mu sync.Mutex
	begun := make([]int, clients)
	next := sync.NewCond(&mu)
	s := serve(t, TransportLoop, func(r *Request) {
		if r.Key != keyProduce {
			answerMetadata(r)
			return
		}
		me := int(r.CorrelationID) / each
		mu.Lock()
		begun[me]++
		next.Broadcast()
		for begun[(me+1)%clients] < begun[me] {
			next.Wait()
		}
		mu.Unlock()
		r.NoReply()
	}, func(c *Config) {
		c.Loops, c.standIns, c.Place = 2, standInPolicy{gap: math.MaxInt64, round: time.Hour, rounds: 64}, placeProduce
	})
	var all []*testClient
	for range clients {
		all = append(all, s.dial())
	}
	for i, c := range all {
		for j := range int32(each) {
			c.send(produce(int32(i*each)+j, 0, nil))
		}
	}
	for _, c := range all {
		c.send(metadata(-1, "after"))
		c.expectMetadata(-1, "after")
	}
}

// TestRereading follows when it is worth reading a socket again before polling.
func TestRereading(t *testing.T) {
	var r rereading
	probes := 0
	for range 2 * rereadProbe {
		if r.worthwhile() {
			probes++
			r.found(false)
		}
	}
	if probes != 2 {
		t.Errorf("%d probes in %d turns that find nothing, want 2", probes, 2*rereadProbe)
	}
	r.found(true)
	for i := range rereadScore {
		if !r.worthwhile() {
			t.Errorf("not worth it after %d misses", i)
		}
		r.found(false)
	}
	if r.worthwhile() {
		t.Error("still worth it")
	}
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

// TestStandInClosed closes a connection while a request of it waits in a stand-in: the client sees it at once.
func TestStandInClosed(t *testing.T) {
	b := &blocker{release: make(chan struct{})}
	b.blocks.Store(true)
	s := serve(t, transportStandIn, b.serve)
	c := s.dial()
	s.settled(1)
	c.send(produce(0, 0, nil))
	eventually(t, "the request runs", func() bool { return b.waiting.Load() == 1 })
	if b.byStandIns.Load() != 1 {
		t.Error("not by a stand-in")
	}
	for _, l := range s.conns.all() {
		l.abort()
	}
	c.expectClosed()
	eventually(t, "the connection is gone", func() bool { return s.metrics.Connections.Load() == 0 })
	close(b.release)
}

// TestStandInOtherRequests has a request that a stand-in doesn't run wait on a worker: the connection's end tells the request
// that the client is gone.
func TestStandInOtherRequests(t *testing.T) {
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
		c.standIns, c.Place = standInPolicy{gap: math.MaxInt64, round: time.Hour}, placeProduce
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

// TestStandInRound sends more requests at once than are read ahead, and than a stand-in has time for: workers run the rest.
func TestStandInRound(t *testing.T) {
	now := clock.NewManual(time.Unix(1000, 0))
	var byStandIn, byWorker atomic.Int64
	s := serve(t, TransportLoop, func(r *Request) {
		if r.Key != keyProduce {
			answerMetadata(r)
			return
		}
		now.Advance(time.Microsecond)
		if r.Inline() {
			byStandIn.Add(1)
		} else {
			byWorker.Add(1)
		}
		r.NoReply()
	}, func(c *Config) {
		c.Loops, c.Clock, c.Place = 1, now, placeProduce
		c.standIns = standInPolicy{gap: math.MaxInt64, round: 100 * time.Microsecond}
	})
	c := s.dial()
	s.settled(1)
	c.exchange(-1)
	const n = 2_000
	var all []byte
	for i := range int32(n) {
		all = append(all, produce(i, 0, nil)...)
	}
	c.send(all)
	c.send(metadata(n, "after"))
	c.expectMetadata(n, "after")
	if in, out := byStandIn.Load(), byWorker.Load(); in+out != n+1 || in == 0 || out == 0 {
		t.Errorf("stand-ins ran %d and workers %d of %d requests, want some of each", in, out, n+1)
	}
}
