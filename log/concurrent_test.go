package commitlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// numbered is what the record at an offset is, so that a reader knows without asking.
func numbered(offset int64) keyedRecord {
	r := keyedRecord{key: fmt.Sprintf("k%d", offset%13)}
	if offset%11 != 0 {
		r.value = fmt.Sprintf("value %d", offset)
	}
	return r
}

// crowd is one log that many use at once.
type crowd struct {
	e *env
	l *Log
	// writing is set while there are appends to come.
	writing atomic.Bool
	// passes counts passes that compacted something; the writer doesn't outrun them.
	passes atomic.Int64
	// held counts ranges that were read after their file had left the log.
	held atomic.Int64
}

func (c *crowd) write(batches int, rng *rand.Rand) error {
	defer c.writing.Store(false)
	for n := range batches {
		for c.writing.Load() && c.passes.Load() < int64(n/50) {
			runtime.Gosched()
		}
		o := batch.DefaultOptions()
		o.Codec = batch.Codec(rng.IntN(2) * int(batch.LZ4))
		b := testCodecs.NewBuilder(nil, o)
		first := c.l.LogEndOffset()
		for i := range int64(1 + rng.IntN(5)) {
			r := numbered(first + i)
			var value []byte
			if r.value != "" {
				value = []byte(r.value)
			}
			b.Append(testStart.UnixMilli(), []byte(r.key), value)
		}
		raw, err := b.Build()
		if err != nil {
			return err
		}
		if _, err := c.l.Append(raw, AppendOptions{LeaderEpoch: 1}); err != nil {
			return err
		}
		c.l.SetHighWatermark(c.l.LogEndOffset())
	}
	return nil
}

// read reads at random offsets, and what it finds only when it holds a few ranges.
func (c *crowd) read(rng *rand.Rand) error {
	type hold struct {
		at   int64
		info ReadInfo
		seg  *segment
	}
	var holds []hold
	drain := func(down int) error {
		for len(holds) > down {
			h := holds[0]
			holds = holds[1:]
			gone := h.seg.removed.Load()
			err := checkNumbered(h.info.Records)
			h.info.Records.Release()
			if err != nil {
				return fmt.Errorf("range at offset %d, its segment removed %t: %w", h.at, gone, err)
			}
			if gone {
				c.held.Add(1)
			}
		}
		return nil
	}
	for c.writing.Load() {
		start, end := c.l.LogStartOffset(), c.l.LogEndOffset()
		at := start + rng.Int64N(end-start+1)
		segs := *c.l.segments.Load()
		info, err := c.l.Read(ReadOptions{Offset: at, MaxBytes: 2000, MinOneBatch: true, UpperBound: NoLimit, Aborted: true})
		if err != nil {
			if kerror.CodeOf(err) == kerr.OffsetOutOfRange.Code && at < c.l.LogStartOffset() {
				continue
			}
			return fmt.Errorf("read at %d of [%d, %d): %w", at, start, end, err)
		}
		if info.Records == nil {
			continue
		}
		holds = append(holds, hold{at, info, segs[floorSegment(segs, at)]})
		if len(holds) > 6 {
			if err := drain(rng.IntN(6)); err != nil {
				return err
			}
		}
	}
	return drain(0)
}

// checkNumbered reads a range and demands whole, sound batches of the right records.
func checkNumbered(r *Slice) error {
	b := make([]byte, r.Len())
	if n, err := r.ReadAt(b, r.Position()); n < len(b) {
		return fmt.Errorf("%d bytes of %d: %w", n, len(b), err)
	}
	for n := 0; len(b) > 0; n++ {
		one, rest, err := batch.Parse(b)
		if errors.Is(err, batch.ErrTruncated) && n > 0 {
			return nil // Cut short by the size asked for.
		}
		if err == nil {
			err = one.CheckCRC()
		}
		if err != nil {
			return err
		}
		rr, err := testCodecs.Records(&one, 1<<20)
		if err != nil {
			return err
		}
		var rec batch.Record
		for rr.Next(&rec) {
			if got := (keyedRecord{string(rec.Key), string(rec.Value)}); got != numbered(rec.Offset) {
				return fmt.Errorf("offset %d has %v", rec.Offset, got)
			}
		}
		if err := rr.Err(); err != nil {
			return err
		}
		rr.Close()
		b = rest
	}
	return nil
}

