package commitlog

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"pgregory.net/rapid"
)

// modelLog is what a log holds, without files: the offsets of its batches.
type modelLog struct {
	start, end int64
	// batches are [first, last] of each batch in order.
	batches [][2]int64
}

// find is the first batch that reaches offset, -1 if there is none.
func (m *modelLog) find(offset int64) int {
	return slices.IndexFunc(m.batches, func(b [2]int64) bool { return b[1] >= offset })
}

// truncate removes what reaches offset.
func (m *modelLog) truncate(offset int64) {
	if offset >= m.end {
		return
	}
	m.end = offset
	if i := m.find(offset); i >= 0 {
		m.end = min(offset, m.batches[i][0])
		m.batches = m.batches[:i]
	}
	m.start = min(m.start, m.end)
}

// TestModel runs random appends, rolls, truncations, deletions, clean stops and kills on a log and on
// a model, and compares positions, reads and the oracle for every offset.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := newEnv(vfs.NewMem())
		e.cfg.SegmentBytes = int32(rapid.IntRange(300, 2000).Draw(t, "segment.bytes"))
		e.cfg.IndexIntervalBytes = int32(rapid.IntRange(1, 500).Draw(t, "index.interval.bytes"))
		e.cfg.SegmentIndexBytes = int32(rapid.IntRange(24, 200).Draw(t, "segment.index.bytes"))
		e.cfg.Preallocate = rapid.Bool().Draw(t, "preallocate")
		e.cfg.FlushMessages = rapid.SampledFrom([]int64{1, 7, NoLimit}).Draw(t, "flush.messages")
		e.cfg.RetentionMs = -1
		if err := e.open(); err != nil {
			t.Fatal(err)
		}
		l, err := e.log()
		if err != nil {
			t.Fatal(err)
		}
		var m modelLog
		again := func() {
			if err := e.open(); err != nil {
				t.Fatal(err)
			}
			if l, err = e.log(); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				n := rapid.IntRange(1, 5).Draw(t, "records")
				info, err := appendRecords(l, n, rapid.IntRange(8, 40).Draw(t, "size"), rapid.Int64Range(0, 1000).Draw(t, "ts"))
				if err != nil {
					t.Fatal(err)
				}
				m.batches = append(m.batches, [2]int64{m.end, m.end + int64(n) - 1})
				m.end += int64(n)
				if info.LastOffset+1 != m.end {
					t.Fatalf("last offset %d, want %d", info.LastOffset, m.end-1)
				}
			},
			"roll": func(t *rapid.T) {
				l.mu.Lock()
				defer l.mu.Unlock()
				if _, err := l.roll(l.LogEndOffset()); err != nil {
					t.Fatal(err)
				}
			},
			"truncate": func(t *rapid.T) {
				offset := rapid.Int64Range(0, m.end+1).Draw(t, "offset")
				first := (*l.segments.Load())[0].baseOffset
				if err := l.TruncateTo(offset); err != nil {
					t.Fatal(err)
				}
				if offset < first {
					m = modelLog{start: offset, end: offset}
				} else {
					m.truncate(offset)
				}
			},
			"truncateFully": func(t *rapid.T) {
				offset := rapid.Int64Range(0, m.end+20).Draw(t, "offset")
				if err := l.TruncateFullyAndStartAt(offset); err != nil {
					t.Fatal(err)
				}
				m = modelLog{start: offset, end: offset}
			},
			"deleteRecords": func(t *rapid.T) {
				offset := rapid.Int64Range(m.start, m.end).Draw(t, "offset")
				l.SetHighWatermark(m.end)
				if _, err := l.DeleteRecords(offset); err != nil {
					t.Fatal(err)
				}
				m.start = max(m.start, offset)
				if _, err := l.deleteOldSegments(); err != nil {
					t.Fatal(err)
				}
			},
			"flush": func(t *rapid.T) {
				if err := l.Flush(); err != nil {
					t.Fatal(err)
				}
			},
			"stop": func(t *rapid.T) {
				if err := e.m.Close(); err != nil {
					t.Fatal(err)
				}
				again()
			},
			"kill": func(t *rapid.T) {
				abandonAll(e)
				again()
			},
			"": func(t *rapid.T) {
				if err := compareModel(l, &m); err != nil {
					t.Fatal(err)
				}
			},
		})
		if err := e.m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// compareModel compares positions, and a read at every offset with a few bounds.
func compareModel(l *Log, m *modelLog) error {
	if l.LogStartOffset() != m.start || l.LogEndOffset() != m.end {
		return fmt.Errorf("[%d, %d), want [%d, %d)", l.LogStartOffset(), l.LogEndOffset(), m.start, m.end)
	}
	for offset := m.start; offset <= m.end; offset++ {
		for _, upper := range []int64{NoLimit, offset + 3, m.end - 1} {
			bs, err := readBatches(l, ReadOptions{Offset: offset, MaxBytes: 250, MinOneBatch: true, UpperBound: upper})
			if err != nil {
				return fmt.Errorf("read at %d up to %d: %w", offset, upper, err)
			}
			i := m.find(offset)
			if offset >= upper || i < 0 || m.batches[i][1] >= upper {
				if len(bs) > 0 {
					return fmt.Errorf("read at %d up to %d: batch at %d", offset, upper, bs[0].BaseOffset)
				}
				continue
			}
			if len(bs) == 0 {
				return fmt.Errorf("read at %d up to %d: nothing, want batch at %d", offset, upper, m.batches[i][0])
			}
			for j := range bs {
				want := m.batches[i+j]
				if bs[j].BaseOffset != want[0] || bs[j].LastOffset() != want[1] || want[1] >= upper {
					return fmt.Errorf("read at %d up to %d: batch %d is [%d, %d], want %v", offset, upper, j,
						bs[j].BaseOffset, bs[j].LastOffset(), want)
				}
			}
		}
	}
	return nil
}
