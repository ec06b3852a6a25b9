package commitlog

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// flipped is a stopped log of which one byte changes.
type flipped struct {
	mem   *vfs.Mem
	led   ledger
	files []string
	sizes []int64
}

// flipSeed makes a log that has all that can be lost.
const flipSeed = 1

// newFlipped makes a small log of three segments with idempotent producers, ended and open transactions, and
// all files that a clean stop leaves.
func newFlipped(t *testing.T) *flipped {
	t.Helper()
	mem := vfs.NewMem()
	rng := rand.New(rand.NewPCG(flipSeed, 5))
	d := &driver{e: flipEnv(mem), intn: rng.IntN}
	if err := d.open(); err != nil {
		t.Fatal(err)
	}
	for i := range 24 {
		step := d.append
		if i%3 == 2 {
			step = d.marker
		}
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if i == 8 || i == 16 {
			if err := d.roll(); err != nil {
				t.Fatal(err)
			}
		}
		d.e.clk.Advance(1000)
	}
	d.watermark(d.led.end)
	if aborted, first := d.led.transactions(d.led.end, false); len(aborted) == 0 || first == NoLimit || len(d.led.producers()) < 3 {
		t.Fatalf("the log has too little to lose: %v, open from %d", aborted, first)
	}
	if err := d.compareAll(); err != nil {
		t.Fatal(err)
	}
	if err := d.e.m.Close(); err != nil {
		t.Fatal(err)
	}
	f := &flipped{mem: mem, led: d.led}
	for _, dir := range []string{"/data", d.l.path} {
		names, err := listFiles(mem, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			info, err := mem.Stat(path.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			f.files, f.sizes = append(f.files, path.Join(dir, name)), append(f.sizes, info.Size())
		}
	}
	return f
}

func flipEnv(fs vfs.FS) *env {
	e := newEnv(fs)
	e.cfg.IndexIntervalBytes, e.cfg.SegmentBytes, e.cfg.RetentionMs = 100, 10_000, -1
	e.cfg.MinCleanableDirtyRatio, e.cfg.DeleteRetentionMs = 0, 1000
	return e
}

// typed says whether an error is one of those that speak of damage, and names the file.
func typed(err error, file string) bool {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return corrupt.Path != "" && corrupt.Reason != ""
	}
	return strings.Contains(err.Error(), path.Base(file)) || kerror.CodeOf(err) == kerr.InconsistentTopicID.Code
}

// outcome opens the log with the byte changed, reads it, compacts it and reads it again, and says in a word
// what became of the damage. An error is one that must not be.
func (f *flipped) outcome(t *testing.T, file string, at int64, bits byte, clean bool) (string, error) {
	mem := f.mem.AfterCrash(nil)
	flip(t, mem, file, at, bits)
	if !clean {
		if err := removeIfThere(mem, path.Join("/data", cleanShutdownFile)); err != nil {
			return "", err
		}
	}
	e := flipEnv(mem)
	defer func() {
		if e.m != nil {
			abandonAll(e)
		}
	}()
	if err := e.open(); err != nil {
		// Of the files of the directory itself; a partition's take nothing along.
		if !typed(err, file) || path.Dir(file) != "/data" {
			return "", fmt.Errorf("open: %w", err)
		}
		return "refused at start", nil
	}
	l, err := e.log()
	if err != nil {
		if !typed(err, file) {
			return "", fmt.Errorf("create: %w", err)
		}
		if kerror.CodeOf(err) == kerr.InconsistentTopicID.Code {
			return "another topic's", nil
		}
		if _, ok := e.m.Get("t", 0); ok {
			return "", fmt.Errorf("refused, but it is there: %w", err)
		}
		return "set aside", f.unchanged(t, mem, file, at, bits)
	}
	before, err := f.read(l, file)
	if err != nil {
		return "", err
	}
	cfg := e.cfg
	cfg.Compact = true
	l.UpdateConfig(cfg)
	if before == "" {
		before = "harmless"
		if !slices.Equal(f.producers(), l.ActiveProducers()) {
			before = "producers differ"
		}
	}
	l.mu.Lock()
	_, err = l.roll(l.LogEndOffset())
	l.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("roll: %w", err)
	}
	l.SetHighWatermark(l.LogEndOffset())
	e.m.cleaner.pass()
	if us := e.m.Uncleanable(); len(us) > 0 {
		if !typed(us[0].Err, file) {
			return "", fmt.Errorf("set aside: %w", us[0].Err)
		}
		return before + ", not compacted", nil
	}
	after, err := f.read(l, file)
	if err != nil {
		return "", fmt.Errorf("after compaction: %w", err)
	}
	if before == "harmless" && after != "" {
		return "", fmt.Errorf("compaction made it %q", after)
	}
	return before, nil
}

