package commitlog

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// history is what a workload did to its log, and so what may and must be found after a crash.
type history struct {
	// writes numbers the records; gens has the number of the last write tried at each offset.
	writes uint64
	gens   []uint64
	// must is the end offset that a flush promised. The start lies in [minStart, maxStart].
	must, minStart, maxStart int64
}

// stamp writes the number of a write behind the offset that a record carries.
func (h *history) batch(first int64, n int) []byte {
	b := testCodecs.NewBuilder(nil, batch.DefaultOptions())
	for i := range n {
		h.writes++
		h.gens = append(h.gens[:first+int64(i)], h.writes)
		v := make([]byte, 90)
		binary.BigEndian.PutUint64(v, uint64(first)+uint64(i))
		binary.BigEndian.PutUint64(v[8:], h.writes)
		b.Append(testStart.UnixMilli(), nil, v)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

// check compares a log that was opened again with the history.
func (h *history) check(l *Log) error {
	start, end := l.LogStartOffset(), l.LogEndOffset()
	if start < h.minStart || start > max(h.maxStart, h.minStart) {
		return fmt.Errorf("start %d is outside of [%d, %d]", start, h.minStart, h.maxStart)
	}
	if end < h.must || end > int64(len(h.gens)) && end != start {
		return fmt.Errorf("end %d is outside of [%d, %d]", end, h.must, len(h.gens))
	}
	if hw := l.HighWatermark(); hw < start || hw > end || l.RecoveryPoint() > end {
		return fmt.Errorf("high watermark %d, recovery point %d outside of [%d, %d]", hw, l.RecoveryPoint(), start, end)
	}
	offsets, err := readAll(l, start)
	if err != nil {
		return err
	}
	if err := contiguous(offsets, start, end); err != nil {
		return err
	}
	for at := start; at < end; {
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil {
			return err
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				return err
			}
			var r batch.Record
			for rr.Next(&r) {
				if gen := binary.BigEndian.Uint64(r.Value[8:]); r.Offset >= start && gen != h.gens[r.Offset] {
					return fmt.Errorf("offset %d has write %d, the last one was %d", r.Offset, gen, h.gens[r.Offset])
				}
			}
			rr.Close()
			at = bs[i].NextOffset()
		}
	}
	return nil
}

// workload does a bit of everything, and goes on after errors.
func workload(e *env, h *history) {
	if e.open() != nil {
		return
	}
	l, err := e.log()
	if err == nil {
		steps(e, l, h)
		err = e.m.Close()
		if err == nil {
			h.must = l.LogEndOffset()
		}
		// A second life after a clean stop.
		abandonAll(e)
		if e.open() != nil {
			return
		}
		if l, err = e.log(); err == nil {
			for range 3 {
				tryAppend(e, l, h, 2)
			}
			flush(e, l, h)
		}
	}
	abandonAll(e)
}

// abandonAll ends the manager without a clean stop.
func abandonAll(e *env) {
	e.m.flusher.stop()
	e.m.abandon()
}

func tryAppend(e *env, l *Log, h *history, n int) {
	if end := l.LogEndOffset(); end <= int64(len(h.gens)) {
		_, _ = l.Append(h.batch(end, n), AppendOptions{LeaderEpoch: 1})
	}
	e.m.flusher.idle()
}

func flush(e *env, l *Log, h *history) {
	end := l.LogEndOffset()
	if l.Flush() == nil {
		h.must = max(h.must, end)
	}
	e.m.flusher.idle()
}

func steps(e *env, l *Log, h *history) {
	_ = l.AssignEpoch(1, l.LogEndOffset())
	for range 4 {
		tryAppend(e, l, h, 3)
	}
	flush(e, l, h)
	for range 5 {
		tryAppend(e, l, h, 3)
	}
	e.m.checkpoint(e.m.checkpointRecoveryPoints)
	l.SetHighWatermark(l.LogEndOffset())
	e.m.checkpoint(e.m.checkpointHighWatermarks)

	// Cut, and write something else there.
	at := l.LogEndOffset() - 10
	if at > 0 {
		h.must = min(h.must, at)
		if l.TruncateTo(at) == nil {
			h.gens = h.gens[:l.LogEndOffset()]
		}
		e.m.flusher.idle()
	}
	for range 2 {
		tryAppend(e, l, h, 4)
	}
	flush(e, l, h)

	// The beginning goes.
	l.SetHighWatermark(l.LogEndOffset())
	h.maxStart = 13
	if start, err := l.DeleteRecords(13); err == nil {
		h.minStart = start
	}
	_, _ = l.deleteOldSegments()
	e.m.flusher.idle()
	cfg := e.cfg
	cfg.RetentionBytes = 1500
	l.UpdateConfig(cfg)
	h.maxStart = l.LogEndOffset()
	if _, err := l.deleteOldSegments(); err == nil {
		h.minStart = max(h.minStart, l.LogStartOffset())
	}
	e.m.flusher.idle()
	e.clk.Advance(2 * cfg.FileDeleteDelay)
	for range 2 {
		tryAppend(e, l, h, 3)
	}
	flush(e, l, h)
}

// reopen opens what is left, compares, appends, stops cleanly, and compares again.
func reopen(t *testing.T, fs vfs.FS, h history) error {
	t.Helper()
	e := newEnv(fs)
	if err := e.open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { abandonAll(e) }()
	l, err := e.log()
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := h.check(l); err != nil {
		return err
	}
	gens := h.gens
	h.gens = make([]uint64, l.LogEndOffset())
	copy(h.gens, gens)
	h.minStart, h.maxStart = l.LogStartOffset(), l.LogStartOffset()
	tryAppend(e, l, &h, 3)
	h.must = l.LogEndOffset()
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

// countCalls is how many file system calls the workload makes.
func countCalls(t *testing.T) int64 {
	t.Helper()
	fs := vfs.NewInject(vfs.NewMem(), vfs.FailFrom(1<<62))
	h := history{}
	workload(newEnv(fs), &h)
	if h.must == 0 || h.minStart == 0 {
		t.Fatalf("the workload doesn't work: %+v", h)
	}
	return fs.Calls()
}

// TestCrashAtEveryCall cuts the power at each file system call of a workload, loses some of what
// wasn't synced, and opens what is left: everything flushed is there, what is there is a contiguous
// run of what was written last, and nothing that was deleted or truncated comes back.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	calls := countCalls(t)
	t.Logf("%d calls", calls)
	for n := int64(1); n <= calls; n++ {
		mem := vfs.NewMem()
		var h history
		workload(newEnv(vfs.NewInject(mem, vfs.FailFrom(n))), &h)
		for seed := range uint64(4) {
			var rng *rand.Rand
			if seed > 0 {
				rng = rand.New(rand.NewPCG(seed, uint64(n)))
			}
			if err := reopen(t, mem.AfterCrash(rng), h); err != nil {
				t.Errorf("power cut at call %d, seed %d: %v", n, seed, err)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestErrorAtEveryCall fails each file system call of a workload by itself. The workload goes on;
// what it was promised holds, both for what the files say and for what is left after a crash.
func TestErrorAtEveryCall(t *testing.T) {
	t.Parallel()
	calls := countCalls(t)
	for n := int64(1); n <= calls; n++ {
		mem := vfs.NewMem()
		var h history
		e := newEnv(vfs.NewInject(mem, vfs.FailNth(n)))
		workload(e, &h)
		for name, fs := range map[string]vfs.FS{
			"crash": mem.AfterCrash(nil),
			"torn":  mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))),
			"kill":  mem,
		} {
			if err := reopen(t, fs, h); err != nil {
				t.Errorf("failure at call %d, %s: %v", n, name, err)
			}
		}
		if t.Failed() {
			t.Log(e.logs.String())
			t.FailNow()
		}
	}
}
