package clean

import (
	"math"
	"sort"
)

// NoCheckpoint stands for a log that was never cleaned.
const NoCheckpoint int64 = -1

// NoLimit stands for an absent bound, as Kafka's Long.MAX_VALUE.
const NoLimit = math.MaxInt64

// Segment is what planning needs to know of one.
type Segment struct {
	BaseOffset int64
	SizeBytes  int64
	// IndexBytes and TimeIndexBytes are the lengths of its indexes.
	IndexBytes, TimeIndexBytes int64
	// LargestTimestampMs and FirstTimestampMs are those of its batches; FirstTimestampMs matters only with
	// a maximum lag. Zero or less is unknown.
	LargestTimestampMs, FirstTimestampMs int64
}

// Log is a log at one moment.
type Log struct {
	// Segments are sorted; the last one is active. Never empty.
	Segments []Segment
	// Invariant: LogStartOffset <= LastStableOffset <= LogEndOffset.
	LogStartOffset, LastStableOffset, LogEndOffset int64
	// Checkpoint is the offset up to which the log was cleaned, or NoCheckpoint.
	Checkpoint int64
}

// Policy is what a topic's configuration says to compaction.
type Policy struct {
	// MinDirtyRatio is min.cleanable.dirty.ratio.
	MinDirtyRatio float64
	// MinLagMs and MaxLagMs are min.compaction.lag.ms and max.compaction.lag.ms.
	MinLagMs, MaxLagMs int64
	// SegmentBytes and IndexBytes bound what segments are merged into.
	SegmentBytes, IndexBytes int64
}

// Plan says which part of a log compaction would work on.
type Plan struct {
	// FirstDirtyOffset is where the part begins that no cleaning has seen, FirstUncleanableOffset where
	// that ends which may be cleaned now: the base offset of a segment.
	FirstDirtyOffset, FirstUncleanableOffset int64
	// CleanBytes lie before FirstDirtyOffset, CleanableBytes between the two offsets.
	CleanBytes, CleanableBytes int64
	// Overdue says that the oldest dirty record is older than the maximum lag.
	Overdue bool
	// BadCheckpoint says that the checkpoint lies beyond the log's end, or before its start.
	BadCheckpoint bool
}

// Measure plans the compaction of a log. (Kafka: LogCleanerManager.cleanableOffsets, LogToClean.)
func Measure(l *Log, p *Policy, nowMs int64) Plan {
	plan := Plan{FirstDirtyOffset: l.Checkpoint}
	if l.Checkpoint < l.LogStartOffset || l.Checkpoint > l.LogEndOffset {
		plan.FirstDirtyOffset = l.LogStartOffset
		plan.BadCheckpoint = l.Checkpoint != NoCheckpoint
	}
	active := len(l.Segments) - 1
	bound := min(l.LastStableOffset, l.Segments[active].BaseOffset)
	earliest := int64(NoLimit)
	for i := floor(l.Segments, plan.FirstDirtyOffset); i < active; i++ {
		s := &l.Segments[i]
		if p.MinLagMs > 0 && s.LargestTimestampMs > nowMs-p.MinLagMs {
			bound = min(bound, s.BaseOffset)
		}
		if s.FirstTimestampMs > 0 {
			earliest = min(earliest, s.FirstTimestampMs)
		}
	}
	plan.Overdue = p.MaxLagMs != NoLimit && earliest < nowMs-max(p.MaxLagMs, 0)
	// Whole segments only: the one that has the bound is left alone.
	plan.FirstUncleanableOffset = l.Segments[floor(l.Segments, bound)].BaseOffset
	firstDirty := floor(l.Segments, plan.FirstDirtyOffset)
	for i := range l.Segments {
		s := &l.Segments[i]
		switch {
		case i < firstDirty:
			plan.CleanBytes += s.SizeBytes
		case s.BaseOffset < plan.FirstUncleanableOffset:
			plan.CleanableBytes += s.SizeBytes
		}
	}
	return plan
}

// floor is the index of the last segment that starts at or before offset, or 0.
func floor(segs []Segment, offset int64) int {
	above := sort.Search(len(segs), func(i int) bool { return segs[i].BaseOffset > offset })
	return max(0, above-1)
}

// DirtyRatio is the dirty part of what would be read, from 0 to 1.
func (p *Plan) DirtyRatio() float64 {
	if p.CleanableBytes == 0 {
		return 0
	}
	return float64(p.CleanableBytes) / float64(p.CleanBytes+p.CleanableBytes)
}

// Due says that the log should be cleaned now.
func (p *Plan) Due(minDirtyRatio float64) bool {
	return p.FirstDirtyOffset < p.FirstUncleanableOffset && p.CleanableBytes > 0 &&
		(p.Overdue || p.DirtyRatio() > minDirtyRatio)
}

// Group divides the segments before end into runs that become one segment each, so that neither the
// segment nor an index outgrows its bound, nor an offset the 31 bits it has in the index. Each run is
// [from, to) of segs. firstUncleanable bounds the offsets of the last segment before end.
// (Kafka: Cleaner.groupSegmentsBySize.)
func Group(segs []Segment, end, firstUncleanable int64, p *Policy) [][2]int {
	n := 0
	for n < len(segs) && segs[n].BaseOffset < end {
		n++
	}
	var groups [][2]int
	for from := 0; from < n; {
		sum := segs[from]
		to := from + 1
		for to < n && sum.SizeBytes+segs[to].SizeBytes <= p.SegmentBytes &&
			sum.IndexBytes+segs[to].IndexBytes <= p.IndexBytes &&
			sum.TimeIndexBytes+segs[to].TimeIndexBytes <= p.IndexBytes &&
			lastOffset(segs, to, n, firstUncleanable)-segs[from].BaseOffset <= math.MaxInt32 {
			sum.SizeBytes += segs[to].SizeBytes
			sum.IndexBytes += segs[to].IndexBytes
			sum.TimeIndexBytes += segs[to].TimeIndexBytes
			to++
		}
		groups = append(groups, [2]int{from, to})
		from = to
	}
	return groups
}

// lastOffset bounds the last offset of segment i of the first n.
func lastOffset(segs []Segment, i, n int, firstUncleanable int64) int64 {
	if i+1 < n {
		return segs[i+1].BaseOffset - 1
	}
	return firstUncleanable - 1
}
