package commitlog

import (
	"errors"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TestCachedReads reads at every offset and bound both ways: what a read without waiting finds is what any read finds, and
// in order it finds most. It gives up where a lock is taken, a file is closed, or the device would be asked.
func TestCachedReads(t *testing.T) {
	var missing bool
	e := newEnv(vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, _ string) error {
		if op == vfs.OpReadCached && missing {
			return errors.New("not in memory")
		}
		return nil
	}))
	e.cfg.SegmentBytes, e.cfg.IndexIntervalBytes = 40_000, 1000
	l := mustOpen(t, e)
	const batches, perBatch = 400, 3
	for range batches {
		if _, err := appendRecords(l, perBatch, 100, 1000); err != nil {
			t.Fatal(err)
		}
	}
	const end = batches * perBatch
	if n := len(*l.segments.Load()); n < 4 {
		t.Fatalf("%d segments", n)
	}
	read := func(o ReadOptions) (position int64, n int, incomplete bool, err error) {
		info, err := l.Read(o)
		if err != nil || info.Records == nil {
			return -1, 0, info.FirstBatchIncomplete, err
		}
		defer info.Records.Release()
		return info.Records.Position(), info.Records.Len(), info.FirstBatchIncomplete, nil
	}
	tried, found := 0, 0
	for offset := int64(0); offset <= end; offset++ {
		for _, o := range []ReadOptions{
			{Offset: offset, MaxBytes: 1, MinOneBatch: true, UpperBound: NoLimit},
			{Offset: offset, MaxBytes: 1, UpperBound: NoLimit},
			{Offset: offset, MaxBytes: 1 << 20, UpperBound: min(offset+10, end)},
			{Offset: offset, MaxBytes: 2000, MinOneBatch: true, UpperBound: end - 4},
		} {
			cached := o
			cached.Cached = true
			position, n, incomplete, err := read(cached)
			wantPosition, wantN, wantIncomplete, wantErr := read(o)
			tried++
			if errors.Is(err, vfs.ErrNotCached) {
				continue
			}
			found++
			if position != wantPosition || n != wantN || incomplete != wantIncomplete || (err == nil) != (wantErr == nil) {
				t.Fatalf("%+v: %d bytes at %d, %t, %v; want %d at %d, %t, %v", o, n, position, incomplete, err, wantN, wantPosition, wantIncomplete, wantErr)
			}
		}
	}
	if found < tried*9/10 {
		t.Errorf("%d of %d reads found what they wanted in memory", found, tried)
	}

	old := ReadOptions{Offset: 2, MaxBytes: 1, MinOneBatch: true, UpperBound: NoLimit, Cached: true}
	gives := func(what string, o ReadOptions, want error) {
		t.Helper()
		if _, _, _, err := read(o); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	warm := old
	warm.Cached = false
	gives("a usual read", warm, nil)
	gives("in memory", old, nil)
	l.reading.Lock()
	gives("during a truncation", old, vfs.ErrNotCached)
	l.reading.Unlock()
	missing = true
	gives("not in the page cache", old, vfs.ErrNotCached)
	missing = false
	aborted := old
	aborted.Aborted = true
	gives("with transactions", aborted, vfs.ErrNotCached)
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	e.m.pool.Shrink()
	gives("closed files", old, vfs.ErrNotCached)
	gives("at the end", ReadOptions{Offset: end, MaxBytes: 1, UpperBound: NoLimit, Cached: true}, nil)
	gives("beyond the end", ReadOptions{Offset: end + 1, MaxBytes: 1, UpperBound: NoLimit, Cached: true}, kerr.OffsetOutOfRange)
	closeEnv(t, e)
}
