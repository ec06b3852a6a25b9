package commitlog

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"pgregory.net/rapid"
)

// checkCompacted demands more than check, of a log that no crash has touched: from the checkpoint on
// nothing is missing, before it no key comes twice, and a read at any offset finds what a walk finds.
func (h *keyed) checkCompacted(l *Log) error {
	if err := h.check(l); err != nil {
		return err
	}
	start, end, cleaned := l.LogStartOffset(), l.LogEndOffset(), l.cleaned.Load()
	found, seen := map[int64]bool{}, map[string]int64{}
	var ends []int64
	for _, s := range *l.segments.Load() {
		err := l.scanSegment(s, 0, NoLimit, func(_ *segment, f vfs.File, hd *batch.Header, pos int64) error {
			b, err := readBatch(f, hd, pos)
			if err != nil {
				return err
			}
			if n := len(ends); n > 0 && b.BaseOffset <= ends[n-1] {
				return fmt.Errorf("batch [%d, %d] after offset %d", b.BaseOffset, b.LastOffset(), ends[n-1])
			}
			ends = append(ends, b.LastOffset())
			rr, err := testCodecs.Records(&b, 1<<20)
			if err != nil {
				return err
			}
			defer rr.Close()
			var r batch.Record
			for rr.Next(&r) {
				found[r.Offset] = true
				if r.Offset < start {
					continue // In a segment that is half deleted.
				}
				if at, twice := seen[string(r.Key)]; twice && r.Offset < cleaned {
					return fmt.Errorf("%s at offsets %d and %d, both below the checkpoint %d", r.Key, at, r.Offset, cleaned)
				}
				seen[string(r.Key)] = r.Offset
			}
			return rr.Err()
		})
		if err != nil {
			return err
		}
	}
	for o := max(start, cleaned); o < end; o++ {
		if !found[o] {
			return fmt.Errorf("offset %d is missing, though nothing from %d on was compacted", o, cleaned)
		}
	}
	i := 0
	for o := start; o < end; o++ {
		for i < len(ends) && ends[i] < o {
			i++
		}
		bs, err := readBatches(l, ReadOptions{Offset: o, MaxBytes: 1, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil {
			return fmt.Errorf("read at %d: %w", o, err)
		}
		if i < len(ends) != (len(bs) == 1) || len(bs) == 1 && bs[0].LastOffset() != ends[i] {
			return fmt.Errorf("read at %d: %d batches; the %dth batch ends at or after it", o, len(bs), i)
		}
	}
	return h.checkSequence(l)
}

// TestCompactionModel appends, compacts, truncates, deletes and restarts at random.
func TestCompactionModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := compactedEnv(vfs.NewMem())
		e.cfg.SegmentBytes = int32(rapid.IntRange(500, 1500).Draw(t, "segment.bytes"))
		e.cfg.IndexIntervalBytes = int32(rapid.IntRange(1, 500).Draw(t, "index.interval.bytes"))
		e.dedupe = int64(rapid.SampledFrom([]int{72, 150, 1 << 20}).Draw(t, "dedupe"))
		rng := rand.New(rand.NewPCG(uint64(rapid.IntRange(0, 1<<30).Draw(t, "seed")), 0))
		var l *Log
		var h keyed
		open := func() {
			if err := e.open(); err != nil {
				t.Fatal(err)
			}
			var err error
			if l, err = e.log(); err != nil {
				t.Fatal(err)
			}
			l.SetHighWatermark(l.LogEndOffset())
			h.sequence = lastSequence(l) + 1
		}
		open()
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 15).Draw(t, "op"); op {
			case 0, 1, 2, 3, 4, 5, 6:
				h.append(e, l, rapid.IntRange(1, 5).Draw(t, "records"), rng)
			case 7, 8, 9, 10:
				e.m.cleaner.pass()
				if p, err := l.cleanPlan(e.clk.Now()); err != nil || p.Due(0) {
					t.Fatalf("still due: %+v, %v\n%s", p, err, e.logs.String())
				}
			case 11:
				e.clk.Advance(2 * e.cfg.FileDeleteDelay) // Tombstones expire, files go.
			case 12: // Below the high watermark of before, but not into what was compacted.
				at := rapid.Int64Range(max(l.LogStartOffset(), l.cleaned.Load()), l.LogEndOffset()).Draw(t, "truncate")
				if err := l.TruncateTo(at); err != nil {
					t.Fatal(err)
				}
				h.writes = h.writes[:l.LogEndOffset()]
				h.sequence = lastSequence(l) + 1
			case 13:
				if _, err := l.DeleteRecords(rapid.Int64Range(0, l.LogEndOffset()).Draw(t, "delete")); err != nil {
					t.Fatal(err)
				}
				if _, err := l.deleteOldSegments(); err != nil {
					t.Fatal(err)
				}
			case 14:
				if err := e.m.Close(); err != nil {
					t.Fatal(err)
				}
				open()
			default:
				end, known := l.LogEndOffset(), lastSequence(l)
				abandonAll(e)
				open()
				if l.LogEndOffset() != end || lastSequence(l) < known {
					t.Fatalf("after a kill the log ends at %d with sequence %d, before at %d with %d",
						l.LogEndOffset(), lastSequence(l), end, known)
				}
			}
			if err := h.checkCompacted(l); err != nil {
				t.Fatalf("%v\n%s", err, e.logs.String())
			}
		}
		if err := e.m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
