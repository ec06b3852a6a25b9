package commitlog

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
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

// BenchmarkAppend appends batches to files of the machine: of two records and of 16, of a producer without an id and of an idempotent one.
func BenchmarkAppend(b *testing.B) {
	for _, records := range []int{2, 16} {
		for _, idempotent := range []bool{false, true} {
			name := fmt.Sprintf("%dKiB", records)
			o := batch.DefaultOptions()
			if idempotent {
				name += "-idempotent"
				o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 0, 0
			}
			b.Run(name, func(b *testing.B) { benchAppend(b, records, o) })
		}
	}
}

func benchAppend(b *testing.B, records int, o batch.BuilderOptions) {
	l := diskLog(b, func(c *Config) { c.SegmentBytes = 64 << 20; c.RetentionBytes = 128 << 20 })
	raw := makeBatch(o, 0, records, 1000, 1000)
	next := int64(0)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		clear(raw[:8])
		if o.ProducerID >= 0 {
			// Sequence numbers count as offsets do, from the first record on.
			setSequence(raw, int32(next&(1<<31-1)))
		}
		info, err := l.Append(raw, AppendOptions{})
		if err != nil || info.FirstOffset != next {
			b.Fatal(info, err)
		}
		next = info.LastOffset + 1
		if info.LastOffset%(16*4096) < int64(records) {
			l.SetHighWatermark(next)
			if _, err := l.deleteOldSegments(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if end := l.LogEndOffset(); end != next {
		b.Fatal(end, next)
	}
}

// setSequence writes the base sequence of a batch, and its CRC.
func setSequence(raw []byte, sequence int32) {
	binary.BigEndian.PutUint32(raw[53:], uint32(sequence))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// BenchmarkRead reads 16 KiB at the end of the log, at one offset after the other, and at offsets spread over 64 MB of it.
func BenchmarkRead(b *testing.B) {
	l := diskLog(b, nil)
	raw := makeBatch(batch.DefaultOptions(), 0, 16, 1000, 1000)
	for range 4096 {
		clear(raw[:8])
		if _, err := l.Append(raw, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	end := l.LogEndOffset()
	for _, order := range []struct {
		name string
		next func(int64) int64
	}{
		{"tail", func(int64) int64 { return end - 16 }},
		{"sequential", func(i int64) int64 { return i * 16 % end }},
		{"spread", func(i int64) int64 { return i * 7919 % end }},
	} {
		b.Run(order.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				info, err := l.Read(ReadOptions{Offset: order.next(i), MaxBytes: len(raw), MinOneBatch: true, UpperBound: end})
				if err != nil || info.Records.Len() != len(raw) {
					b.Fatal(info, err)
				}
				info.Records.Release()
			}
		})
	}
}
