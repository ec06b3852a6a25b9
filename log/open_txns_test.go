package commitlog

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// TestManyTransactionIndexes makes segments of which each has an aborted transaction, and reads them as consumers do
// that want only what was committed, while they grow and after a new start: the number of open files follows the
// bounds, not the number of transaction indexes.
func TestManyTransactionIndexes(t *testing.T) {
	const logs, segments, idle, readers = 20, 50, 12, 4
	fs := vfs.NewCount(vfs.NewMem())
	e := newEnv(fs)
	e.idleFiles = idle
	e.cfg.SegmentBytes, e.cfg.FlushMessages = 1000, 1
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	all := partitions(t, e, logs)
	const perSegment = 3 // Two records and the marker.
	for n := range segments {
		for _, l := range all {
			mustAppend(t, l, produced(int32(2*n), 2, true))
			mustAppend(t, l, abort())
			l.mu.Lock()
			_, err := l.roll(int64(perSegment * (n + 1)))
			l.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			e.m.flushSoon(l) // As an append that rolls does.
		}
	}
	check := func(when string) { t.Helper(); fewOpen(t, e, fs, readers+1, when) } // The flusher is one more.
	e.m.flusher.idle()
	for _, l := range all { // An active segment that is empty needs no flush, but for its file's name.
		if n := len(*l.segments.Load()); n != segments+1 {
			t.Fatalf("%d segments, want %d", n, segments+1)
		}
	}
	read := func() {
		var wg sync.WaitGroup
		for r := range readers {
			wg.Go(func() {
				for i := range logs * segments {
					l, base := all[i%logs], int64(perSegment*((i/logs+r*7)%segments))
					if err := readAbortedSegment(l, base); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	check("after the appends")
	read()
	check("after the reads")
	closeEnv(t, e)
	if now, _ := fs.Open(); now != 0 {
		t.Errorf("%d files are open after the end", now)
	}
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	all = partitions(t, e, logs)
	check("after a new start")
	read()
	check("after reads after a new start")
	abandonAll(e)
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	all = partitions(t, e, logs)
	read()
	check("after a kill")
	closeEnv(t, e)
	if now, _ := fs.Open(); now != 0 {
		t.Errorf("%d files are open after the end", now)
	}
}

// readAbortedSegment reads the segment at base, whose records must be told of as aborted.
func readAbortedSegment(l *Log, base int64) error {
	info, err := l.Read(ReadOptions{Offset: base, MaxBytes: 10_000, UpperBound: l.LastStableOffset(), Aborted: true})
	if err != nil {
		return err
	}
	defer info.Records.Release()
	raw := make([]byte, info.Records.Len())
	if _, err := info.Records.ReadAt(raw, info.Records.Position()); err != nil {
		return err
	}
	if b, _, err := batch.Parse(raw); err != nil || b.BaseOffset != base {
		return fmt.Errorf("%s at %d: batch at %d, %v", l.tp, base, b.BaseOffset, err)
	}
	if len(info.Aborted) != 1 || info.Aborted[0] != (AbortedTransaction{ProducerID: 1, FirstOffset: base}) {
		return fmt.Errorf("%s at %d: aborted %v", l.tp, base, info.Aborted)
	}
	return nil
}
