package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// damage is what is done to a partition's directory while the broker is down.
type damage struct {
	name string
	// do changes files and returns up to which position the active segment is as it was; size is the segment's.
	do func(t *testing.T, d tornDir, size int64) (intact int64)
}

// tornDir is a partition's directory; active is its last segment.
type tornDir struct {
	path, active string
	rand         *rand.Rand
}

// noise is n random bytes.
func (d tornDir) noise(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(d.rand.Uint32())
	}
	return b
}

// change rewrites a file.
func change(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, f(b), 0o644); err != nil {
		t.Fatal(err)
	}
}

// each does something to all files with a suffix, of which there must be some.
func (d tornDir) each(t *testing.T, suffix string, f func(path string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(d.path, "*"+suffix))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s files in %s: %v", suffix, d.path, err)
	}
	for _, f1 := range files {
		f(f1)
	}
}

func remove(t *testing.T) func(string) {
	return func(path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// damages are what a power cut, a bad disk or a careless hand leaves.
func damages() []damage {
	indexes := func(f func(d tornDir, b []byte) []byte) func(*testing.T, tornDir, int64) int64 {
		return func(t *testing.T, d tornDir, size int64) int64 {
			for _, suffix := range []string{".index", ".timeindex"} {
				d.each(t, suffix, func(path string) { change(t, path, func(b []byte) []byte { return f(d, b) }) })
			}
			return size
		}
	}
	return []damage{
		{"nothing", func(_ *testing.T, _ tornDir, size int64) int64 { return size }},
		{"tail-cut", func(t *testing.T, d tornDir, size int64) int64 {
			at := size - 1 - d.rand.Int64N(5000)
			change(t, d.active, func(b []byte) []byte { return b[:at] })
			return at
		}},
		{"tail-cut-in-header", func(t *testing.T, d tornDir, size int64) int64 {
			ends := batches(t, d.active)
			at := ends[len(ends)-2].end + 1 + d.rand.Int64N(60)
			change(t, d.active, func(b []byte) []byte { return b[:at] })
			return at
		}},
		{"tail-garbage", func(t *testing.T, d tornDir, size int64) int64 {
			at := size - 1 - d.rand.Int64N(5000)
			change(t, d.active, func(b []byte) []byte { return append(b[:at], d.noise(size-at)...) })
			return at
		}},
		{"tail-zeroes", func(t *testing.T, d tornDir, size int64) int64 {
			at := size - 100 - d.rand.Int64N(5000)
			change(t, d.active, func(b []byte) []byte { return append(b[:at], make([]byte, size-at)...) })
			return at
		}},
		{"flipped-bit", func(t *testing.T, d tornDir, size int64) int64 {
			at := size - 1 - d.rand.Int64N(5000)
			change(t, d.active, func(b []byte) []byte { b[at] ^= 1; return b })
			return at
		}},
		{"garbage-appended", func(t *testing.T, d tornDir, size int64) int64 {
			change(t, d.active, func(b []byte) []byte { return append(b, d.noise(1000)...) })
			return size
		}},
		{"zeroes-appended", func(t *testing.T, d tornDir, size int64) int64 {
			change(t, d.active, func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) })
			return size
		}},
		{"active-segment-empty", func(t *testing.T, d tornDir, _ int64) int64 {
			change(t, d.active, func([]byte) []byte { return nil })
			return 0
		}},
		{"indexes-zeroed", indexes(func(_ tornDir, b []byte) []byte { return make([]byte, len(b)) })},
		{"indexes-garbage", indexes(func(d tornDir, b []byte) []byte { return d.noise(int64(len(b))) })},
		{"indexes-empty", indexes(func(tornDir, []byte) []byte { return nil })},
		{"indexes-gone", func(t *testing.T, d tornDir, size int64) int64 {
			d.each(t, "index", remove(t)) // Both kinds.
			return size
		}},
		{"snapshots-garbage", func(t *testing.T, d tornDir, size int64) int64 {
			d.each(t, ".snapshot", func(path string) {
				change(t, path, func(b []byte) []byte { return d.noise(int64(len(b))) })
			})
			return size
		}},
		{"snapshots-gone", func(t *testing.T, d tornDir, size int64) int64 {
			d.each(t, ".snapshot", remove(t))
			return size
		}},
		{"epochs-garbage", func(t *testing.T, d tornDir, size int64) int64 {
			change(t, filepath.Join(d.path, "leader-epoch-checkpoint"), func(b []byte) []byte { return d.noise(50) })
			return size
		}},
	}
}

