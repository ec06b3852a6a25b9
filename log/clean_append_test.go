package commitlog

import (
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// swapHook calls at for each sync of the partition's directory while a compaction exchanges files.
type swapHook struct {
	// mu is held while at runs; what is synced meanwhile isn't looked at.
	mu sync.Mutex
	// The rest is guarded by mu.
	l  *Log
	at func()
	// most bounds the calls: what is appended is due for compaction, too.
	most int
	// locked counts syncs that held the log's mutex, when no other goroutine wants it.
	locked int
}

func (h *swapHook) fail(_ int64, op vfs.Op, name string) error {
	if op != vfs.OpSyncDir || !h.mu.TryLock() {
		return nil
	}
	defer h.mu.Unlock()
	if h.l == nil || h.most == 0 || name != h.l.path {
		return nil
	}
	if !h.l.mu.TryLock() {
		h.locked++
		return nil
	}
	swapping := h.l.swapping
	h.l.mu.Unlock()
	if swapping {
		h.most--
		h.at()
	}
	return nil
}

// watch has the syncs of a log looked at from now on; of none if it is nil.
func (h *swapHook) watch(l *Log) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.l = l
}

// TestAppendsDuringSwap appends, and rolls, at each sync of a compaction's exchange of files: appends don't wait for
// the syncs, and a crash at any of them, whatever it takes along, leaves the log that was written.
func TestAppendsDuringSwap(t *testing.T) {
	t.Parallel()
	type cut struct {
		fs   vfs.FS
		h    keyed
		name int
	}
	for seed := range uint64(8) {
		mem := vfs.NewMem()
		hook := &swapHook{most: 5}
		e := compactedEnv(vfs.NewInject(mem, hook.fail))
		l := mustOpen(t, e)
		rng := rand.New(rand.NewPCG(1, seed))
		var h keyed
		for range 9 + rng.IntN(9) {
			h.append(e, l, 1+rng.IntN(4), rng)
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
		h.must = l.LogEndOffset()
		var cuts []cut
		rolls := len(*l.segments.Load())
		hook.at = func() {
			raw := h.batch(l.LogEndOffset(), 1+rng.IntN(4), rng)
			one, _, _ := batch.Parse(raw)
			if _, err := l.Append(raw, AppendOptions{LeaderEpoch: 1}); err != nil {
				t.Fatal(err)
			}
			if one.HasProducerID() {
				h.sequence += one.LastOffsetDelta + 1
			}
			l.SetHighWatermark(l.LogEndOffset())
			for i := range uint64(4) {
				var torn *rand.Rand
				if i > 0 {
					torn = rand.New(rand.NewPCG(i, seed))
				}
				left := h
				left.writes = slices.Clone(h.writes)
				cuts = append(cuts, cut{mem.AfterCrash(torn), left, len(cuts)})
			}
		}
		hook.watch(l)
		e.m.cleaner.pass()
		hook.watch(nil)
		if len(cuts) < 12 || hook.locked > 0 {
			t.Fatalf("seed %d: %d cuts, %d syncs with the log locked\n%s", seed, len(cuts), hook.locked, e.logs.String())
		}
		if n := strings.Count(e.logs.String(), "rolled a new log segment"); n < rolls {
			t.Errorf("seed %d: %d rolls", seed, n)
		}
		if err := h.check(l); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		closeEnv(t, e)
		for _, c := range cuts {
			if err := reopenCompacted(c.fs, c.h); err != nil {
				t.Fatalf("seed %d, cut %d: %v", seed, c.name, err)
			}
		}
		if err := reopenCompacted(mem, h); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestRetentionDuringSwap: retention and DeleteRecords that come while a compaction exchanges files wait for its end,
// and then take what is theirs, the new segment too.
func TestRetentionDuringSwap(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	hook := &swapHook{most: 5}
	e := compactedEnv(vfs.NewInject(mem, hook.fail))
	e.cfg.Delete, e.cfg.RetentionBytes, e.cfg.RetentionMs = true, 1, -1
	l := mustOpen(t, e)
	rng := rand.New(rand.NewPCG(1, 1))
	var h keyed
	for range 12 {
		h.append(e, l, 1+rng.IntN(4), rng)
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	calls := 0
	hook.at = func() {
		if calls++; calls > 1 {
			return
		}
		var ended atomic.Int32
		others.Go(func() {
			defer ended.Add(1)
			if n, err := l.deleteOldSegments(); err != nil || n == 0 {
				t.Errorf("retention: %d segments, %v", n, err)
			}
		})
		others.Go(func() {
			defer ended.Add(1)
			if _, err := l.DeleteRecords(5); err != nil {
				t.Errorf("DeleteRecords: %v", err)
			}
		})
		for range 10_000 { // Time enough for those that don't wait.
			runtime.Gosched()
		}
		if n := ended.Load(); n > 0 {
			t.Errorf("%d of them didn't wait", n)
		}
	}
	hook.watch(l)
	segs := *l.segments.Load()
	e.m.cleaner.pass()
	hook.watch(nil)
	others.Wait()
	if calls == 0 {
		t.Fatal("nothing was exchanged")
	}
	e.clk.Advance(2 * e.cfg.FileDeleteDelay)
	names, err := listFiles(mem, l.path)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(names, func(n string) bool {
		return slices.Contains([]string{swapSuffix, cleanedSuffix, deletedSuffix}, path.Ext(n))
	}); i >= 0 {
		t.Errorf("%s is left", names[i])
	}
	if start := l.LogStartOffset(); start <= segs[0].baseOffset || (*l.segments.Load())[0].baseOffset != start {
		t.Errorf("the log starts at %d, its first segment at %d", start, (*l.segments.Load())[0].baseOffset)
	}
	if err := h.check(l); err != nil {
		t.Error(err)
	}
	closeEnv(t, e)
	if err := reopenCompacted(mem, h); err != nil {
		t.Error(err)
	}
}
