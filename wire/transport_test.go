package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestPipelinedInOrder sends many requests at once, some whole, some split at odd places, and checks
// that all are answered in order.
func TestPipelinedInOrder(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata)
		c := s.dial()
		var all []byte
		const n = 500
		for i := range n {
			all = append(all, metadata(int32(i), fmt.Sprint("topic", i))...)
		}
		go func() {
			for step := 1; len(all) > 0; step = step*3%1009 + 1 {
				k := min(step, len(all))
				if _, err := c.c.Write(all[:k]); err != nil {
					t.Error(err)
					return
				}
				all = all[k:]
			}
		}()
		for i := range n {
			c.expectMetadata(int32(i), fmt.Sprint("topic", i))
		}
		if got := s.Metrics().Requests(3); got != n {
			t.Errorf("%d requests counted, want %d", got, n)
		}
	})
}

// TestByteByByte sends two requests in single bytes.
func TestByteByByte(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		c := serve(t, transport, answerMetadata).dial()
		for i := range int32(2) {
			for _, b := range metadata(i, "slow") {
				c.send([]byte{b})
			}
			c.expectMetadata(i, "slow")
		}
	})
}

// TestOneAtATime checks that a request waits for the one before it, that Proceed lets it start, and
// that replies keep their order when requests complete in the reverse one.
func TestOneAtATime(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		started := make(chan *Request, 10)
		s := serve(t, transport, func(r *Request) { keep(r, started) })
		c := s.dial()
		c.send(append(append(metadata(0, "a"), metadata(1, "b")...), metadata(2, "c")...))
		a := <-started
		eventually(t, "all three are read", func() bool { return s.MemoryInUse() >= 3*int64(a.Body.Key()) })
		select {
		case r := <-started:
			t.Fatalf("request %d started beside the first", r.CorrelationID)
		default:
		}
		a.Proceed()
		b := <-started
		if b.CorrelationID != 1 {
			t.Fatalf("request %d started after the first", b.CorrelationID)
		}
		answerMetadata(b) // Completing lets the third start, the reply waits for the first.
		third := <-started
		answerMetadata(third)
		answerMetadata(a)
		c.expectMetadata(0, "a")
		c.expectMetadata(1, "b")
		c.expectMetadata(2, "c")
	})
}

// TestProceedWindow checks that no more than PendingRequests are started without an answer.
func TestProceedWindow(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		var mu sync.Mutex
		var held []*Request
		var running atomic.Int32
		s := serve(t, transport, func(r *Request) {
			if running.Add(1) != 1 {
				t.Error("two requests of one connection are in ServeRequest at once")
			}
			mu.Lock()
			held = append(held, r)
			mu.Unlock()
			r.Proceed()
			running.Add(-1)
		}, func(c *Config) { c.Limits.PendingRequests, c.Limits.QueuedRequests = 4, 3 })
		c := s.dial()
		const n = 40
		for i := range n {
			c.send(metadata(int32(i), "x"))
		}
		for answered := 0; answered < n; {
			var r *Request
			want := min(4, n-answered)
			eventually(t, "the window is filled", func() bool {
				mu.Lock()
				defer mu.Unlock()
				if len(held) > 4 {
					t.Fatalf("%d requests started", len(held))
				}
				return len(held) == want
			})
			mu.Lock()
			r, held = held[0], held[1:]
			mu.Unlock()
			answerMetadata(r)
			c.expectMetadata(int32(answered), "x")
			answered++
		}
	})
}

// TestNoReply checks that a Produce with acks 0 is not answered and those after it are, and that
// all that was sent before the client closes is run.
func TestNoReply(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		var produced atomic.Int32
		s := serve(t, transport, func(r *Request) {
			if r.Key == keyProduce {
				produced.Add(1)
				r.NoReply()
				return
			}
			answerMetadata(r)
		})
		c := s.dial()
		c.send(produce(1, 0, pattern(100)))
		c.send(metadata(2, "after"))
		c.expectMetadata(2, "after")
		for i := range 300 {
			c.send(produce(int32(i), 0, pattern(1000)))
		}
		c.c.Close()
		eventually(t, "all 301 are run", func() bool { return produced.Load() == 301 })
	})
}

