package commitlog

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// BenchmarkCompaction compacts 200-byte records of a tenth as many keys, once an iteration.
func BenchmarkCompaction(b *testing.B) {
	const records, perBatch = 400_000, 80
	cfg := DefaultConfig()
	cfg.Compact, cfg.Delete, cfg.SegmentBytes, cfg.MinCleanableDirtyRatio = true, false, 16<<20, 0
	m, err := Open(context.Background(), vfs.OS{}, clock.System{}, slog.New(slog.DiscardHandler), ManagerConfig{
		Dirs: []string{b.TempDir()}, NodeID: 1, ClusterID: "c", ProducerIDExpiration: time.Hour,
		NewUUID: func() [16]byte { return [16]byte{1} },
		Cleaner: CleanerConfig{DedupeBufferBytes: 128 << 20, IOBufferBytes: 512 << 10, IOBufferLoadFactor: 0.9},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.Close(); err != nil {
			b.Error(err)
		}
	})
	noise := rand.NewChaCha8([32]byte{1})
	value := make([]byte, 170)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		l, err := m.Create("t", int32(i), [16]byte{7}, cfg)
		if err != nil {
			b.Fatal(err)
		}
		for at := 0; at < records; at += perBatch {
			build := testCodecs.NewBuilder(nil, batch.DefaultOptions())
			for range perBatch {
				_, _ = noise.Read(value) // It never fails.
				build.Append(1000, fmt.Appendf(nil, "customer-%011d", noise.Uint64()%(records/10)), value)
			}
			raw, err := build.Build()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := l.Append(raw, AppendOptions{LeaderEpoch: 1}); err != nil {
				b.Fatal(err)
			}
		}
		l.SetHighWatermark(l.LogEndOffset())
		m.flusher.idle()
		b.SetBytes(l.SizeBytes())
		b.StartTimer()
		m.cleaner.pass()
	}
}
