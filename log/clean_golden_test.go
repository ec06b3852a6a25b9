package commitlog

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/index"
)

// TestCompactionGolden compacts what Kafka 4.4.0 compacted, and demands what Kafka left: segments, batches with all
// their fields, records, aborted transactions; byte for byte where nothing is compressed. Each case has two rounds,
// the second with what was written after the first. See testdata/compaction/README.md.
func TestCompactionGolden(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/compaction/*/facts")
	if err != nil || len(cases) == 0 {
		t.Fatal(cases, err)
	}
	for _, facts := range cases {
		dir := filepath.Dir(facts)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			compactGolden(t, dir)
		})
	}
}

// goldenFacts are what is known of a compaction beside its files.
type goldenFacts struct {
	// cleaned is the checkpoint before it, -1 for none, end that after it.
	cleaned, end int64
	// now (ms) is about when it began.
	now, retention int64
}

func readFacts(t *testing.T, dir string) goldenFacts {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "facts"))
	if err != nil {
		t.Fatal(err)
	}
	f := goldenFacts{cleaned: -1}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		to := map[string]*int64{"cleaned": &f.cleaned, "end": &f.end, "now": &f.now, "retention": &f.retention}[name]
		if value == "" {
			continue
		}
		if _, err := fmt.Sscan(value, to); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func compactGolden(t *testing.T, dir string) {
	f := readFacts(t, dir)
	after := loadGolden(t, filepath.Join(dir, "after"))
	want, horizon := describeFiles(t, after)
	before := loadGolden(t, filepath.Join(dir, "before"))
	if _, old := describeFiles(t, before); horizon > old {
		f.now = horizon - f.retention // The clock when the compaction began.
	}
	if f.cleaned >= 0 {
		writeTestFile(t, before, "/data/cleaner-offset-checkpoint", fmt.Appendf(nil, "0\n1\nt 0 %d\n", f.cleaned))
	}
	e := compactedEnv(before)
	e.clk.Advance(time.UnixMilli(f.now).Sub(testStart))
	e.cfg.DeleteRetentionMs, e.cfg.SegmentBytes, e.cfg.SegmentIndexBytes = f.retention, 1<<20, 10<<20
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.m.Close(); err != nil {
			t.Error(err)
		}
	}()
	l, ok := e.m.Get("t", 0)
	if !ok {
		t.Fatalf("not loaded:\n%s", e.logs.String())
	}
	l.SetHighWatermark(l.LogEndOffset())
	e.m.cleaner.pass()
	if l.cleaned.Load() != f.end {
		t.Errorf("cleaned up to %d, Kafka up to %d\n%s", l.cleaned.Load(), f.end, e.logs.String())
	}
	e.clk.Advance(e.cfg.FileDeleteDelay)
	got, _ := describeFiles(t, before)
	if got != want {
		t.Errorf("left\n%s\nKafka left\n%s", got, want)
	}
	for _, name := range logNames(t, after) {
		if g, w := readTestFile(t, before, name), readTestFile(t, after, name); !compressed(t, w) && !bytes.Equal(g, w) {
			t.Errorf("%s differs in bytes", name)
		}
	}
}

// loadGolden puts a partition's files into a file system in memory.
func loadGolden(t *testing.T, dir string) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/data/t-0", 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, mem, path.Join("/data/t-0", f.Name()), b)
	}
	return mem
}

func logNames(t *testing.T, fs *vfs.Mem) (names []string) {
	t.Helper()
	entries, err := fs.ReadDir("/data/t-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), logSuffix) {
			names = append(names, "/data/t-0/"+e.Name())
		}
	}
	return names
}

func readTestFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	b, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compressed(t *testing.T, segment []byte) bool {
	t.Helper()
	for b, err := range batch.All(segment) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Attributes.Codec() != batch.None {
			return true
		}
	}
	return false
}

// describeFiles tells all that segments and their transaction indexes say, but checksums and compressed sizes. horizon is
// the latest delete horizon (ms), 0 for none.
func describeFiles(t *testing.T, fs *vfs.Mem) (text string, horizon int64) {
	t.Helper()
	var out strings.Builder
	for _, name := range logNames(t, fs) {
		fmt.Fprintln(&out, path.Base(name))
		for b, err := range batch.All(readTestFile(t, fs, name)) {
			if err == nil {
				err = b.CheckCRC()
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			h := b.Header
			h.CRC, h.Length = 0, 0
			fmt.Fprintf(&out, " %+v\n", h)
			if ms, ok := b.DeleteHorizonMs(); ok {
				horizon = max(horizon, ms)
			}
			rr, err := testCodecs.Records(&b, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			var r batch.Record
			for rr.Next(&r) {
				fmt.Fprintf(&out, "  %d %d %d %q %q null %t", r.Offset, r.Timestamp, r.Sequence, r.Key, r.Value, r.Value == nil)
				for header := range r.Headers() {
					fmt.Fprintf(&out, " %s=%q", header.Key, header.Value)
				}
				fmt.Fprintln(&out)
			}
			if err := rr.Err(); err != nil {
				t.Fatal(err)
			}
			rr.Close()
		}
		aborted, err := index.ReadTxn(fs, strings.TrimSuffix(name, logSuffix)+txnIndexSuffix)
		if err != nil && !isNotExist(err) {
			t.Fatal(err)
		}
		for _, a := range aborted {
			fmt.Fprintf(&out, " aborted %+v\n", a)
		}
	}
	return out.String(), horizon
}
