package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// partitionFiles is all files of a directory with their bytes.
func partitionFiles(t testing.TB, mem *vfs.Mem, dir string) map[string][]byte {
	t.Helper()
	names, err := listFiles(mem, dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, name := range names {
		b, err := readFile(mem, path.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = b
	}
	return out
}

// sameFiles says in what files differ.
func sameFiles(got, want map[string][]byte) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if b, ok := got[name]; !ok || !bytes.Equal(b, want[name]) {
			errs = append(errs, fmt.Errorf("%s has changed: there %t, %d bytes, want %d", name, ok, len(b), len(want[name])))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			errs = append(errs, fmt.Errorf("%s is new", name))
		}
	}
	return errors.Join(errs...)
}

// damagedTxns makes two partitions with transactions, of which partition 1 is to be damaged, and returns where its
// last marker and the last batch of a transaction begin in the file of its first segment.
func damagedTxns(t *testing.T, e *env) (marker, records int64) {
	t.Helper()
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	for p := range int32(2) {
		l, err := e.m.Create("t", p, e.topicID, e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		sequence := int32(0)
		for range 150 { // More index entries than wait in memory.
			records = l.segmentBytes()
			mustAppend(t, l, produced(sequence, 2, true))
			marker = l.segmentBytes()
			mustAppend(t, l, abort())
			sequence += 2
		}
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	e.m.checkpoint(e.m.checkpointRecoveryPoints)
	e.m.checkpoint(e.m.checkpointHighWatermarks)
	return marker, records
}

// segmentBytes is the size of the active segment.
func (l *Log) segmentBytes() int64 { return l.active().size.Load() }

// TestDamagedPartitionIsSetAside damages a batch of one of two partitions where the producer state is rebuilt from it.
// That partition answers KAFKA_STORAGE_ERROR and keeps its files as they are, over clean and unclean stops; the other
// one is served. Once the damage is undone, all is there.
func TestDamagedPartitionIsSetAside(t *testing.T) {
	for _, what := range []string{"marker", "records"} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, clean stop %t", what, clean), func(t *testing.T) {
				mem := vfs.NewMem()
				e := newEnv(mem)
				e.cfg.SegmentBytes, e.cfg.IndexIntervalBytes = 1<<20, 10
				marker, records := damagedTxns(t, e)
				position := marker
				if what == "records" {
					position = records
				}
				if clean {
					closeEnv(t, e)
					// Otherwise nothing is rebuilt.
					if err := mem.Remove("/data/t-1/" + segmentName(450) + snapshotSuffix); err != nil {
						t.Fatal(err)
					}
				} else {
					abandonAll(e)
				}
				file := "/data/t-1/" + segmentName(0) + logSuffix
				flip(t, mem, file, position+batch.HeaderSize+2, 4)
				want := partitionFiles(t, mem, "/data/t-1")
				end := int64(450)
				for round, stop := range []func(*env){func(e *env) { closeEnv(t, e) }, abandonAll, func(e *env) { closeEnv(t, e) }} {
					e.logs.Reset()
					if err := e.open(); err != nil {
						t.Fatalf("start %d: %v", round, err)
					}
					good, ok := e.m.Get("t", 0)
					if !ok {
						t.Fatalf("start %d: the sound partition isn't there", round)
					}
					if offsets, err := offsetsOf(good); err != nil || contiguous(offsets, 0, end) != nil {
						t.Errorf("start %d: the sound partition has %d offsets, %v", round, len(offsets), err)
					}
					mustAppend(t, good, makeBatch(batch.DefaultOptions(), end, 1, 8, 1000))
					end++
					at := e.m.dirs[0]
					if _, ok := e.m.Get("t", 1); ok || at.offline() != nil {
						t.Errorf("start %d: the damaged partition is there: %t; the directory: %v", round, ok, at.offline())
					}
					_, err := e.m.CreateAt("t", 1, e.topicID, e.cfg, Placement{Directory: at.id, Existing: true})
					var corrupt *CorruptError
					if !errors.Is(err, kerr.KafkaStorageError) || !errors.As(err, &corrupt) || corrupt.Path != file || corrupt.Position != position {
						t.Errorf("start %d: create answers %v, want a storage error with position %d of %s", round, err, position, file)
					}
					out := e.logs.String()
					if strings.Count(out, "level=ERROR") != 1 || !strings.Contains(out, fmt.Sprintf("file=%s position=%d", file, position)) {
						t.Errorf("start %d logs\n%s", round, out)
					}
					e.m.checkpoint(e.m.checkpointRecoveryPoints)
					stop(e)
					if err := sameFiles(partitionFiles(t, mem, "/data/t-1"), want); err != nil {
						t.Errorf("stop %d: %v", round, err)
					}
				}
				flip(t, mem, file, position+batch.HeaderSize+2, 4)
				if err := e.open(); err != nil {
					t.Fatal(err)
				}
				l, ok := e.m.Get("t", 1)
				if !ok {
					t.Fatalf("the repaired partition isn't there:\n%s", e.logs.String())
				}
				if offsets, err := offsetsOf(l); err != nil || contiguous(offsets, 0, 450) != nil || l.HighWatermark() != 450 {
					t.Errorf("the repaired partition has %d offsets, %v, high watermark %d", len(offsets), err, l.HighWatermark())
				}
				if err := readAbortedSegment(l, 0); err == nil {
					t.Error("all aborted transactions are one")
				}
				closeEnv(t, e)
			})
		}
	}
}