// TestHalfClose checks that a client that closes its side after its requests still gets all answers,
// as with Kafka, and then the end.
func TestHalfClose(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		var wait sync.WaitGroup
		wait.Add(1)
		s := serve(t, transport, func(r *Request) {
			wait.Wait()
			answerMetadata(r)
		})
		c := s.dial()
		for i := range 5 {
			c.send(metadata(int32(i), "half"))
		}
		c.closeWrite()
		if !hasStandIns(transport) { // Those don't read while a request runs.
			awaitEnd(t, s)
		}
		wait.Done()
		for i := range 5 {
			c.expectMetadata(int32(i), "half")
		}
		c.expectClosed()
	})
}

// awaitEnd waits until the server has seen that all clients closed their side.
func awaitEnd(t *testing.T, s *testServer) {
	t.Helper()
	eventually(t, "the end is seen", func() bool {
		for _, l := range s.conns.all() {
			l.mu.Lock()
			ended := l.conn.ended
			l.mu.Unlock()
			if !ended {
				return false
			}
		}
		return true
	})
}

// TestHangUpAfterHalfClose checks that a parked request of a client that has closed its side is told when
// the client closes the other one too, though there is nothing to be sent to it.
func TestHangUpAfterHalfClose(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		parked := make(chan *Request, 1)
		died := make(chan struct{})
		s := serve(t, transport, func(r *Request) {
			r.OnClose(func() { close(died) })
			parked <- r
		})
		c := s.dial()
		c.send(metadata(1, "parked"))
		r := <-parked
		c.closeWrite()
		awaitEnd(t, s)
		select {
		case <-died:
			t.Fatal("a half-closed connection was given up")
		default:
		}
		c.tcp.SetLinger(0) // The other side is closed by a reset.
		c.c.Close()
		select {
		case <-died:
		case <-time.After(patience):
			t.Fatal("the parked request wasn't told")
		}
		r.NoReply()
		eventually(t, "the connection is gone", func() bool { return s.metrics.Connections.Load() == 0 })
	})
}

// TestPipelinedReplies checks that the replies to requests that are read together, which are sent by
// whoever comes first, arrive completely and in order.
func TestPipelinedReplies(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata)
		c := s.dial()
		const n = 200
		var all []byte
		for i := range n {
			all = append(all, metadata(int32(i), "pipelined")...)
		}
		c.send(all)
		for i := range n {
			c.expectMetadata(int32(i), "pipelined")
		}
	})
}

// TestOnClose checks that a parked request is told of its client's death, and may complete then.
func TestOnClose(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		parked := make(chan *Request, 1)
		died := make(chan struct{})
		s := serve(t, transport, func(r *Request) {
			r.OnClose(func() { close(died) })
			r.ReleaseFrame()
			parked <- r
		})
		c := s.dial()
		c.send(metadata(1, "parked"))
		r := <-parked
		eventually(t, "the frame's memory is given back", func() bool { return s.MemoryInUse() == 0 })
		c.tcp.SetLinger(0) // Resets.
		c.c.Close()
		select {
		case <-died:
		case <-time.After(patience):
			t.Fatal("OnClose wasn't called")
		}
		again := false
		r.OnClose(func() { again = true })
		if !again {
			t.Error("OnClose on a dead connection must run at once")
		}
		r.NoReply()
	})
}

// TestLargeFrames sends requests larger than a loop's buffer and than the first piece of memory, in
// pieces, with small ones between, and checks that every byte arrives.
func TestLargeFrames(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		var want atomic.Pointer[[]byte]
		s := serve(t, transport, func(r *Request) {
			if r.Key == keyProduce {
				if got := r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records; !bytes.Equal(got, *want.Load()) {
					t.Errorf("%d bytes of records arrived changed", len(got))
				}
				r.NoReply()
				return
			}
			answerMetadata(r)
		})
		c := s.dial()
		for i, n := range []int{60 << 10, 64 << 10, 65<<10 + 3, 1 << 20, 2<<20 - 20, 2 << 20, 7<<20 + 11} {
			records := pattern(n)
			want.Store(&records)
			c.send(append(produce(int32(i), 0, records), metadata(int32(i), "between")...))
			c.expectMetadata(int32(i), "between")
		}
	})
}

