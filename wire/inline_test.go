package wire

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// inlineMetadata lets loops run Metadata.
func inlineMetadata(c *Config) {
	c.Loops = 1 // So that all connections share it.
	c.Place = func(_ string, key, _ int16) Place {
		if key == 3 {
			return OnLoop
		}
		return OnWorker
	}
}

func topicOf(r *Request) string { return *r.Body.(*kmsg.MetadataRequest).Topics[0].Topic }

// TestInlineOrder pipelines requests that a loop runs itself, that go on with a worker, and that a worker runs: they take
// effect, and are answered, in order.
func TestInlineOrder(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		var mu sync.Mutex
		var began []string
		var inline atomic.Int32
		s := serve(t, transport, func(r *Request) {
			if r.Key == keyProduce {
				if r.Inline() {
					t.Error("a Produce runs on a loop")
				}
				mu.Lock()
				began = append(began, "produce")
				mu.Unlock()
				r.NoReply()
				return
			}
			name := topicOf(r)
			mu.Lock()
			began = append(began, name)
			mu.Unlock()
			if !r.Inline() {
				answerMetadata(r)
				return
			}
			inline.Add(1)
			if strings.HasPrefix(name, "off") {
				r.Offload(func() { answerMetadata(r) })
				return
			}
			answerMetadata(r)
		}, inlineMetadata)
		c := s.dial()
		const n = 300
		var all []byte
		var want []string
		for i := range n {
			switch i % 3 {
			case 0:
				all, want = append(all, metadata(int32(i), "in")...), append(want, "in")
			case 1:
				all, want = append(all, metadata(int32(i), "off")...), append(want, "off")
			case 2:
				all, want = append(all, produce(int32(i), 0, nil)...), append(want, "produce")
			}
			if i%7 == 0 { // Some alone, most in company.
				c.send(all)
				all = nil
			}
		}
		c.send(all)
		for i := range n {
			if i%3 < 2 {
				c.expectMetadata(int32(i), want[i])
			}
		}
		eventually(t, "all began", func() bool { mu.Lock(); defer mu.Unlock(); return len(began) == n })
		for i := range n {
			if began[i] != want[i] {
				t.Fatalf("request %d was %s, want %s", i, began[i], want[i])
			}
		}
		if got := inline.Load(); (transport == TransportLoop || hasStandIns(transport)) != (got > 0) {
			t.Errorf("%d requests ran on a loop", got)
		}
	})
}

// TestInlineStall has a request that a loop began wait for something: the loop's other connections don't, those behind it on
// its own connection do, and a connection that dies meanwhile leaves nothing behind.
func TestInlineStall(t *testing.T) {
	release := make(chan struct{})
	var waits, inline atomic.Int32
	s := serve(t, TransportLoop, func(r *Request) {
		if !strings.HasPrefix(topicOf(r), "slow") {
			answerMetadata(r)
			return
		}
		if r.Inline() { // Those behind it are the worker's.
			inline.Add(1)
		}
		r.Offload(func() {
			waits.Add(1)
			<-release
			answerMetadata(r)
		})
	}, inlineMetadata)
	slow, dies, quick := s.dial(), s.dial(), s.dial()
	for i := range 3 {
		slow.send(metadata(int32(i), "slow"))
	}
	slow.send(metadata(3, "behind"))
	dies.send(metadata(0, "slow"))
	eventually(t, "both wait", func() bool { return waits.Load() == 2 })
	for i := range 100 {
		quick.send(metadata(int32(i), "quick"))
		quick.expectMetadata(int32(i), "quick")
	}
	if n := inline.Load(); n != 2 {
		t.Errorf("the loop began %d requests that wait, want 2", n)
	}
	dies.c.Close()
	close(release)
	for i := range 3 {
		slow.expectMetadata(int32(i), "slow")
	}
	slow.expectMetadata(3, "behind")
	eventually(t, "the dead one is gone", func() bool { return s.metrics.Connections.Load() == 2 })
}

// deviceFile is a CachedRange whose bytes come from the device, once that answers.
type deviceFile struct {
	testFile
	reads   *atomic.Int32
	answers chan struct{}
}

func (f *deviceFile) ReadCached([]byte, int64) error { return errors.New("not in memory") }

func (f *deviceFile) ReadAt(p []byte, position int64) (int, error) {
	f.reads.Add(1)
	<-f.answers
	return f.testFile.ReadAt(p, position)
}

// TestInlineFile answers on a loop with files that aren't in memory, small and large: a worker waits for the device, and
// the loop's other connections don't.
func TestInlineFile(t *testing.T) {
	content := pattern(200 << 10)
	f := fileOf(t, content)
	var reads, released atomic.Int32
	answers := make(chan struct{})
	s := serve(t, TransportLoop, func(r *Request) {
		n, ok := map[string]int{"small": 1000, "large": 200 << 10}[topicOf(r)]
		if !ok {
			answerMetadata(r)
			return
		}
		if !r.Inline() {
			t.Error("the request isn't run by the loop")
		}
		// Without a descriptor, so that the large one is read as well.
		r.ReplyChunks([]Chunk{{Bytes: []byte("head")}, {File: &deviceFile{testFile{f: f, length: n, noFd: true, released: &released}, &reads, answers}}, {Bytes: []byte("tail")}})
	}, inlineMetadata)
	small, large, quick := s.dial(), s.dial(), s.dial()
	small.send(metadata(1, "small"))
	large.send(metadata(1, "large"))
	eventually(t, "both are being read", func() bool { return reads.Load() == 2 })
	for i := range 100 {
		quick.send(metadata(int32(i), "quick"))
		quick.expectMetadata(int32(i), "quick")
	}
	close(answers)
	for c, n := range map[*testClient]int{small: 1000, large: 200 << 10} {
		want := append(append([]byte("head"), content[:n]...), "tail"...)
		if got := c.receive(); !bytes.Equal(got[5:], want) {
			t.Errorf("%d bytes, want %d, or others", len(got)-5, len(want))
		}
	}
	eventually(t, "the ranges are released", func() bool { return released.Load() == 2 })
}
