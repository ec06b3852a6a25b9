package commitlog

import (
	"math/rand/v2"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestRolledSegmentIsDurable cuts the power after a roll that cut reserved room off, though all records
// before it had been flushed: what was flushed on either side of the roll is there.
func TestRolledSegmentIsDurable(t *testing.T) {
	for _, flushed := range []int64{3, 6} { // Before the roll only, and behind it too.
		for seed := range uint64(20) {
			mem := vfs.NewMem()
			e := newEnv(mem)
			e.cfg.Preallocate = true
			l := mustOpen(t, e)
			if _, err := appendRecords(l, 3, 20, 1000); err != nil {
				t.Fatal(err)
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			e.m.checkpoint(e.m.checkpointRecoveryPoints)
			l.mu.Lock()
			_, err := l.roll(3)
			l.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := appendRecords(l, 3, 20, 1000); err != nil {
				t.Fatal(err)
			}
			if flushed > 3 {
				if err := l.Flush(); err != nil {
					t.Fatal(err)
				}
				if seed%2 == 0 {
					e.m.checkpoint(e.m.checkpointRecoveryPoints)
				}
			}
			abandonAll(e)
			var rng *rand.Rand
			if seed > 0 {
				rng = rand.New(rand.NewPCG(seed, 0))
			}
			e2 := newEnv(mem.AfterCrash(rng))
			l = mustOpen(t, e2)
			if l.LogEndOffset() < flushed {
				t.Errorf("seed %d: the log ends at %d, flushed were %d records", seed, l.LogEndOffset(), flushed)
			}
			if offsets, err := readAll(l, 0); err != nil || contiguous(offsets, 0, l.LogEndOffset()) != nil {
				t.Errorf("seed %d: %v, %v", seed, offsets, err)
			}
			if err := e2.m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCompactionFlushesMarkers cuts the power after a compaction that dropped a record for the sake of a
// committed one: the marker that committed it is there.
func TestCompactionFlushesMarkers(t *testing.T) {
	mem := vfs.NewMem()
	e := compactedEnv(mem)
	l := mustOpen(t, e)
	h := keyed{}
	rng := rand.New(rand.NewPCG(1, 1))
	h.append(e, l, 3, rng)
	mustAppend(t, l, keyedTxn(0, "k0", "k1", "k2", "k3", "k4", "k5"))
	l.mu.Lock()
	_, err := l.roll(l.LogEndOffset())
	l.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, commit())
	e.m.cleaner.pass()
	if l.cleaned.Load() != 9 {
		t.Fatalf("compacted up to %d\n%s", l.cleaned.Load(), e.logs.String())
	}
	abandonAll(e)
	e2 := compactedEnv(mem.AfterCrash(nil))
	l = mustOpen(t, e2)
	l.SetHighWatermark(l.LogEndOffset())
	if l.LogEndOffset() != 10 || l.LastStableOffset() != 10 {
		t.Errorf("log end %d, last stable offset %d: the marker at offset 9 is lost", l.LogEndOffset(), l.LastStableOffset())
	}
	if err := e2.m.Close(); err != nil {
		t.Fatal(err)
	}
}