// TestBadInput sends what isn't a proper request. It must close its own connection only, after what came
// before is answered, and write one line that says why.
func TestBadInput(t *testing.T) {
	frame := func(b ...byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }
	header := func(key, version int16, rest ...byte) []byte {
		b := binary.BigEndian.AppendUint16(nil, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		return frame(append(append(b, 0, 0, 0, 9, 0, 1, 'x'), rest...)...)
	}
	cases := []struct {
		name, log string
		bytes     []byte
	}{
		{"negative size", "size is negative: -5", []byte{0xff, 0xff, 0xff, 0xfb}},
		{"zero size", "size is 0 bytes", []byte{0, 0, 0, 0}},
		{"too small", "size is 3 bytes", frame(1, 2, 3)},
		{"oversized", "more than socket.request.max.bytes (104857600)", []byte{0x06, 0x40, 0, 1}},
		{"tls", "TLS handshake on a plaintext listener", []byte("\x16\x03\x01\x00\xf5\x01\x00\x00\xf1\x03\x03")},
		{"http", "speaks HTTP", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"unknown key", "api key 500 is unknown", header(500, 0)},
		{"removed key", "api key 4 is unknown", header(4, 0)},
		{"old produce", "version 2 of Produce isn't served", header(0, 2)},
		{"new metadata", "version 99 of Metadata isn't served", header(3, 99, 0)},
		{"controller's api", "version 0 of BrokerHeartbeat isn't served", header(63, 0, 0)},
		{"no client id", "header is cut short", frame(0, 3, 0, 9, 0, 0, 0, 1)},
		{"long client id", "header is cut short", frame(0, 3, 0, 1, 0, 0, 0, 1, 0, 9, 'x')},
		{"no tags", "tags of the request header", header(18, 99)},
		{"hostile count", "can't be decoded", header(3, 9, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0)},
		{"truncated body", "can't be decoded", header(3, 9, 0, 2)},
		{"hostile tags", "would take", header(18, 3, append([]byte{0, 2, 'a', 2, 'b', 0x90, 0x4e}, make([]byte, 20000)...)...)},
	}
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata)
		good := s.dial()
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				bad := s.dial()
				bad.t = t
				lines := strings.Count(s.log.String(), "closing connection")
				// A reply that is under way must still be sent.
				bad.send(metadata(77, "before"))
				bad.expectMetadata(77, "before")
				bad.send(append(metadata(78, "before"), c.bytes...))
				bad.expectMetadata(78, "before")
				bad.expectClosed()
				log := s.log.String()
				if !strings.Contains(log, c.log) || !strings.Contains(log, bad.c.LocalAddr().String()) {
					t.Errorf("log doesn't tell %q of %s:\n%s", c.log, bad.c.LocalAddr(), log)
				}
				if n := strings.Count(log, "closing connection") - lines; n != 1 {
					t.Errorf("%d lines for one connection:\n%s", n, log)
				}
				good.send(metadata(int32(i), "good"))
				good.expectMetadata(int32(i), "good")
			})
		}
	})
}

// TestLogLimit checks that a flood of bad connections writes few lines.
func TestLogLimit(t *testing.T) {
	s := serve(t, TransportAuto, answerMetadata)
	for range 50 {
		c := s.dial()
		c.send([]byte{0xff, 0xff, 0xff, 0xff})
		c.expectClosed()
	}
	if n := strings.Count(s.log.String(), "closing connection"); n != logBurst {
		t.Errorf("%d lines, want %d", n, logBurst)
	}
}