// offsetsOf is the offsets that the batches of a log cover.
func offsetsOf(l *Log) ([]int64, error) {
	var out []int64
	for at := int64(0); at < l.LogEndOffset(); {
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) == 0 {
			return out, fmt.Errorf("%d batches, %w", len(bs), err)
		}
		for i := range bs {
			for o := bs[i].BaseOffset; o < bs[i].NextOffset(); o++ {
				out = append(out, o)
			}
			at = bs[i].NextOffset()
		}
	}
	return out, nil
}

// TestUnrecoveredIsNotStopped: a partition that is set aside after a kill isn't taken for one that was stopped
// cleanly later: its torn end is found once it is loaded at last, and it keeps its recovery point.
func TestUnrecoveredIsNotStopped(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.SegmentBytes, e.cfg.IndexIntervalBytes = 1<<20, 10
	_, damaged := damagedTxns(t, e)
	l, _ := e.m.Get("t", 1)
	torn := l.segmentBytes()
	for range 3 { // Not flushed, but all on the disk except for a byte in their midst.
		if _, err := appendRecords(l, 1, 50, 1000); err != nil {
			t.Fatal(err)
		}
	}
	abandonAll(e)
	file := "/data/t-1/" + segmentName(0) + logSuffix
	flip(t, mem, file, damaged+batch.HeaderSize+2, 4)
	flip(t, mem, file, torn+batch.HeaderSize+2, 4)
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	closeEnv(t, e)
	flip(t, mem, file, damaged+batch.HeaderSize+2, 4)
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	if l, _ = e.m.Get("t", 1); l == nil || l.LogEndOffset() != 450 {
		t.Fatalf("the repaired partition is %v, want one that ends at 450:\n%s", l, e.logs.String())
	}
	closeEnv(t, e)
	if _, err := mem.Stat(path.Join("/data", cleanShutdownFile)); err != nil {
		t.Errorf("no mark of a clean stop once all is recovered: %v", err)
	}
}

// TestDamagedTwice: a damaged partition that lies in two directories isn't taken from the sound one.
func TestDamagedTwice(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.SegmentBytes, e.cfg.IndexIntervalBytes = 1<<20, 10
	_, damaged := damagedTxns(t, e)
	abandonAll(e)
	if err := mem.MkdirAll("/b/t-1", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range partitionFiles(t, mem, "/data/t-1") {
		writeTestFile(t, mem, "/b/t-1/"+name, b)
	}
	flip(t, mem, "/data/t-1/"+segmentName(0)+logSuffix, damaged+batch.HeaderSize+2, 4)
	e.dirs = []string{"/data", "/b"}
	if err := e.open(); err == nil || !strings.Contains(err.Error(), "/b/t-1 and /data/t-1 are the same partition") {
		t.Errorf("start: %v", err)
	}
}