// unchanged says that the files of the partition have the bytes that they were stopped with, but for the one changed.
func (f *flipped) unchanged(t *testing.T, mem *vfs.Mem, file string, at int64, bits byte) error {
	want := f.mem.AfterCrash(nil)
	flip(t, want, file, at, bits)
	return sameFiles(partitionFiles(t, mem, "/data/t-0"), partitionFiles(t, want, "/data/t-0"))
}

func (f *flipped) producers() []ActiveProducer {
	var out []ActiveProducer
	all := f.led.producers()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[id].ActiveProducer)
	}
	return out
}

// read reads all as a client does, and says what it notices: nothing, or where the log stops being what was
// written. An error is an untyped one.
func (f *flipped) read(l *Log, file string) (string, error) {
	fates := f.led.fates()
	i := 0
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		info, err := l.Read(ReadOptions{Offset: at, MaxBytes: 400, MinOneBatch: true, UpperBound: NoLimit, Aborted: true})
		if err != nil {
			if !typed(err, file) || kerror.CodeOf(err) != kerr.KafkaStorageError.Code {
				return "", fmt.Errorf("read at %d: %w", at, err)
			}
			return "refused at read", nil
		}
		if info.Records == nil {
			break
		}
		raw := make([]byte, info.Records.Len())
		_, err = info.Records.ReadAt(raw, info.Records.Position())
		info.Records.Release()
		if err != nil {
			return "", err
		}
		var bs []batch.Batch
		for len(raw) > 0 {
			b, rest, err := batch.Parse(raw)
			if errors.Is(err, batch.ErrTruncated) && len(bs) > 0 {
				break
			}
			if err != nil || b.CheckCRC() != nil {
				return "refused by the client's checksum", nil
			}
			bs, raw = append(bs, b), rest
		}
		dropped := dropAborted(bs, info.Aborted)
		for j := range bs {
			b := &bs[j]
			for i < len(f.led.batches) && f.led.batches[i].BaseOffset < b.BaseOffset {
				i++
			}
			if i == len(f.led.batches) || !sameBatch(&f.led.batches[i], b) {
				return "another offset", nil
			}
			if b.BaseOffset < l.LastStableOffset() && b.NumRecords > 0 && dropped[j] != (fates[i] == gone) {
				return "another fate", nil
			}
			if err := f.led.checkRecords(b, &f.led.batches[i], fates[i], map[int64]bool{}, map[string]int64{}); err != nil {
				return "", err
			}
			at = max(at+1, b.NextOffset())
		}
	}
	if l.LogEndOffset() != f.led.end || l.LogStartOffset() != 0 {
		return "cut", nil
	}
	return "", nil
}

// unprotected says whether an outcome may be: records are served at another offset only if the damage is in the
// head of a batch before its checksum, and aborted ones as committed only if it is in the index of transactions.
// Kafka's formats have no checksum of either.
func (f *flipped) unprotected(t *testing.T, what, kind, file string, at int64) bool {
	t.Helper()
	what, _, _ = strings.Cut(what, ",")
	switch what {
	case "another fate":
		return kind == txnIndexSuffix
	case "another offset":
		const crcAt = 17
		return kind == logSuffix && f.inBatch(t, file, at) < crcAt
	case "producers differ":
		return false
	case "cut":
		return kind == logSuffix
	}
	return true
}

// inBatch is the place of a byte of a .log file in its batch.
func (f *flipped) inBatch(t *testing.T, file string, at int64) int64 {
	t.Helper()
	h, err := f.mem.OpenFile(file, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	size, err := h.Size()
	if err != nil {
		t.Fatal(err)
	}
	sc := newScanner(h, 0, size)
	defer sc.close()
	for {
		b, pos, err := sc.next()
		if err != nil {
			t.Fatal(err)
		}
		if at < pos+int64(b.SizeBytes()) {
			return at - pos
		}
	}
}

// TestEveryByte changes each byte of each file of a log dir, by turns in each of its bits, and opens it after a
// clean stop and after a crash: the damage is repaired, refused with an error that says where it is, or does
// no harm. It is never a panic, and what is served as good is what was written, but for what the formats leave
// unprotected.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	f := newFlipped(t)
	stride := int64(5)
	if *crashAll {
		stride = 1
	}
	counts := map[string]int{}
	for i, file := range f.files {
		for at := int64(i) % stride; at < f.sizes[i]; at += stride {
			for _, clean := range []bool{true, false} {
				what, err := f.outcome(t, file, at, 1<<(at%8), clean)
				if err != nil {
					t.Errorf("%s, byte %d, clean stop %t: %v", file, at, clean, err)
					continue
				}
				kind := strings.TrimLeft(path.Base(file), "0123456789")
				if !f.unprotected(t, what, kind, file, at) {
					t.Errorf("%s, byte %d, clean stop %t: %s", file, at, clean, what)
				}
				counts[fmt.Sprintf("%-34s clean stop %-5t %s", kind, clean, what)]++
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%5d %s", counts[c], c)
	}
}