// TestUnsupportedApiVersions checks the bytes that Kafka 4.4.0 sends to a client that is newer, and
// that the connection stays usable.
func TestUnsupportedApiVersions(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		c := serve(t, transport, answerMetadata).dial()
		for _, g := range readGolden(t, "testdata/apiversions_unsupported.txt") {
			c.send(g.request)
			c.send(metadata(1, "still here"))
			if got := c.receive(); !bytes.Equal(got, g.response[4:]) {
				t.Errorf("%s: got %x, want %x", g.name, got, g.response[4:])
			}
			c.expectMetadata(1, "still here")
		}
	})
}

// TestSlowReaders has 20 clients that send 20 requests for 1 MiB each and never read. Memory must stay
// flat, and a good client must not notice.
func TestSlowReaders(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		big := pattern(1<<20 - maxResponseHead) // With its head a mebibyte, and not the next size of memory.
		s := serve(t, transport, func(r *Request) {
			if *r.Body.(*kmsg.MetadataRequest).Topics[0].Topic == "big" {
				r.ReplyChunks([]Chunk{{Bytes: big}})
				return
			}
			answerMetadata(r)
		})
		heap := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		for range 20 {
			c := s.dial()
			for i := range 20 {
				c.send(metadata(int32(i), "big"))
			}
		}
		good := s.dial()
		eventually(t, "each slow reader is stuck", func() bool {
			stuck := 0
			for _, l := range s.conns.all() {
				if l.sock.unsent() > 0 {
					stuck++
				}
			}
			return stuck == 20
		})
		for i := range 100 {
			good.send(metadata(int32(i), "good"))
			good.expectMetadata(int32(i), "good")
		}
		// How much of it the kernel takes depends on the memory that it has for sockets. Here the next request
		// runs once less than QueuedReplyBytes are left of the answer before it, whose memory is held till then.
		bound := 20*int64(s.cfg.Limits.QueuedReplyBytes+2*len(big)) + 2<<20
		if grown := heap() - before; grown > bound {
			t.Errorf("memory grew by %d MiB, more than %d MiB", grown>>20, bound>>20)
		}
		for _, l := range s.conns.all() {
			l.abort()
		}
	})
}

// TestSlowReaderGetsAll checks that a client that reads late and slowly gets every byte.
func TestSlowReaderGetsAll(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		big := pattern(3<<20 + 17)
		s := serve(t, transport, func(r *Request) {
			r.ReplyChunks([]Chunk{{Bytes: big[:1000]}, {Bytes: big[1000:]}})
		})
		c := s.dial()
		for i := range 6 {
			c.send(metadata(int32(i), "big"))
		}
		eventually(t, "it is stuck", func() bool { return len(s.conns.all()) == 1 && s.conns.all()[0].sock.unsent() > 0 })
		for i := range 6 {
			f := c.receive()
			if int32(binary.BigEndian.Uint32(f)) != int32(i) || !bytes.Equal(f[5:], big) {
				t.Fatalf("reply %d of %d bytes is wrong", i, len(f))
			}
		}
	})
}

// TestMutedConnectionIsNotRead pins the read pause: a client that goes on sending while its
// first request is parked is held back by its socket, and all arrives once the request is done.
func TestMutedConnectionIsNotRead(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		parked := make(chan *Request, 1)
		var produced atomic.Int32
		s := serve(t, transport, func(r *Request) {
			if r.Key == keyProduce {
				produced.Add(1)
				r.NoReply()
				return
			}
			keep(r, parked)
		}, func(c *Config) { c.Limits.QueuedRequests = 2 })
		c := s.dial()
		c.send(metadata(1, "parked"))
		r := <-parked
		const n = 20 // More than two sockets' buffers hold beside what is read ahead.
		request := produce(2, 0, pattern(1<<20))
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range n {
				c.send(request)
			}
		}()
		// Two are read ahead; a third may be in the making.
		eventually(t, "requests are read ahead", func() bool { return s.metrics.BytesIn.Load() > 2<<20 })
		last := int64(-1)
		eventually(t, "reading has stopped", func() bool {
			now := s.metrics.BytesIn.Load()
			stopped := now == last
			last = now
			if !stopped {
				time.Sleep(50 * time.Millisecond) // Between two looks; nothing depends on its length.
			}
			return stopped
		})
		if got := s.metrics.BytesIn.Load(); got > 4<<20 {
			t.Errorf("%d bytes read from a muted connection", got)
		}
		if got := s.pool.InUseBytes(); got > 10<<20 {
			t.Errorf("%d bytes held for a muted connection", got)
		}
		answerMetadata(r)
		c.expectMetadata(1, "parked")
		<-sent
		eventually(t, "all arrive", func() bool { return produced.Load() == n })
	})
}