// while repeats f for as long as there are appends.
func (c *crowd) while(f func() error) func() error {
	return func() error {
		for c.writing.Load() {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestCrowd appends, reads, compacts, deletes records and segments, and lets removed files go, all at once, on
// files in memory and real ones. A range that a reader holds stays what it was although its segment is
// compacted or deleted, and nothing is lost that may not be.
func TestCrowd(t *testing.T) {
	for name, c := range map[string]struct {
		fs      vfs.FS
		dir     string
		batches int
	}{
		"memory": {vfs.NewMem(), "/data", 600},
		"files":  {vfs.OS{}, t.TempDir(), 200}, // Which are flushed.
	} {
		batches, dir := c.batches, c.dir
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := compactedEnv(c.fs)
			e.cfg.SegmentBytes, e.cfg.Delete, e.cfg.RetentionBytes = 900, true, 20_000
			e.cfg.RetentionMs = -1
			m, err := Open(context.Background(), c.fs, e.clk, slog.New(slog.DiscardHandler), e.managerConfig(dir))
			if err != nil {
				t.Fatal(err)
			}
			e.m = m
			l, err := e.log()
			if err != nil {
				t.Fatal(err)
			}
			c := &crowd{e: e, l: l}
			c.writing.Store(true)
			dice := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 3)) }
			deleting, deleted := dice(9), int64(0)
			var wg sync.WaitGroup
			for _, f := range []func() error{
				func() error { return c.write(batches, dice(1)) },
				func() error { return c.read(dice(2)) },
				c.while(func() error {
					was := l.cleaned.Load()
					m.cleaner.pass()
					if us := m.Uncleanable(); len(us) > 0 {
						return fmt.Errorf("set aside: %+v", us)
					}
					if l.cleaned.Load() > was {
						c.passes.Add(1)
					}
					return nil
				}),
				c.while(func() error {
					start := l.LogStartOffset()
					if start > l.HighWatermark()-100 || c.passes.Load() == deleted {
						runtime.Gosched() // Some passes are let through.
						return nil
					}
					deleted = c.passes.Load()
					_, err := l.DeleteRecords(start + 1 + deleting.Int64N(40))
					return err
				}),
				c.while(func() error { _, err := l.deleteOldSegments(); return err }),
				c.while(func() error { e.clk.Advance(2 * e.cfg.FileDeleteDelay); return l.Flush() }),
			} {
				wg.Go(func() {
					if err := f(); err != nil {
						c.writing.Store(false)
						t.Error(err)
					}
				})
			}
			wg.Wait()
			t.Logf("log [%d, %d), compacted up to %d, %d ranges outlived their segment", l.LogStartOffset(), l.LogEndOffset(), l.cleaned.Load(), c.held.Load())
			if l.LogStartOffset() == 0 || l.cleaned.Load() <= 0 {
				t.Error("too little happened at once")
			}
			if err := c.lastOnes(); err != nil {
				t.Error(err)
			}
			if err := c.outlives(); err != nil {
				t.Error(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// outlives reads a range after its segment was deleted, and its file removed.
func (c *crowd) outlives() error {
	info, err := c.l.Read(ReadOptions{Offset: c.l.LogStartOffset(), MaxBytes: 2000, MinOneBatch: true, UpperBound: NoLimit})
	if err != nil {
		return err
	}
	defer info.Records.Release()
	seg := (*c.l.segments.Load())[0]
	if _, err := c.l.DeleteRecords(-1); err != nil {
		return err
	}
	if _, err := c.l.deleteOldSegments(); err != nil {
		return err
	}
	c.e.clk.Advance(2 * c.e.cfg.FileDeleteDelay)
	if _, err := c.e.fs.Stat(seg.log.Path()); !seg.removed.Load() || !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("segment %d is still there: %w", seg.baseOffset, err)
	}
	return checkNumbered(info.Records)
}

// lastOnes demands the last record of each key, unless it is a tombstone or was deleted.
func (c *crowd) lastOnes() error {
	found := map[int64]bool{}
	for at := c.l.LogStartOffset(); at < c.l.LogEndOffset(); {
		bs, err := readBatches(c.l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) == 0 {
			return err
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				return err
			}
			var r batch.Record
			for rr.Next(&r) {
				found[r.Offset] = true
			}
			rr.Close()
			at = bs[i].NextOffset()
		}
	}
	end := c.l.LogEndOffset()
	for o := max(c.l.LogStartOffset(), end-13); o < end; o++ {
		if r := numbered(o); r.value != "" && !found[o] {
			return fmt.Errorf("the last record of %s, at offset %d, is missing", r.key, o)
		}
	}
	return nil
}

// TestRetentionUnderCompaction removes segments, and their files, in the middle of a compaction: that ends it, and
// is no reason to set the partition aside.
func TestRetentionUnderCompaction(t *testing.T) {
	e := compactedEnv(vfs.NewMem())
	l := mustOpen(t, e)
	c := &crowd{e: e, l: l}
	if err := c.write(60, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	e.m.flusher.idle()
	segs := *l.segments.Load()
	run := &cleaning{l: l, ctx: context.Background(), now: e.clk.Now(), memoryBytes: 1 << 20, bufferBytes: 4 << 10, loadFactor: 0.9}
	run.pause = func(context.Context, int) error {
		if l.LogStartOffset() > 0 {
			return nil
		}
		if _, err := l.DeleteRecords(segs[4].baseOffset); err != nil {
			return err
		}
		if _, err := l.deleteOldSegments(); err != nil {
			return err
		}
		e.clk.Advance(2 * e.cfg.FileDeleteDelay)
		return nil
	}
	if err := run.run(); !errors.Is(err, errSuperseded) {
		t.Errorf("the compaction ended with %v", err)
	}
	e.m.cleaner.pass()
	if us := e.m.Uncleanable(); len(us) > 0 || l.cleaned.Load() <= segs[4].baseOffset {
		t.Errorf("compacted up to %d, set aside %+v", l.cleaned.Load(), us)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
