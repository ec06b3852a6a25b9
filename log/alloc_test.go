//go:build !race

// Under the race detector pools lose what they are given, so allocations mean nothing there.

package commitlog

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// diskLog is a log on the machine's disk.
func diskLog(tb testing.TB, change func(*Config)) *Log {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.TimestampAfterMaxMs = 1 << 60
	if change != nil {
		change(&cfg)
	}
	m, err := Open(context.Background(), vfs.OS{}, clock.System{}, slog.New(slog.DiscardHandler), ManagerConfig{
		Dirs: []string{tb.TempDir()}, NodeID: 1, ClusterID: "c", ProducerIDExpiration: time.Hour,
		NewUUID: func() [16]byte { return [16]byte{1} },
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	l, err := m.Create("t", 0, [16]byte{7}, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// TestSteadyStateAllocations: an append allocates nothing, a read one slice header, at the tail and
// in the middle of a segment.
func TestSteadyStateAllocations(t *testing.T) {
	l := diskLog(t, nil)
	b := makeBatch(batch.DefaultOptions(), 0, 10, 100, 1000)
	add := func() {
		clear(b[:8]) // The base offset that the last append patched in.
		if _, err := l.Append(b, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		add()
	}
	if n := testing.AllocsPerRun(2000, add); n > 0 {
		t.Errorf("%v allocations an append, want none", n)
	}
	read := func(offset int64) func() {
		return func() {
			info, err := l.Read(ReadOptions{Offset: offset, MaxBytes: 1000, MinOneBatch: true, UpperBound: NoLimit})
			if err != nil || info.Records == nil {
				t.Fatal(info, err)
			}
			info.Records.Release()
		}
	}
	if n := testing.AllocsPerRun(1000, read(l.LogEndOffset()-10)); n > 1 {
		t.Errorf("%v allocations a read at the end, want 1", n)
	}
	if n := testing.AllocsPerRun(1000, read(9000)); n > 1 {
		t.Errorf("%v allocations a read in the middle, want 1", n)
	}
}

// BenchmarkAppend appends batches of 16 KiB to files of the machine.
func BenchmarkAppend(b *testing.B) {
	l := diskLog(b, func(c *Config) { c.SegmentBytes = 64 << 20; c.RetentionBytes = 128 << 20 })
	records := makeBatch(batch.DefaultOptions(), 0, 16, 1000, 1000)
	b.SetBytes(int64(len(records)))
	b.ReportAllocs()
	for b.Loop() {
		clear(records[:8])
		info, err := l.Append(records, AppendOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if info.LastOffset%(16*4096) < 16 {
			l.SetHighWatermark(info.LastOffset + 1)
			if _, err := l.deleteOldSegments(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRead reads 16 KiB at the end of the log, and at offsets spread over 64 MB of it.
func BenchmarkRead(b *testing.B) {
	l := diskLog(b, nil)
	records := makeBatch(batch.DefaultOptions(), 0, 16, 1000, 1000)
	for range 4096 {
		clear(records[:8])
		if _, err := l.Append(records, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	end := l.LogEndOffset()
	for name, next := range map[string]func(int64) int64{
		"tail":   func(int64) int64 { return end - 16 },
		"spread": func(i int64) int64 { return i * 7919 % end },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				info, err := l.Read(ReadOptions{Offset: next(i), MaxBytes: 16 << 10, MinOneBatch: true, UpperBound: end})
				if err != nil {
					b.Fatal(err)
				}
				info.Records.Release()
			}
		})
	}
}
