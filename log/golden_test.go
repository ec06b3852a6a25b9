package commitlog

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// goldenDir has the directory of a partition as Kafka 4.4.0 left it after a clean stop, and what a
// consumer of it reads: offset, timestamp, leader epoch, key and value of each record. The topic had
// segment.ms=60000 and index.interval.bytes=100; the records are of five codecs, and of three
// transactions of which the second was aborted. To record it again, see README.md there.
const goldenDir = "testdata/golden"

// golden returns a file system that holds the partition directories in a log dir.
func golden(t *testing.T, with func(name string) bool) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/data/golden-0", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range goldenFiles(t) {
		if with(name) {
			writeTestFile(t, mem, path.Join("/data/golden-0", name), goldenFile(t, name))
		}
	}
	return mem
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(goldenDir, "golden-0"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func goldenFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(goldenDir, "golden-0", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeTestFile(t testing.TB, fs vfs.FS, name string, content []byte) {
	t.Helper()
	if err := writeFileAtomic(fs, name, content); err != nil {
		t.Fatal(err)
	}
}

func all(string) bool { return true }

// goldenEnv opens the manager as Kafka's broker had it, shortly after the records were written.
func goldenEnv(t *testing.T, mem *vfs.Mem) (*env, *Log) {
	t.Helper()
	e := newEnv(mem)
	e.clk.Advance(time.UnixMilli(1795970740000).Sub(testStart))
	e.cfg = DefaultConfig()
	e.cfg.SegmentAge, e.cfg.IndexIntervalBytes = time.Minute, 100
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.m.Close(); err != nil {
			t.Error(err)
		}
	})
	l, ok := e.m.Get("golden", 0)
	if !ok {
		t.Fatalf("the partition was not loaded:\n%s", e.logs.String())
	}
	return e, l
}

// dump reads a log as a consumer does.
func dump(t *testing.T, l *Log) string {
	t.Helper()
	var out strings.Builder
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 300, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) == 0 {
			t.Fatalf("read at %d: %v", at, err)
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			var r batch.Record
			for rr.Next(&r) {
				fmt.Fprintf(&out, "%d %d %d %q %q\n", r.Offset, r.Timestamp, bs[i].LeaderEpoch, r.Key, r.Value)
			}
			if err := rr.Err(); err != nil {
				t.Fatal(err)
			}
			rr.Close()
			at = bs[i].NextOffset()
		}
	}
	return out.String()
}

func compareDump(t *testing.T, l *Log) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(goldenDir, "records.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(t, l); got != string(want) {
		t.Errorf("records differ from what Kafka served:\n%s", got)
	}
}

// compareFiles compares a directory with Kafka's, byte by byte, but for the files in except.
func compareFiles(t *testing.T, fs vfs.FS, dir string, except ...string) {
	t.Helper()
	names, err := listFiles(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := goldenFiles(t); !slices.Equal(names, want) {
		t.Errorf("files\n%v\nKafka has\n%v", names, want)
	}
	for _, name := range names {
		if slices.Contains(except, name) {
			continue
		}
		got, err := readFile(fs, path.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if want := goldenFile(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s has\n%x\nKafka's has\n%x", name, got, want)
		}
	}
}

// TestGoldenOpens opens Kafka's directory after a clean stop: the same records, searches by time as
// Kafka answered them, the aborted transaction, and not a byte changed at the next clean stop.
func TestGoldenOpens(t *testing.T) {
	mem := golden(t, all)
	writeTestFile(t, mem, "/data/"+cleanShutdownFile, []byte(`{"version":0,"brokerEpoch":29}`))
	writeTestFile(t, mem, "/data/"+recoveryPointFile, []byte("0\n1\ngolden 0 87\n"))
	e, l := goldenEnv(t, mem)
	if got := e.m.CleanShutdownEpoch(); got != 29 {
		t.Errorf("clean shutdown epoch %d, want 29", got)
	}
	compareDump(t, l)
	if at, ok, err := l.OffsetForTimestamp(1795967250769); err != nil || !ok || at.Offset != 27 || at.TimestampMs != 1795967250770 {
		t.Errorf("offset for timestamp: %+v %t %v", at, ok, err)
	}
	if at, ok, err := l.MaxTimestamp(); err != nil || !ok || at.Offset != 86 || at.TimestampMs != 1795970734452 {
		t.Errorf("max timestamp: %+v %t %v", at, ok, err)
	}
	info, err := l.Read(ReadOptions{Offset: 75, MaxBytes: 1 << 20, UpperBound: NoLimit, Aborted: true})
	if err != nil || len(info.Aborted) != 0 {
		t.Errorf("aborted before segment 78: %+v %v", info.Aborted, err)
	}
	if info.Records != nil {
		info.Records.Release()
	}
	info, err = l.Read(ReadOptions{Offset: 79, MaxBytes: 1 << 20, UpperBound: NoLimit, Aborted: true})
	if err != nil || len(info.Aborted) != 1 || info.Aborted[0].FirstOffset != 79 {
		t.Errorf("aborted: %+v %v", info.Aborted, err)
	}
	if info.Records != nil {
		info.Records.Release()
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	compareFiles(t, mem, "/data/golden-0")
}

// TestGoldenRecovers loses the indexes and the snapshots of Kafka's directory and the marker: what
// recovery writes is what Kafka wrote.
func TestGoldenRecovers(t *testing.T) {
	mem := golden(t, func(name string) bool {
		return strings.HasSuffix(name, logSuffix) || name == partitionMetadataFile
	})
	e, l := goldenEnv(t, mem)
	compareDump(t, l)
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range goldenFiles(t) {
		if strings.HasSuffix(name, snapshotSuffix) && name != segmentName(87)+snapshotSuffix {
			continue // Only the last one is needed after a recovery.
		}
		got, err := readFile(mem, "/data/golden-0/"+name)
		if err != nil {
			t.Error(err)
		} else if want := goldenFile(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s has\n%x\nKafka's has\n%x", name, got, want)
		}
	}
}

// TestGoldenAppends follows Kafka's log batch by batch, as a follower: every file comes out the same.
func TestGoldenAppends(t *testing.T) {
	source := golden(t, all)
	_, from := goldenEnv(t, source)
	e := newEnv(vfs.NewMem())
	e.clk.Advance(time.UnixMilli(1795970740000).Sub(testStart))
	e.cfg = from.Config()
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	l, err := e.m.Create("golden", 0, from.TopicID(), e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < from.LogEndOffset(); {
		bs, err := readBatches(from, ReadOptions{Offset: at, MaxBytes: 1, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) != 1 {
			t.Fatalf("read at %d: %d batches, %v", at, len(bs), err)
		}
		info, err := l.Append(bs[0].Bytes(), AppendOptions{Origin: OriginReplication, LeaderEpoch: 0})
		if err != nil || info.FirstOffset != bs[0].BaseOffset {
			t.Fatalf("append at %d: %+v %v", at, info, err)
		}
		at = bs[0].NextOffset()
	}
	compareDump(t, l)
	l.SetHighWatermark(l.LogEndOffset())
	if l.LastStableOffset() != 87 {
		t.Errorf("last stable offset %d, want 87", l.LastStableOffset())
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	compareFiles(t, e.fs, "/data/golden-0")
}
