package commitlog

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// keyed is what a workload wrote to a compacted log.
type keyed struct {
	// writes has key and value of each offset; an empty value is a tombstone.
	writes []keyedRecord
	// must is the end that a flush promised, sequence the next one of the idempotent producer.
	must     int64
	sequence int32
}

type keyedRecord struct{ key, value string }

// keyedBatch makes a batch of n records over few keys.
func (h *keyed) batch(first int64, n int, rng *rand.Rand) []byte {
	o := batch.DefaultOptions()
	o.Codec = batch.Codec(rng.IntN(2) * int(batch.LZ4))
	if rng.IntN(3) == 0 {
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 0, h.sequence
	}
	b := testCodecs.NewBuilder(nil, o)
	h.writes = h.writes[:first]
	for i := range n {
		r := keyedRecord{key: "k" + strconv.Itoa(rng.IntN(6))}
		if rng.IntN(5) > 0 {
			r.value = fmt.Sprintf("value %d", first+int64(i))
		}
		h.writes = append(h.writes, r)
		var value []byte
		if r.value != "" {
			value = []byte(r.value)
		}
		b.Append(testStart.UnixMilli(), []byte(r.key), value)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

// append appends a batch and lets consumers see it.
func (h *keyed) append(e *env, l *Log, n int, rng *rand.Rand) {
	end := l.LogEndOffset()
	if end > int64(len(h.writes)) || l.usable() != nil {
		return
	}
	b := h.batch(end, n, rng)
	one, _, _ := batch.Parse(b)
	if _, err := l.Append(b, AppendOptions{LeaderEpoch: 1}); err == nil {
		if one.HasProducerID() {
			h.sequence += int32(n)
		}
		l.SetHighWatermark(l.LogEndOffset())
	}
	e.m.flusher.idle()
}

// check demands that every record is one that was written at its offset, in order, and that none is missing
// but those that compaction may drop: all that a later record of the same key follows below the end, and
// tombstones.
func (h *keyed) check(l *Log) error {
	end := l.LogEndOffset()
	if end < h.must || end > int64(len(h.writes)) {
		return fmt.Errorf("end %d is outside of [%d, %d]", end, h.must, len(h.writes))
	}
	found := map[int64]bool{}
	latest := map[string]int64{}
	for at := l.LogStartOffset(); at < end; {
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil {
			return fmt.Errorf("read at %d: %w", at, err)
		}
		if len(bs) == 0 {
			break // Gaps up to the end.
		}
		for i := range bs {
			if bs[i].LastOffset() < at {
				return fmt.Errorf("batch [%d, %d] where %d was asked for", bs[i].BaseOffset, bs[i].LastOffset(), at)
			}
			if err := h.checkBatch(&bs[i], found, latest); err != nil {
				return err
			}
			at = bs[i].NextOffset()
		}
	}
	last := map[string]int64{}
	for o := range end {
		last[h.writes[o].key] = o
	}
	for key, o := range last {
		if o >= l.LogStartOffset() && h.writes[o].value != "" && !found[o] {
			return fmt.Errorf("the last record of %s, at offset %d, is missing", key, o)
		}
		// A tombstone that is gone must not uncover what it deleted.
		if at, ok := latest[key]; ok && at != o {
			return fmt.Errorf("%s has its last record at offset %d, it was written at %d", key, at, o)
		}
	}
	return nil
}

func (h *keyed) checkBatch(b *batch.Batch, found map[int64]bool, latest map[string]int64) error {
	rr, err := testCodecs.Records(b, 1<<20)
	if err != nil {
		return err
	}
	defer rr.Close()
	var r batch.Record
	for rr.Next(&r) {
		if r.Offset >= int64(len(h.writes)) {
			return fmt.Errorf("a record at offset %d, %d were written", r.Offset, len(h.writes))
		}
		if w := h.writes[r.Offset]; string(r.Key) != w.key || string(r.Value) != w.value {
			return fmt.Errorf("offset %d has %s=%s, %s=%s was written", r.Offset, r.Key, r.Value, w.key, w.value)
		}
		if found[r.Offset] {
			return fmt.Errorf("offset %d comes twice", r.Offset)
		}
		found[r.Offset] = true
		latest[string(r.Key)] = r.Offset
	}
	return rr.Err()
}

// compactedEnv is an env with a log that compacts as soon as it can.
func compactedEnv(fs vfs.FS) *env {
	e := newEnv(fs)
	e.cfg.Compact, e.cfg.Delete = true, false
	e.cfg.MinCleanableDirtyRatio = 0
	e.cfg.DeleteRetentionMs = 1000
	e.cfg.SegmentBytes = 400
	return e
}

// compactingWorkload appends and compacts, and goes on after errors.
func compactingWorkload(e *env, h *keyed) {
	if e.open() != nil {
		return
	}
	defer func() { abandonAll(e) }()
	l, err := e.log()
	if err != nil {
		return
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3 {
		for range 9 {
			h.append(e, l, 1+rng.IntN(4), rng)
		}
		end := l.LogEndOffset()
		if l.Flush() == nil {
			h.must = max(h.must, end)
		}
		e.m.cleaner.pass()
		e.clk.Advance(2 * e.cfg.FileDeleteDelay)
		if at := l.LogEndOffset() - 5; round == 1 && at > 0 {
			h.must = min(h.must, at-3) // The batch of up to four records that has it goes whole.
			if l.TruncateTo(at) == nil {
				h.writes = h.writes[:l.LogEndOffset()]
			}
			e.m.flusher.idle()
		}
	}
}

// reopenCompacted opens what is left, compares, and goes on with it.
func reopenCompacted(fs vfs.FS, h keyed) error {
	e := compactedEnv(fs)
	// As at a real start: policies come later, with the cluster's metadata.
	e.cfg.Compact = false
	if err := e.open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { abandonAll(e) }()
	e.cfg.Compact = true
	l, err := e.log()
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := h.check(l); err != nil {
		return err
	}
	h.writes = append([]keyedRecord(nil), h.writes...)
	l.SetHighWatermark(l.LogEndOffset())
	if err := h.checkSequence(l); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(3, 4))
	h.sequence = lastSequence(l) + 1
	for range 4 {
		h.append(e, l, 3, rng)
	}
	h.must = l.LogEndOffset()
	e.m.cleaner.pass()
	if err := h.check(l); err != nil {
		return fmt.Errorf("after another compaction: %w", err)
	}
	if p, err := l.cleanPlan(e.clk.Now()); err != nil || p.Due(0) {
		return fmt.Errorf("still due: %+v, %w\n%s", p, errors.Join(err, io.EOF), e.logs.String())
	}
	if err := e.m.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := e.open(); err != nil {
		return fmt.Errorf("open after a clean stop: %w", err)
	}
	if l, err = e.log(); err != nil {
		return err
	}
	if err := h.check(l); err != nil {
		return fmt.Errorf("after a clean stop: %w", err)
	}
	return e.m.Close()
}

// lastSequence is the idempotent producer's last sequence number, -1 if nothing is known of it.
func lastSequence(l *Log) int32 {
	for _, p := range l.ActiveProducers() {
		if p.ProducerID == 7 {
			return p.LastSequence
		}
	}
	return -1
}

// checkSequence demands that the log knows of its producer what a walk over its batches says. It may know
// more, from a snapshot: a batch that a later one made superfluous, which a truncation then removed.
func (h *keyed) checkSequence(l *Log) error {
	known := lastSequence(l)
	seen := int32(-1)
	start := l.LogStartOffset()
	err := l.scanAll(start, NoLimit, func(_ *segment, _ vfs.File, b *batch.Header, _ int64) error {
		if b.ProducerID == 7 {
			seen = b.LastSequence()
		}
		return nil
	})
	if err == nil && known < seen {
		err = fmt.Errorf("the producer's last sequence number is %d, the last batch has %d", known, seen)
	}
	return err
}

func countCompactionCalls(t *testing.T) int64 {
	t.Helper()
	fs := vfs.NewInject(vfs.NewMem(), vfs.FailFrom(1<<62))
	e := compactedEnv(fs)
	var h keyed
	compactingWorkload(e, &h)
	if n := strings.Count(e.logs.String(), "compacted log"); n < 3 || h.must == 0 {
		t.Fatalf("%d compactions; the workload doesn't work\n%s", n, e.logs.String())
	}
	if err := reopenCompacted(fs, h); err != nil {
		t.Fatal(err)
	}
	fs = vfs.NewInject(vfs.NewMem(), vfs.FailFrom(1<<62))
	compactingWorkload(compactedEnv(fs), &keyed{})
	return fs.Calls()
}

// TestCrashInCompaction cuts the power at each file system call of appends and compactions.
func TestCrashInCompaction(t *testing.T) {
	t.Parallel()
	calls := countCompactionCalls(t)
	t.Logf("%d calls", calls)
	for n := int64(1); n <= calls; n++ {
		mem := vfs.NewMem()
		var h keyed
		compactingWorkload(compactedEnv(vfs.NewInject(mem, vfs.FailFrom(n))), &h)
		for seed := range uint64(3) {
			var rng *rand.Rand
			if seed > 0 {
				rng = rand.New(rand.NewPCG(seed, uint64(n)))
			}
			if err := reopenCompacted(mem.AfterCrash(rng), h); err != nil {
				t.Fatalf("power cut at call %d, seed %d: %v", n, seed, err)
			}
		}
	}
}

// TestErrorInCompaction fails each file system call of appends and compactions by itself.
func TestErrorInCompaction(t *testing.T) {
	t.Parallel()
	calls := countCompactionCalls(t)
	for n := int64(1); n <= calls; n++ {
		mem := vfs.NewMem()
		var h keyed
		e := compactedEnv(vfs.NewInject(mem, vfs.FailNth(n)))
		compactingWorkload(e, &h)
		for name, fs := range map[string]vfs.FS{
			"torn": mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))),
			"kill": mem,
		} {
			if err := reopenCompacted(fs, h); err != nil {
				t.Fatalf("failure at call %d, %s: %v\n%s", n, name, err, e.logs.String())
			}
		}
	}
}
