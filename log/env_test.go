package commitlog

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// testStart is when test clocks start.
var testStart = time.UnixMilli(1_700_000_000_000)

// env is a manager over files in memory with a clock that stands still.
type env struct {
	fs   vfs.FS
	clk  *clock.Manual
	m    *Manager
	logs strings.Builder
	cfg  Config
	// topicID is that of the one topic that tests use.
	topicID [16]byte
	uuids   byte
	// dedupe is the memory of offset maps.
	dedupe int64
	// dirs are the log dirs; /data if empty.
	dirs []string
	// idleFiles and unflushedFiles are bounds of open files.
	idleFiles, unflushedFiles int
	reserve                   Reserve
}

func newEnv(fs vfs.FS) *env {
	e := &env{fs: fs, clk: clock.NewManual(testStart), cfg: DefaultConfig(), topicID: [16]byte{1, 2, 3}, dedupe: 1 << 20, reserve: Reserve{FromBytes: 100, MinBytes: 50, MaxBytes: 300}}
	e.cfg.SegmentBytes = 1000
	e.cfg.IndexIntervalBytes = 150
	e.cfg.TimestampAfterMaxMs = 1 << 60
	return e
}

func (e *env) managerConfig(dirs ...string) ManagerConfig {
	if len(dirs) == 0 {
		dirs = []string{"/data"}
	}
	return ManagerConfig{
		Dirs: dirs, NodeID: 1, ClusterID: "clusterclusterclust",
		TopicConfig:          func(string) Config { return e.cfg },
		ProducerIDExpiration: 24 * time.Hour,
		// No threads: tests call pass.
		Cleaner:   CleanerConfig{DedupeBufferBytes: e.dedupe, IOBufferBytes: 8 << 10, IOBufferLoadFactor: 0.9},
		Reserve:   e.reserve,
		IdleFiles: e.idleFiles, UnflushedFiles: e.unflushedFiles,
		NewUUID: func() [16]byte {
			e.uuids++
			return [16]byte{0xee, e.uuids}
		},
	}
}

func (e *env) open() error {
	m, err := Open(context.Background(), e.fs, e.clk, slog.New(slog.NewTextHandler(&e.logs, nil)), e.managerConfig(e.dirs...))
	e.m = m
	return err
}

// log is the log of partition 0, created if need be.
func (e *env) log() (*Log, error) { return e.m.Create("t", 0, e.topicID, e.cfg) }

// record is what a test appends: the value tells the offset it is expected at.
func record(n int64, size int) []byte {
	b := make([]byte, max(size, 8))
	binary.BigEndian.PutUint64(b, uint64(n))
	return b
}

var testCodecs = batch.NewCodecs()

// makeBatch builds a batch of n records, numbered from first.
func makeBatch(o batch.BuilderOptions, first int64, n, size int, timestampMs int64) []byte {
	b := testCodecs.NewBuilder(nil, o)
	for i := range n {
		b.Append(timestampMs+int64(i), nil, record(first+int64(i), size))
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

// appendRecords appends one batch of n records numbered by their offsets.
func appendRecords(l *Log, n, size int, timestampMs int64) (AppendInfo, error) {
	return l.Append(makeBatch(batch.DefaultOptions(), l.LogEndOffset(), n, size, timestampMs), AppendOptions{})
}

// readBatches copies what a read returns, whole batches only.
func readBatches(l *Log, o ReadOptions) ([]batch.Batch, error) {
	info, err := l.Read(o)
	if err != nil || info.Records == nil {
		return nil, err
	}
	defer info.Records.Release()
	b := make([]byte, info.Records.Len())
	if _, err := info.Records.ReadAt(b, info.Records.Position()); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var out []batch.Batch
	for len(b) > 0 {
		one, rest, err := batch.Parse(b)
		if errors.Is(err, batch.ErrTruncated) {
			break
		}
		if err != nil {
			return out, err
		}
		if err := one.CheckCRC(); err != nil {
			return out, err
		}
		out, b = append(out, one), rest
	}
	return out, nil
}

// readAll reads the offsets of all records in [from, the log's end), and checks that each record
// says the offset it has.
func readAll(l *Log, from int64) ([]int64, error) {
	var out []int64
	for at := from; at < l.LogEndOffset(); {
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil {
			return out, fmt.Errorf("read at %d: %w", at, err)
		}
		if len(bs) == 0 {
			return out, fmt.Errorf("read at %d: nothing, the log ends at %d", at, l.LogEndOffset())
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				return out, err
			}
			var r batch.Record
			for rr.Next(&r) {
				if n := int64(binary.BigEndian.Uint64(r.Value)); n != r.Offset {
					return out, fmt.Errorf("the record at offset %d says it is %d", r.Offset, n)
				}
				if r.Offset >= from {
					out = append(out, r.Offset)
				}
			}
			if err := rr.Err(); err != nil {
				return out, err
			}
			rr.Close()
			at = bs[i].NextOffset()
		}
	}
	return out, nil
}

// contiguous checks that offsets are from, from+1, … up to end.
func contiguous(offsets []int64, from, end int64) error {
	for i, o := range offsets {
		if o != from+int64(i) {
			return fmt.Errorf("offset %d where %d is expected", o, from+int64(i))
		}
	}
	if from+int64(len(offsets)) != end {
		return fmt.Errorf("%d records from offset %d, the log ends at %d", len(offsets), from, end)
	}
	return nil
}

// mustOpen opens e and its log.
func mustOpen(t testing.TB, e *env) *Log {
	t.Helper()
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	l, err := e.log()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// idle waits until nothing is left to flush.
func (f *flusher) idle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.waiting != nil && !f.stopped && (len(f.waiting) > 0 || f.flushing || f.all.Load()) {
		f.wake.Wait()
	}
}

// makeBatchAt is a stored batch of three records.
func makeBatchAt(offset int64) []byte {
	o := batch.DefaultOptions()
	o.BaseOffset, o.LeaderEpoch = offset, 0
	return makeBatch(o, offset, 3, 20, 1000)
}