// TestBudget checks that a request that doesn't fit waits, in order among those of its kind, and runs when
// memory returns, and that one larger than the budget runs alone.
func TestBudget(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		held := make(chan *Request, 10)
		s := serve(t, transport, func(r *Request) { keep(r, held) }, func(c *Config) { c.Limits.QueuedRequestBytes = 3 << 20 })
		first, second, third, huge := s.dial(), s.dial(), s.dial(), s.dial()
		first.send(produce(1, 0, pattern(1<<20)))
		a := <-held
		second.send(produce(2, 0, pattern(1<<20)))
		b := <-held
		send := func(c *testClient, id int32, n int) {
			waits := s.metrics.BudgetWaits.Load()
			go c.send(produce(id, 0, pattern(n)))
			eventually(t, "it waits", func() bool { return s.metrics.BudgetWaits.Load() == waits+1 })
		}
		send(third, 3, 2<<20-200)
		send(huge, 4, 8<<20)
		small := s.dial()
		send(small, 5, 1000) // Would fit, but has to wait for its turn.
		if len(held) != 0 {
			t.Fatal("a request ran beyond the budget")
		}
		a.NoReply()
		c := <-held
		if c.CorrelationID != 3 {
			t.Fatalf("request %d ran first", c.CorrelationID)
		}
		b.NoReply()
		c.ReleaseFrame()
		d := <-held
		if d.CorrelationID != 5 || len(held) != 0 {
			t.Fatalf("request %d ran, %d more; want the small one before the huge one", d.CorrelationID, len(held))
		}
		d.NoReply()
		e := <-held
		e.NoReply()
		c.NoReply()
		if e.CorrelationID != 4 {
			t.Fatalf("request %d ran last", e.CorrelationID)
		}
	})
}

// TestBudgetWaiterDies checks that a client that goes away while waiting for memory lets the next in: at
// once on an event loop; where a goroutine reads, once its own turn comes and its read fails.
func TestBudgetWaiterDies(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		held := make(chan *Request, 10)
		s := serve(t, transport, func(r *Request) { keep(r, held) }, func(c *Config) { c.Limits.QueuedRequestBytes = 2 << 20 })
		first, second, third := s.dial(), s.dial(), s.dial()
		first.send(produce(1, 0, pattern(1<<20)))
		a := <-held
		second.send(produce(2, 0, pattern(2<<20))[:100])
		eventually(t, "it waits", func() bool { return s.metrics.BudgetWaits.Load() == 1 })
		third.send(produce(3, 0, pattern(1000)))
		eventually(t, "both wait", func() bool { return s.metrics.BudgetWaits.Load() == 2 })
		second.tcp.SetLinger(0)
		second.c.Close()
		if transport != TransportLoop {
			a.NoReply()
		}
		c := <-held
		if c.CorrelationID != 3 {
			t.Fatalf("request %d ran", c.CorrelationID)
		}
		c.NoReply()
		if transport == TransportLoop {
			a.NoReply()
		}
	})
}

// TestShutdownFinishes checks that requests under way are answered before the server is gone.
func TestShutdownFinishes(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		started := make(chan *Request, 1)
		s := serve(t, transport, func(r *Request) { keep(r, started) })
		idle, busy := s.dial(), s.dial()
		busy.send(metadata(1, "busy"))
		r := <-started
		stopped := make(chan struct{})
		go func() { s.stop(); close(stopped) }()
		idle.expectClosed()
		if _, err := net.Dial("tcp", s.addr); err == nil {
			t.Error("a connection was accepted while stopping")
		}
		answerMetadata(r)
		busy.expectMetadata(1, "busy")
		busy.expectClosed()
		<-stopped
	})
}