// batchEnd is where a batch of a segment ends, and the offset after it.
type batchEnd struct{ end, next int64 }

// batches walks over a segment's batches.
func batches(t *testing.T, segment string) []batchEnd {
	t.Helper()
	b, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	var out []batchEnd
	for pos := int64(0); pos+61 <= int64(len(b)); {
		h := b[pos:]
		pos += 12 + int64(binary.BigEndian.Uint32(h[8:]))
		out = append(out, batchEnd{pos, int64(binary.BigEndian.Uint64(h)) + int64(binary.BigEndian.Uint32(h[23:])) + 1})
	}
	if len(out) < 2 {
		t.Fatalf("%s has %d batches", segment, len(out))
	}
	return out
}

// TestTornFiles kills the broker, damages each of several partitions in another way and starts the broker: it serves all that
// is whole up to the damage and not more, and takes new records.
func TestTornFiles(t *testing.T) {
	t.Logf("-seed %d", *seed)
	const records, more = 3000, 200
	n := startNode(t, "log.segment.bytes=1048576\n")
	client := newClient(t, n, kgo.MaxBufferedRecords(500), kgo.ProducerBatchMaxBytes(5000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	ctx := t.Context()
	all := damages()
	value := func(p, i int) []byte { return bytes.Repeat([]byte{byte(p), byte(i), byte(i >> 8)}, 200+i%100) }
	topics := map[string]int32{}
	for p, d := range all {
		topics[d.name] = 1
		createTopic(t, client, d.name, 1, nil)
		for i := range records {
			client.Produce(ctx, &kgo.Record{Topic: d.name, Value: value(p, i)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("%s: %v", d.name, err)
				}
			})
		}
	}
	if err := client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	n.kill()

	want := map[string]int64{}
	for p, d := range all {
		dir := tornDir{path: n.path(d.name + "-0"), rand: rand.New(rand.NewPCG(*seed, uint64(p)))}
		segments, err := filepath.Glob(filepath.Join(dir.path, "*.log"))
		if err != nil || len(segments) < 2 {
			t.Fatalf("%s: segments %v, want several: %v", d.name, segments, err)
		}
		slices.Sort(segments)
		dir.active = segments[len(segments)-1]
		ends := batches(t, dir.active)
		intact := d.do(t, dir, ends[len(ends)-1].end)
		base := strings.TrimLeft(strings.TrimSuffix(filepath.Base(dir.active), ".log"), "0")
		for _, c := range base {
			want[d.name] = want[d.name]*10 + int64(c-'0')
		}
		for _, e := range ends {
			if e.end <= intact {
				want[d.name] = e.next
			}
		}
	}
	t.Logf("restarted in %s; records that are whole: %v", n.restart(), want)
	check := func(when string) {
		t.Helper()
		next := map[string]int64{}
		readAll(t, n, func(r *kgo.Record) {
			p := slices.IndexFunc(all, func(d damage) bool { return d.name == r.Topic })
			if r.Offset != next[r.Topic] || !bytes.Equal(r.Value, value(p, int(r.Offset))) {
				t.Fatalf("%s, %s: offset %d, want %d and what was produced", when, r.Topic, r.Offset, next[r.Topic])
			}
			next[r.Topic]++
		}, topics)
		for _, d := range all {
			if next[d.name] != want[d.name] {
				t.Errorf("%s, %s: %d records, want %d", when, d.name, next[d.name], want[d.name])
			}
		}
	}
	check("after the restart")
	again := newClient(t, n)
	for p, d := range all {
		var rs []*kgo.Record
		for i := range int64(more) {
			rs = append(rs, &kgo.Record{Topic: d.name, Value: value(p, int(want[d.name]+i))})
		}
		if err := again.ProduceSync(context.WithoutCancel(ctx), rs...).FirstErr(); err != nil {
			t.Fatalf("%s: producing after the restart: %v", d.name, err)
		}
		want[d.name] += more
	}
	check("after new records")
	n.term()
	n.restart()
	check("after an orderly restart")
}
