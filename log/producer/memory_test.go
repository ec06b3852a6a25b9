package producer

import (
	"runtime"
	"testing"

	"github.com/ottla/ottla/log/batch"
)

// heapOf is how many bytes the heap grows by build, which returns what to keep.
func heapOf(build func() any) (kept any, bytes int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept = build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return kept, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// TestMemory bounds what 100,000 producers cost: with the one batch that a snapshot has, with five, with an
// open transaction, and as questions to the coordinator. All of it goes with time.
func TestMemory(t *testing.T) {
	const n, day = 100_000, 86_400_000
	one := spec{1, 0, 0, 1, false, 1000}.make(0)
	fill := func(batches int, transactional bool) *State {
		s := New(Config{ExpirationMs: day})
		b := one
		if transactional {
			b = spec{1, 0, 0, 1, true, 1000}.make(0)
		}
		for id := range int64(n) {
			for range batches {
				b.ProducerID, b.BaseOffset = id, s.MapEndOffset()
				b.BaseSequence = batch.IncrementSequence(b.BaseSequence, 1)
				if _, _, err := s.Replay(&b); err != nil {
					t.Fatal(err)
				}
			}
		}
		return s
	}
	for _, c := range []struct {
		name  string
		bound int64 // bytes of one producer
		build func() *State
		left  int // after expiry
	}{
		{"one batch", 200, func() *State { return fill(1, false) }, 0},
		{"five batches", 300, func() *State { return fill(5, false) }, 0},
		{"open transactions", 230, func() *State { return fill(1, true) }, n},
		{"verifications", 160, func() *State {
			s := New(Config{ExpirationMs: day})
			for id := range int64(n) {
				if _, err := s.StartVerification(id, 0, 0, true, 1000); err != nil {
					t.Fatal(err)
				}
			}
			return s
		}, 0},
	} {
		kept, bytes := heapOf(func() any { return c.build() })
		t.Logf("%-18s %4d bytes of one id", c.name, bytes/n)
		if bytes/n > c.bound {
			t.Errorf("%s: %d bytes of one id, more than %d", c.name, bytes/n, c.bound)
		}
		s := kept.(*State)
		s.Expire(1000 + day - 1)
		if got := s.Len() + len(s.verifications); got != n {
			t.Errorf("%s: %d are left before their time", c.name, got)
		}
		s.Expire(1000 + day)
		if got := s.Len() + len(s.verifications); got != c.left {
			t.Errorf("%s: %d are left, want %d", c.name, got, c.left)
		}
	}
}

// TestVerificationsAreBounded shows that above the bound the oldest questions are forgotten, and that their
// guards don't count any more.
func TestVerificationsAreBounded(t *testing.T) {
	s := New(Config{ExpirationMs: 1000, VerificationEnabled: true, MaxProducers: 128})
	guards := make([]Guard, 0, 300)
	for id := range int64(300) {
		g, err := s.StartVerification(id, 0, 0, false, id)
		if err != nil {
			t.Fatal(err)
		}
		guards = append(guards, g)
		if len(s.verifications) > 128 {
			t.Fatalf("%d questions", len(s.verifications))
		}
	}
	for _, id := range []int64{0, 299} {
		b := spec{id, 0, 0, 1, true, 1000}.make(0)
		if _, err := s.Check(&b, CheckOptions{Guard: guards[id]}); (err == nil) != (id == 299) {
			t.Errorf("producer %d: %v", id, err)
		}
	}
}
