package dump

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// load puts a file of the repository into a file system in memory.
func load(t testing.TB, fs *vfs.Mem, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, fs, to, b)
}

func write(t testing.TB, fs *vfs.Mem, name string, b []byte) {
	t.Helper()
	f, err := fs.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, golden string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("%s: line %d of %d differs (got %d lines):\n got %q\nwant %q", golden, i+1, len(w), len(g),
				append(g, make([]string, len(w))...)[i], append(w, make([]string, len(g))...)[i])
		}
	}
}

// TestStockGolden: the lines for a partition of Kafka's own are those that the stock tool printed.
func TestStockGolden(t *testing.T) {
	names, err := filepath.Glob("../../log/testdata/golden/golden-0/0*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	fs := vfs.NewMem()
	var files []string
	for _, n := range names {
		files = append(files, filepath.Base(n))
		load(t, fs, n, filepath.Base(n))
	}
	slices.Sort(files)
	var out, remarks bytes.Buffer
	if err := Run(fs, &out, &remarks, Options{Files: files, PrintDataLog: true}); err != nil {
		t.Error(err)
	}
	expect(t, "testdata/stock/golden-0.txt", out.Bytes())
	if remarks.Len() != 0 {
		t.Errorf("remarks: %s", &remarks)
	}
}

// TestStockBatches: every codec and magic, and transaction markers, as the stock tool prints them.
func TestStockBatches(t *testing.T) {
	names, err := filepath.Glob("../../log/batch/testdata/*.log")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var out, remarks bytes.Buffer
	fs := vfs.NewMem()
	for i, n := range names {
		file := fmt.Sprintf("%020d.log", i)
		load(t, fs, n, file)
		if err := Run(fs, &out, &remarks, Options{Files: []string{file}, PrintDataLog: true}); err != nil {
			t.Error(n, err)
		}
	}
	expect(t, "testdata/stock/batches.txt", out.Bytes())
}

// TestStockCoordinators: records of the coordinators' topics and of the metadata log, as the stock tool decodes them.
func TestStockCoordinators(t *testing.T) {
	for name, decoder := range map[string]RecordDecoder{
		"offsets": Offsets, "transactions": Transactions, "share": ShareGroupState, "metadata": ClusterMetadata,
	} {
		var out, remarks bytes.Buffer
		fs := vfs.NewMem()
		const file = "00000000000000000000.log"
		load(t, fs, "testdata/"+name+".log", file)
		if err := Run(fs, &out, &remarks, Options{Files: []string{file}, PrintDataLog: true, Records: decoder}); err != nil {
			t.Error(name, err)
		}
		expect(t, "testdata/stock/"+name+".txt", out.Bytes())
	}
}

// TestUnreadableMetadata: a metadata record that can't be decoded is told of in its place, and doesn't end the dump.
func TestUnreadableMetadata(t *testing.T) {
	b := batch.NewCodecs().NewBuilder(nil, batch.DefaultOptions())
	values := [][]byte{{1, 99, 0}, {1, 2, 77}, {1, 2, 0, 9}, {2, 2, 0, 9}, {}, nil, {1, 20, 0, 0, 5}}
	for _, v := range values {
		b.Append(1, nil, v)
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	const file = "00000000000000000000.log"
	write(t, fs, file, raw)
	var out, remarks bytes.Buffer
	if err := Run(fs, &out, &remarks, Options{Files: []string{file}, PrintDataLog: true, Records: ClusterMetadata}); err != nil {
		t.Error(err)
	}
	for i := range values {
		if want := fmt.Sprintf(" headerKeys: [] payload: Error at %d, skipping. ", i); !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}

// TestSmallFiles: what the stock tool passes over.
func TestSmallFiles(t *testing.T) {
	fs := vfs.NewMem()
	for name, content := range map[string]string{
		"leader-epoch-checkpoint":          "0\n2\n0 0\n3 1204\n",
		"replication-offset-checkpoint":    "0\n2\na 0 5\nb 1 6\n",
		"partition.metadata":               "version: 0\ntopic_id: 4fXz0bMnQ5O0xjZ2hGLH9Q",
		"meta.properties":                  "#\ncluster.id=c\ndirectory.id=4fXz0bMnQ5O0xjZ2hGLH9Q\nnode.id=1\nversion=1\n",
		".kafka_cleanshutdown":             `{"version":0,"brokerEpoch":17}`,
		"recovery-point-offset-checkpoint": "0\n3\na 0 5\n",
	} {
		write(t, fs, name, []byte(content))
	}
	for name, want := range map[string]string{
		"leader-epoch-checkpoint":          "leaderEpoch: 0 startOffset: 0\nleaderEpoch: 3 startOffset: 1204\n",
		"replication-offset-checkpoint":    "topic: a partition: 0 offset: 5\ntopic: b partition: 1 offset: 6\n",
		"partition.metadata":               "topicId: 4fXz0bMnQ5O0xjZ2hGLH9Q\n",
		"meta.properties":                  "clusterId: c directoryId: 4fXz0bMnQ5O0xjZ2hGLH9Q nodeId: 1\n",
		".kafka_cleanshutdown":             "brokerEpoch: 17\n",
		"recovery-point-offset-checkpoint": "recovery-point-offset-checkpoint: position 0: ",
		"missing.log":                      "missing.log: its name doesn't tell the base offset",
		"00.log":                           "00.log: ",
	} {
		var out, remarks bytes.Buffer
		err := Run(fs, &out, &remarks, Options{Files: []string{name}})
		got := strings.TrimPrefix(out.String(), "Dumping "+name+"\n")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want || strings.Contains(got, "\n") && err != nil {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestDamage: each kind of damage is told with file and position, and doesn't end the dump.
func TestDamage(t *testing.T) {
	golden := func(t *testing.T) *vfs.Mem {
		fs := vfs.NewMem()
		for _, ext := range []string{"log", "index", "timeindex"} {
			load(t, fs, "../../log/testdata/golden/golden-0/00000000000000000000."+ext, "00000000000000000000."+ext)
		}
		return fs
	}
	flip := func(ext string, at int64) func(*testing.T, *vfs.Mem) {
		return func(t *testing.T, fs *vfs.Mem) {
			f, err := fs.OpenFile("00000000000000000000."+ext, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b := make([]byte, 1)
			if _, err := f.ReadAt(b, at); err != nil {
				t.Fatal(err)
			}
			b[0] ^= 0x40
			if _, err := f.WriteAt(b, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		ext    string
		damage func(*testing.T, *vfs.Mem)
		want   string
	}{
		"a value":    {"log", flip("log", 130), "position 0: "},
		"a length":   {"log", flip("log", 321+8), "position 321: "},
		"a position": {"index", flip("index", 8+6), "position 8: "},
		"an offset":  {"index", flip("index", 8+3), "position 8: "},
		"a time":     {"timeindex", flip("timeindex", 7), "position 0: "},
	} {
		fs := golden(t)
		tc.damage(t, fs)
		var out, remarks bytes.Buffer
		file := "00000000000000000000." + tc.ext
		err := Run(fs, &out, &remarks, Options{Files: []string{file, "00000000000000000000.log"}})
		if err == nil || !strings.HasPrefix(err.Error(), file+": "+tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), "Dumping 00000000000000000000.log\n") {
			t.Errorf("%s ended the dump", name)
		}
	}
}

// FuzzDump: whatever is in a file, the dump of it ends without a panic, and writes nothing.
func FuzzDump(f *testing.F) {
	kinds := []string{"00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
		"00000000000000000000.txnindex", "00000000000000000000.snapshot"}
	for k := range smallFiles {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	segment, err := os.ReadFile("../../log/testdata/golden/golden-0/00000000000000000000.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(segment, []byte("0\n1\na 0 5\n"), uint8(0))
	for _, name := range []string{"offsets", "transactions", "share", "metadata"} {
		b, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 4000)], []byte("version: 0"), uint8(1))
	}
	f.Fuzz(func(t *testing.T, log, other []byte, options uint8) {
		fs := vfs.NewMem()
		for _, k := range kinds {
			write(t, fs, k, other)
		}
		write(t, fs, kinds[slices.Index(kinds, "00000000000000000000.log")], log)
		o := Options{
			Files: kinds, PrintDataLog: options&1 != 0, SkipRecordMetadata: options&2 != 0,
			IndexSanityCheck: options&4 != 0, MaxMessageSize: 1 << 20,
		}
		switch {
		case options&8 != 0:
			o.Records = Offsets
		case options&16 != 0:
			o.Records = Transactions
		case options&64 != 0:
			o.Records = ShareGroupState
		case options&128 != 0:
			o.Records = ClusterMetadata
		case options&32 != 0:
			o.Key, o.Value = Integer, Long
		}
		var out, remarks bytes.Buffer
		_ = run(fs, &out, &remarks, o, 1<<20)
	})
}
