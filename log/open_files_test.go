package commitlog

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// TestManySegments makes more than 100,000 segments in one manager, reads all over them from several goroutines,
// and starts again: the number of open files follows the bounds, not the segments.
func TestManySegments(t *testing.T) {
	const logs, segments, idle, readers = 1010, 100, 50, 4
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	fs := vfs.NewCount(vfs.NewMem())
	e := newEnv(fs)
	e.idleFiles = idle
	e.cfg.SegmentBytes, e.cfg.FlushMessages = 100, 1 // Each batch makes a segment, and is flushed.
	b := makeBatch(batch.DefaultOptions(), 0, 1, 8, 1000)
	fill := func(l *Log) {
		for range segments {
			clear(b[:8])
			if _, err := l.Append(b, AppendOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	all := partitions(t, e, logs)
	for _, l := range all {
		fill(l)
	}
	check := func(when string) {
		n := 0
		for _, l := range all {
			n += len(*l.segments.Load())
		}
		if n <= 100_000 {
			t.Fatalf("%d segments %s", n, when)
		}
		fewOpen(t, e, fs, readers, when)
	}
	check("after the appends")
	read := func() {
		var wg sync.WaitGroup
		for r := range readers {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(2, uint64(r)))
				for range 2000 {
					l, offset := all[rng.IntN(logs)], rng.Int64N(segments)
					bs, err := readBatches(l, ReadOptions{Offset: offset, MaxBytes: 1, MinOneBatch: true, UpperBound: NoLimit})
					if err != nil || len(bs) != 1 || bs[0].BaseOffset != offset {
						t.Errorf("read of %s at %d: %d batches, %v", l.tp, offset, len(bs), err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	read()
	check("after the reads")
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	if now, _ := fs.Open(); now != 0 {
		t.Errorf("%d files are open after the end", now)
	}
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	all = partitions(t, e, logs)
	read()
	check("after a new start")
	closeEnv(t, e)
}

func closeEnv(t *testing.T, e *env) {
	t.Helper()
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadsInOrder counts what a reader costs that goes through a sealed segment from a place near its end: the
// index is read once, for the block that the search ends in.
func TestReadsInOrder(t *testing.T) {
	fs := vfs.NewCount(vfs.NewMem())
	e := newEnv(fs)
	e.cfg.SegmentBytes, e.cfg.IndexIntervalBytes = 1<<30, 4096
	l := mustOpen(t, e)
	const batches, fetches = 3000, 100 // Twelve blocks of index entries.
	for range batches {
		if _, err := appendRecords(l, 1, 8<<10, 1000); err != nil {
			t.Fatal(err)
		}
	}
	l.mu.Lock()
	if _, err := l.roll(batches); err != nil {
		t.Fatal(err)
	}
	l.mu.Unlock()
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	fetch := func(offset int64) {
		bs, err := readBatches(l, ReadOptions{Offset: offset, MaxBytes: 10 << 10, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) != 1 || bs[0].BaseOffset != offset {
			t.Fatalf("read at %d: %d batches, %v", offset, len(bs), err)
		}
	}
	fs.Calls()
	fetch(batches - 150)
	// The files; the index; the head of the batch before, that of the one wanted, and its records.
	if opened, reads := fs.Calls(); opened > 2 || reads > 4 {
		t.Errorf("the first fetch opens %d files and reads %d times, want 2 and 4", opened, reads)
	}
	for i := range int64(fetches) {
		fetch(batches - 150 + i + 1)
	}
	if opened, reads := fs.Calls(); opened > 0 || reads > 3*fetches+1 {
		t.Errorf("%d fetches in order open %d files and read %d times, want none and three each", fetches, opened, reads)
	}
	fetch(10) // A dozen blocks are halved.
	if opened, reads := fs.Calls(); opened > 0 || reads > 3+5 {
		t.Errorf("a fetch elsewhere opens %d files and reads %d times", opened, reads)
	}
	closeEnv(t, e)
}

// TestRolledAfterFlush: a segment that is rolled while all its records are flushed gets its last time index entry
// onto the disk, too: its largest timestamp is known after a clean stop.
func TestRolledAfterFlush(t *testing.T) {
	e := newEnv(vfs.NewMem())
	e.cfg.FlushMessages, e.cfg.IndexIntervalBytes = 1, 400 // The last batch of a segment gets no entry of its own.
	l := mustOpen(t, e)
	for i := int64(0); len(*l.segments.Load()) == 1; i++ {
		if _, err := appendRecords(l, 1, 100, 1000+i); err != nil {
			t.Fatal(err)
		}
	}
	last := (*l.segments.Load())[1].baseOffset - 1 // Its timestamp is the first segment's largest.
	closeEnv(t, e)
	got, found, err := mustOpen(t, e).OffsetForTimestamp(1000 + last)
	if err != nil || !found || got.Offset != last {
		t.Errorf("after a clean stop timestamp %d is found at offset %d (%t, %v), want %d", 1000+last, got.Offset, found, err, last)
	}
	closeEnv(t, e)
}

// TestCrowded: with too many files waiting for a flush every append waits for its own, and the others' are flushed
// in the background, so that files may close.
func TestCrowded(t *testing.T) {
	const logs, limit = 20, 4
	e := newEnv(vfs.NewMem())
	e.idleFiles, e.unflushedFiles = 2, limit
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	all := partitions(t, e, logs)
	for round := range 3 {
		for _, l := range all {
			if _, err := appendRecords(l, 1, 8, 1000); err != nil {
				t.Fatal(err)
			}
			// The flusher may hold on to an index while it writes it.
			if n := e.m.pool.Pinned(); n > limit+limit/2+1 {
				t.Fatalf("%d files wait for a flush in round %d", n, round)
			}
		}
	}
	e.m.flusher.idle()
	if s := e.m.pool.Stats(); s.Pinned > limit || s.Open > limit+2 {
		t.Errorf("%+v after the flushes", s)
	}
	closeEnv(t, e)
}

// TestTooManyOpenFiles: where the process is short of descriptors, idle files are closed for those that are needed,
// and an append that fails for want of one leaves log and directory as they were.
func TestTooManyOpenFiles(t *testing.T) {
	counted := vfs.NewCount(vfs.NewMem())
	var limit atomic.Int64
	limit.Store(1 << 30)
	fs := vfs.NewInject(counted, func(_ int64, op vfs.Op, name string) error {
		if now, _ := counted.Open(); opens(op) && int64(now) >= limit.Load() {
			return fmt.Errorf("open %s: %w", name, syscall.EMFILE)
		}
		return nil
	})
	e := newEnv(fs)
	e.cfg.FlushMessages = 1
	l := mustOpen(t, e)
	for range 100 {
		if _, err := appendRecords(l, 1, 100, 1000); err != nil {
			t.Fatal(err)
		}
	}
	now, _ := counted.Open() // All of them idle, once what was rolled is flushed.
	limit.Store(int64(now))
	for _, at := range []int64{0, 50, 99} {
		if _, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 100, MinOneBatch: true, UpperBound: NoLimit}); err != nil {
			t.Fatalf("read at %d with as many files as allowed: %v", at, err)
		}
	}
	for range 20 { // Some roll.
		if _, err := appendRecords(l, 1, 100, 1000); err != nil {
			t.Fatalf("append with as many files as allowed: %v", err)
		}
	}
	e.m.flusher.idle() // It holds on to the files that it flushes.
	e.m.pool.Shrink()  // Closing idle files can't help now.
	limit.Store(0)
	end := l.LogEndOffset()
	if _, err := appendRecords(l, 1, 8, 1000); err == nil || l.LogEndOffset() != end {
		t.Fatalf("an append that can't open its file: %v, the log ends at %d, want %d", err, l.LogEndOffset(), end)
	}
	limit.Store(1 << 30)
	if err := l.dir.offline(); err != nil {
		t.Fatalf("the directory went offline: %v", err)
	}
	if _, err := appendRecords(l, 1, 8, 1000); err != nil {
		t.Fatal(err)
	}
	closeEnv(t, e)
}

// partitions are the logs of the first n partitions of the topic, made if they aren't there.
func partitions(t *testing.T, e *env, n int) []*Log {
	t.Helper()
	var all []*Log
	for i := range n {
		l, err := e.m.Create("t", int32(i), e.topicID, e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// fewOpen demands that the open files kept to the bound of idle ones. Beside those there were a lock file, and what
// each of the goroutines had at work.
func fewOpen(t *testing.T, e *env, fs *vfs.Count, goroutines int, when string) {
	t.Helper()
	if _, most := fs.Open(); most > e.idleFiles+10*goroutines {
		t.Errorf("%d files were open at the same time %s", most, when)
	}
	if s := e.m.pool.Stats(); s.Idle != s.Open || s.Idle > e.idleFiles {
		t.Errorf("%+v at rest %s", s, when)
	}
}
