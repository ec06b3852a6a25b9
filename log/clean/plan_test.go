package clean

import (
	"math"
	"slices"
	"testing"
	"time"
)

// segs makes segments of ten offsets and 100 bytes each, the last one active.
func segs(n int) []Segment {
	out := make([]Segment, n)
	for i := range out {
		out[i] = Segment{BaseOffset: int64(10 * i), SizeBytes: 100, IndexBytes: 8, TimeIndexBytes: 12,
			LargestTimestampMs: int64(1000 * (i + 1)), FirstTimestampMs: int64(1000*i + 1)}
	}
	return out
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                     string
		checkpoint, start, lso   int64
		minLag, maxLag, nowMs    int64
		dirty, uncleanable       int64
		cleanBytes, cleanable    int64
		overdue, bad, dueAtRatio bool
	}{
		{name: "never cleaned", checkpoint: NoCheckpoint, lso: 45, maxLag: NoLimit, dirty: 0, uncleanable: 40, cleanable: 400, dueAtRatio: true},
		{name: "cleaned", checkpoint: 30, lso: 45, maxLag: NoLimit, dirty: 30, uncleanable: 40, cleanBytes: 300, cleanable: 100},
		{name: "inside a segment", checkpoint: 25, lso: 45, maxLag: NoLimit, dirty: 25, uncleanable: 40, cleanBytes: 200, cleanable: 200},
		{name: "all cleaned", checkpoint: 40, lso: 45, maxLag: NoLimit, dirty: 40, uncleanable: 40, cleanBytes: 400},
		{name: "unstable", checkpoint: NoCheckpoint, lso: 25, maxLag: NoLimit, dirty: 0, uncleanable: 20, cleanable: 200, dueAtRatio: true},
		{name: "before the start", checkpoint: 5, start: 20, lso: 45, maxLag: NoLimit, dirty: 20, uncleanable: 40, cleanBytes: 200, cleanable: 200, bad: true},
		{name: "beyond the end", checkpoint: 50, lso: 45, maxLag: NoLimit, dirty: 0, uncleanable: 40, cleanable: 400, bad: true, dueAtRatio: true},
		{name: "minimum lag", checkpoint: NoCheckpoint, lso: 45, minLag: 1000, maxLag: NoLimit, nowMs: 3500, dirty: 0, uncleanable: 20, cleanable: 200, dueAtRatio: true},
		{name: "maximum lag", checkpoint: 30, lso: 45, maxLag: 1000, nowMs: 4002, dirty: 30, uncleanable: 40, cleanBytes: 300, cleanable: 100, overdue: true, dueAtRatio: true},
		{name: "within the maximum lag", checkpoint: 30, lso: 45, maxLag: 1000, nowMs: 4001, dirty: 30, uncleanable: 40, cleanBytes: 300, cleanable: 100},
	} {
		l := Log{Segments: segs(5), LogStartOffset: c.start, LastStableOffset: c.lso, LogEndOffset: 45, Checkpoint: c.checkpoint}
		p := Measure(&l, &Policy{MinLagMs: c.minLag, MaxLagMs: c.maxLag}, c.nowMs)
		want := Plan{FirstDirtyOffset: c.dirty, FirstUncleanableOffset: c.uncleanable, CleanBytes: c.cleanBytes,
			CleanableBytes: c.cleanable, Overdue: c.overdue, BadCheckpoint: c.bad}
		if p != want {
			t.Errorf("%s: %+v, want %+v", c.name, p, want)
		}
		if got := p.Due(0.5); got != c.dueAtRatio {
			t.Errorf("%s: due %t at a ratio of %.2f", c.name, got, p.DirtyRatio())
		}
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	far := segs(4)
	far[2].BaseOffset, far[3].BaseOffset = math.MaxInt32+5, math.MaxInt32+9
	for _, c := range []struct {
		name            string
		segs            []Segment
		end, bound      int64
		segment, indexs int64
		want            [][2]int
	}{
		{"pairs", segs(6), 50, 50, 200, 1000, [][2]int{{0, 2}, {2, 4}, {4, 5}}},
		{"one each", segs(3), 20, 20, 100, 1000, [][2]int{{0, 1}, {1, 2}}},
		{"larger than a segment", segs(3), 20, 20, 10, 1000, [][2]int{{0, 1}, {1, 2}}},
		{"time index full", segs(6), 50, 50, 1000, 36, [][2]int{{0, 3}, {3, 5}}},
		{"end inside", segs(6), 15, 50, 1000, 1000, [][2]int{{0, 2}}},
		{"offsets too far apart", far, math.MaxInt32 + 9, math.MaxInt32 + 9, 1000, 1000, [][2]int{{0, 1}, {1, 3}}},
	} {
		if got := Group(c.segs, c.end, c.bound, &Policy{SegmentBytes: c.segment, IndexBytes: c.indexs}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	var th Throttle
	now := time.UnixMilli(1_000_000)
	if d := th.Take(1<<30, now); d != 0 {
		t.Errorf("a pause of %v without a limit", d)
	}
	th.SetRate(1000)
	if d := th.Take(100, now); d != 100*time.Millisecond {
		t.Errorf("a pause of %v for 100 bytes at 1000 a second", d)
	}
	if d := th.Take(100, now.Add(50*time.Millisecond)); d != 150*time.Millisecond {
		t.Errorf("a pause of %v after a pause cut short", d)
	}
	if d := th.Take(100, now.Add(time.Minute)); d != 100*time.Millisecond {
		t.Errorf("a pause of %v after a long time of nothing", d)
	}
	if d := th.Take(1<<40, now.Add(time.Minute)); d != maxPause {
		t.Errorf("a pause of %v for very much", d)
	}
}
