package commitlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
)

// opens says that a call needs a descriptor.
func opens(op vfs.Op) bool {
	switch op {
	case vfs.OpOpen, vfs.OpCreate, vfs.OpReadDir, vfs.OpLock:
		return true
	}
	return false
}

// starver refuses descriptors: from one call that needs one on, as many such calls as wanted.
type starver struct {
	mu sync.Mutex // guards what follows
	// at is the number of the first call, among those that need a descriptor; calls counts them.
	at, calls int
	// left is how many calls are still to be refused; refused are the ones that were.
	left    int
	refused []string
}

func (s *starver) fail(_ int64, op vfs.Op, name string) error {
	if !opens(op) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.calls < s.at || s.left <= 0 {
		return nil
	}
	s.left--
	s.refused = append(s.refused, fmt.Sprintf("%s %s", op, name))
	return fmt.Errorf("%s %s: %w", op, name, syscall.EMFILE)
}

// lift ends the want.
func (s *starver) lift() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
}

// begun says that a call was refused.
func (s *starver) begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.refused) > 0
}

// callsThatOpen is how many calls of a workload need a descriptor.
func callsThatOpen(work func(vfs.FS)) int {
	s := &starver{}
	work(vfs.NewInject(vfs.NewMem(), s.fail))
	return s.calls
}

// wants are how many calls in a row are refused: a call is made twice, as idle files may be closed for it.
var wants = []int{2, 9, 60}

// stride is the distance of the calls that are refused first.
func stride() int {
	if testing.Short() {
		return 3
	}
	return 1
}

// TestNoDescriptorsAtEveryCall lets the descriptors be used up at each call of the workloads that the crash tests run,
// for one call, for some and for many: the directories stay in service, and what was promised holds, now, after a kill
// and after a loss of power.
func TestNoDescriptorsAtEveryCall(t *testing.T) {
	t.Parallel()
	moves := func(fs vfs.FS, h *history) *env {
		e := movingEnv(fs)
		movingWorkload(e, h)
		return e
	}
	for name, c := range map[string]struct {
		work   func(vfs.FS, *history) *env
		reopen func(*testing.T, vfs.FS, history) error
	}{
		"one directory": {func(fs vfs.FS, h *history) *env {
			e := newEnv(fs)
			workload(e, h)
			return e
		}, reopen},
		"preallocated": {func(fs vfs.FS, h *history) *env {
			e := newEnv(fs)
			e.cfg.Preallocate = true
			workload(e, h)
			return e
		}, reopen},
		"each flushed": {func(fs vfs.FS, h *history) *env {
			e := newEnv(fs)
			e.cfg.FlushMessages = 1
			workload(e, h)
			return e
		}, reopen},
		"moves": {moves, func(_ *testing.T, fs vfs.FS, h history) error { return reopenMoved(fs, h) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := callsThatOpen(func(fs vfs.FS) { c.work(fs, &history{}) })
			t.Logf("%d calls", calls)
			for n := 0; n < calls; n += stride() {
				for _, want := range wants {
					mem := vfs.NewMem()
					s := &starver{at: n + 1, left: want}
					var h history
					e := c.work(vfs.NewInject(mem, s.fail), &h)
					if strings.Contains(e.logs.String(), "is offline") {
						t.Fatalf("%d refused from call %d on, %v: a directory is offline\n%s", want, n+1, s.refused, e.logs.String())
					}
					for name, fs := range map[string]vfs.FS{
						"crash": mem.AfterCrash(nil),
						"torn":  mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))),
						"kill":  mem,
					} {
						if err := c.reopen(t, fs, h); err != nil {
							t.Fatalf("%d refused from call %d on, %v, %s: %v\n%s", want, n+1, s.refused, name, err, e.logs.String())
						}
					}
				}
			}
		})
	}
}

// TestNoDescriptorsInCompaction is TestNoDescriptorsAtEveryCall with compactions, which are tried again.
func TestNoDescriptorsInCompaction(t *testing.T) {
	t.Parallel()
	calls := callsThatOpen(func(fs vfs.FS) { compactingWorkload(compactedEnv(fs), &keyed{}) })
	for n := 0; n < calls; n += stride() {
		for _, want := range wants {
			mem := vfs.NewMem()
			s := &starver{at: n + 1, left: want}
			var h keyed
			e := compactedEnv(vfs.NewInject(mem, s.fail))
			compactingWorkload(e, &h)
			out := e.logs.String()
			if strings.Contains(out, "is offline") || strings.Contains(out, "setting a partition aside") {
				t.Fatalf("%d refused from call %d on, %v: a directory or a log is out of service\n%s", want, n+1, s.refused, out)
			}
			for name, fs := range map[string]vfs.FS{
				"torn": mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))),
				"kill": mem,
			} {
				if err := reopenCompacted(fs, h); err != nil {
					t.Fatalf("%d refused from call %d on, %v, %s: %v\n%s", want, n+1, s.refused, name, err, out)
				}
			}
		}
	}
}

// TestNoDescriptorsForAWhile lets a script of all kinds of work meet the want at each call in turn, until the step after
// the one where it began has ended. What is refused changes nothing; once there are descriptors again all that was owed is
// done without another start, and the log stops cleanly.
func TestNoDescriptorsForAWhile(t *testing.T) {
	t.Parallel()
	for _, flushMessages := range []int64{1, NoLimit} {
		for n := 1; ; n += stride() {
			w := newStarved(t, n, flushMessages)
			w.run()
			if !w.s.begun() {
				break
			}
		}
	}
}

// starved is a script that meets a want of descriptors.
type starved struct {
	t   *testing.T
	s   *starver
	mem *vfs.Mem
	e   *env
	rng *rand.Rand
	// l is a log whose oldest segments go, c one that is compacted, with what must be in them.
	l, c *Log
	h    history
	k    keyed
	// other counts partitions that were made and deleted.
	other int32
}

func newStarved(t *testing.T, at int, flushMessages int64) *starved {
	w := &starved{t: t, s: &starver{at: 1 << 30, left: 1 << 30}, mem: vfs.NewMem(), rng: rand.New(rand.NewPCG(1, 2))}
	w.e = newEnv(vfs.NewInject(w.mem, w.s.fail))
	w.e.idleFiles = 1 // So that what isn't held has to be opened.
	w.e.cfg.FlushMessages = flushMessages
	w.l = mustOpen(t, w.e)
	cfg := compactedEnv(nil).cfg
	cfg.FlushMessages = flushMessages
	var err error
	if w.c, err = w.e.m.Create("c", 0, [16]byte{4}, cfg); err != nil {
		t.Fatal(err)
	}
	w.s.at, w.s.calls = at, 0
	return w
}

func (w *starved) failf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("from call %d on, %d refused, first %v: %s\n%s", w.s.at, len(w.s.refused), w.s.refused[:min(3, len(w.s.refused))],
		fmt.Sprintf(format, args...), w.e.logs.String())
}

func (w *starved) run() {
	steps := []func(){
		w.append, w.compact, w.append, w.checkpoint, w.flush, w.truncate, w.append, w.retain, w.makeAndDelete, w.append, w.compact,
		w.truncateFully, w.append, w.flush, w.retain, w.truncateBelowStart, w.checkpoint, w.append, w.append,
	}
	met := 0
	for _, step := range steps {
		step()
		w.e.m.flusher.idle()
		if err := w.e.m.allOnline(); err != nil {
			w.failf("%v", err)
		}
		w.tidy()
		if !w.s.begun() {
			continue
		}
		if met++; met == 2 {
			w.s.lift()
		}
		if met <= 3 && w.e.cfg.FlushMessages == 1 {
			w.again(w.mem.AfterCrash(rand.New(rand.NewPCG(uint64(met), uint64(w.s.at)))), "after a loss of power")
		}
	}
	w.s.lift()
	w.recover()
}

// tidy demands that nothing is left of what couldn't be done.
func (w *starved) tidy() {
	w.t.Helper()
	for _, dir := range []string{w.l.path, w.c.path} {
		names, err := listFiles(w.mem, dir)
		if err != nil {
			w.failf("%v", err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, cleanedSuffix) || strings.HasSuffix(name, swapSuffix) || strings.HasSuffix(name, newSuffix) {
				w.failf("%s/%s is left", dir, name)
			}
		}
	}
}

// try demands that what was refused changed no end of the log, and says whether it was done.
func (w *starved) try(what string, l *Log, f func() error) bool {
	w.t.Helper()
	start, end, size := l.LogStartOffset(), l.LogEndOffset(), l.SizeBytes()
	err := f()
	switch {
	case err == nil:
		return true
	case !w.s.begun() || !IsScarce(err):
		w.failf("%s: %v", what, err)
	case l.LogStartOffset() != start || l.LogEndOffset() != end || l.SizeBytes() != size:
		w.failf("%s was refused, and the log is [%d, %d) with %d bytes where it was [%d, %d) with %d", what,
			l.LogStartOffset(), l.LogEndOffset(), l.SizeBytes(), start, end, size)
	}
	return false
}

// append fills some segments of both logs.
func (w *starved) append() {
	w.t.Helper()
	for range 5 {
		raw := w.h.batch(w.l.LogEndOffset(), 3)
		w.try("append", w.l, func() error {
			_, err := w.l.Append(raw, AppendOptions{LeaderEpoch: 1})
			return err
		})
		raw = w.k.batch(w.c.LogEndOffset(), 1+w.rng.IntN(4), w.rng)
		w.try("append", w.c, func() error {
			_, err := w.c.Append(raw, AppendOptions{LeaderEpoch: 1, Origin: OriginCoordinator})
			return err
		})
		w.l.SetHighWatermark(w.l.LogEndOffset())
		w.c.SetHighWatermark(w.c.LogEndOffset())
		w.e.m.flusher.idle()
	}
	w.acknowledged()
}

// acknowledged notes what must be found from now on.
func (w *starved) acknowledged() {
	w.h.must, w.k.must = w.l.LogEndOffset(), w.c.LogEndOffset()
	w.h.minStart, w.h.maxStart = w.l.LogStartOffset(), w.l.LogStartOffset()
}

func (w *starved) flush() { w.try("flush", w.l, w.l.Flush) }

func (w *starved) checkpoint() {
	for _, write := range []func(*dir) error{
		w.e.m.checkpointRecoveryPoints, w.e.m.checkpointLogStarts, w.e.m.checkpointHighWatermarks, w.e.m.checkpointCleaned,
	} {
		w.e.m.checkpoint(write)
	}
}

func (w *starved) compact() { w.e.m.cleaner.pass() }

func (w *starved) truncate() { w.truncateTo(w.l.LogEndOffset() - 10) }

// truncateBelowStart cuts off all that may be read, and leaves some that was deleted.
func (w *starved) truncateBelowStart() { w.truncateTo(w.l.LogStartOffset() - 1) }

func (w *starved) truncateTo(at int64) {
	if at < (*w.l.segments.Load())[0].baseOffset {
		return
	}
	start := w.l.LogStartOffset()
	if w.try("truncation", w.l, func() error { return w.l.TruncateTo(at) }) {
		w.h.gens = w.h.gens[:w.l.LogEndOffset()]
		w.acknowledged()
		w.h.maxStart = start // Until the next append it may still be what a start finds.
	}
}

func (w *starved) truncateFully() {
	at := w.l.LogEndOffset() + 5
	if w.try("truncation", w.l, func() error { return w.l.TruncateFullyAndStartAt(at) }) {
		w.h.gens = append(w.h.gens[:at-5], make([]uint64, 5)...)
		w.acknowledged()
	}
}

// retain deletes records, and segments by size.
func (w *starved) retain() {
	to := w.l.LogStartOffset() + 2
	if to > w.l.HighWatermark() {
		return
	}
	w.try("deletion of records", w.l, func() error {
		_, err := w.l.DeleteRecords(to)
		return err
	})
	cfg := w.e.cfg
	cfg.RetentionBytes = 1500
	w.l.UpdateConfig(cfg)
	w.try("retention", w.l, func() error {
		_, err := w.l.deleteOldSegments()
		return err
	})
	w.e.clk.Advance(2 * cfg.FileDeleteDelay)
	w.acknowledged()
}

// makeAndDelete makes a partition and deletes it.
func (w *starved) makeAndDelete() {
	if _, err := w.e.m.Create("o", w.other, w.e.topicID, w.e.cfg); err != nil {
		if !w.s.begun() || !IsScarce(err) {
			w.failf("create: %v", err)
		}
		return
	}
	if err := w.e.m.Delete("o", w.other); err != nil {
		w.failf("delete: %v", err)
	}
	w.e.clk.Advance(2 * w.e.cfg.FileDeleteDelay)
	w.other++
}

// recover demands that all goes on by itself.
func (w *starved) recover() {
	w.t.Helper()
	w.e.watch()
	w.e.m.flusher.idle()
	if err := w.l.owes(); err != nil {
		w.failf("a flush is still owed: %v", err)
	}
	if n := strings.Count(w.e.logs.String(), "too many files open"); n > 3 {
		w.failf("told %d times", n)
	}
	w.makeAndDelete()
	w.append()
	w.flush()
	if w.l.RecoveryPoint() != w.l.LogEndOffset() {
		w.failf("the recovery point is %d, the log ends at %d", w.l.RecoveryPoint(), w.l.LogEndOffset())
	}
	w.checkpoint()
	w.retain()
	w.compact()
	if p, err := w.c.cleanPlan(w.e.clk.Now()); err != nil || p.Due(0) {
		w.failf("compaction is still due: %+v, %v", p, err)
	}
	w.check("before the stop")
	crashed := w.mem.AfterCrash(rand.New(rand.NewPCG(3, uint64(w.s.at))))
	if err := w.e.m.Close(); err != nil {
		w.failf("close: %v", err)
	}
	if _, err := w.mem.Stat("/data/" + cleanShutdownFile); err != nil {
		w.failf("no mark of a clean stop: %v", err)
	}
	entries, err := w.mem.ReadDir("/data")
	if err != nil {
		w.failf("%v", err)
	}
	for _, x := range entries {
		if strings.HasPrefix(x.Name(), "o-") {
			w.failf("%s is still there", x.Name())
		}
	}
	w.again(w.mem, "after a clean stop")
	if w.e.cfg.FlushMessages == 1 {
		w.again(crashed, "after a loss of power")
	}
}

// again opens what fs holds in another life, and compares.
func (w *starved) again(fs *vfs.Mem, when string) {
	w.t.Helper()
	e := newEnv(fs)
	if err := e.open(); err != nil {
		w.failf("open %s: %v", when, err)
	}
	l, ok := e.m.Get("t", 0)
	c, ok2 := e.m.Get("c", 0)
	if !ok || !ok2 {
		w.failf("%s: a log is missing\n%s", when, e.logs.String())
	}
	w.checkLogs(l, c, when)
	if err := e.m.Close(); err != nil {
		w.failf("close: %v", err)
	}
}

func (w *starved) check(when string) { w.checkLogs(w.l, w.c, when) }

func (w *starved) checkLogs(l, c *Log, when string) {
	w.t.Helper()
	h := w.h
	h.gens = slices.Clone(h.gens)
	if err := h.check(l); err != nil {
		w.failf("%s: %v", when, err)
	}
	if err := w.k.check(c); err != nil {
		w.failf("%s: compacted: %v", when, err)
	}
}

// want is a switch that uses all descriptors up.
type want struct{ atomic.Bool }

func (w *want) fail(_ int64, op vfs.Op, name string) error {
	if w.Load() && opens(op) {
		return fmt.Errorf("%s %s: %w", op, name, syscall.EMFILE)
	}
	return nil
}

// TestPromiseWithoutDescriptors: where flush.messages promises it, records are durable once they are acknowledged, even if no
// file can be opened from the roll on that came before them; what an earlier life left is flushed first, or nothing is
// appended.
func TestPromiseWithoutDescriptors(t *testing.T) {
	var w want
	var atRoll atomic.Bool
	mem := vfs.NewMem()
	e := newEnv(vfs.NewInject(mem, func(n int64, op vfs.Op, name string) error {
		if op == vfs.OpWrite && atRoll.Load() && strings.HasSuffix(name, logSuffix) {
			w.Store(true) // The roll has ended, the flush hasn't begun.
		}
		return w.fail(n, op, name)
	}))
	e.cfg.FlushMessages = 1
	l := mustOpen(t, e)
	atRoll.Store(true)
	for len(*l.segments.Load()) < 3 {
		w.Store(false)
		e.m.pool.Shrink()
		if _, err := appendRecords(l, 1, 100, 1000); err != nil {
			t.Fatal(err)
		}
		crashed := newEnv(mem.AfterCrash(nil))
		if got := mustOpen(t, crashed).LogEndOffset(); got != l.LogEndOffset() {
			t.Fatalf("a loss of power leaves offsets up to %d, acknowledged were %d", got, l.LogEndOffset())
		}
		abandonAll(crashed)
	}
	e.m.flusher.idle()
	if err := l.dir.offline(); err != nil {
		t.Fatal(err)
	}
	w.Store(false)
	abandonAll(e) // Without a clean stop, so that all may have to be flushed again.
	atRoll.Store(false)
	l = mustOpen(t, e)
	e.m.pool.Shrink()
	w.Store(true)
	end := l.LogEndOffset()
	if _, err := appendRecords(l, 1, 100, 1000); !IsScarce(err) || l.LogEndOffset() != end {
		t.Fatalf("an append before what is left can be flushed: %v, the log ends at %d, want %d", err, l.LogEndOffset(), end)
	}
	w.Store(false)
	if _, err := appendRecords(l, 1, 100, 1000); err != nil {
		t.Fatal(err)
	}
	closeEnv(t, e)
}

// TestFlushWithoutDescriptors: a flush in the background that can't open its files leaves the directory in service
// and the recovery point where it is, says so once, and is made up for once there are descriptors.
func TestFlushWithoutDescriptors(t *testing.T) {
	var w want
	e := newEnv(vfs.NewInject(vfs.NewMem(), w.fail))
	l := mustOpen(t, e)
	l.flushing.Lock() // The flush that the roll asks for comes when nothing can be opened.
	for len(*l.segments.Load()) < 3 {
		if _, err := appendRecords(l, 1, 100, 1000); err != nil {
			t.Fatal(err)
		}
	}
	e.m.pool.Shrink()
	w.Store(true)
	l.flushing.Unlock()
	e.m.flusher.idle()
	for range 3 { // And others.
		if err := l.Flush(); !IsScarce(err) {
			t.Fatalf("a flush that can't open its files: %v", err)
		}
		e.watch()
		e.m.flusher.idle()
	}
	if err := l.dir.offline(); err != nil {
		t.Fatalf("the directory went offline: %v", err)
	}
	if p := l.RecoveryPoint(); p != 0 {
		t.Errorf("the recovery point is %d", p)
	}
	if n := strings.Count(e.logs.String(), "too many files open"); n != 1 {
		t.Errorf("told %d times\n%s", n, e.logs.String())
	}
	w.Store(false)
	e.watch()
	e.m.flusher.idle()
	if p := l.RecoveryPoint(); p != l.LogEndOffset() {
		t.Errorf("with descriptors again the recovery point is %d, the log ends at %d", p, l.LogEndOffset())
	}
	if n := strings.Count(e.logs.String(), "can be opened again"); n != 1 {
		t.Errorf("told %d times that the want is over\n%s", n, e.logs.String())
	}
	closeEnv(t, e)
}

// TestDeletionWithoutDescriptors: a partition is deleted all the same; its files go only once a crash can't bring its name
// back.
func TestDeletionWithoutDescriptors(t *testing.T) {
	var w want
	var mu sync.Mutex
	var calls []string
	mem := vfs.NewMem()
	e := newEnv(vfs.NewInject(mem, func(n int64, op vfs.Op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case op == vfs.OpSyncDir && name == "/data":
			calls = append(calls, "sync")
		case op == vfs.OpRemove && strings.HasSuffix(name, deleteDirSuffix):
			calls = append(calls, "remove")
		}
		return w.fail(n, op, name)
	}))
	l := mustOpen(t, e)
	if _, err := appendRecords(l, 1, 100, 1000); err != nil {
		t.Fatal(err)
	}
	w.Store(true)
	if err := e.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	calls = nil
	e.clk.Advance(2 * e.cfg.FileDeleteDelay)
	if len(calls) > 0 {
		t.Errorf("without descriptors: %v", calls)
	}
	w.Store(false)
	e.clk.Advance(removeRetry)
	if got := strings.Join(calls, " "); got != "sync remove" {
		t.Errorf("with descriptors again: %s", got)
	}
	if _, err := e.m.Create("t", 0, [16]byte{9}, e.cfg); err != nil {
		t.Fatal(err)
	}
	closeEnv(t, e)
}

// TestPlanWithoutDescriptors: a log whose age can't be looked up just now is not set aside by compaction.
func TestPlanWithoutDescriptors(t *testing.T) {
	var w want
	mem := vfs.NewMem()
	e := compactedEnv(vfs.NewInject(mem, w.fail))
	e.cfg.MaxCompactionLagMs = 1
	l := mustOpen(t, e)
	h := keyed{}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 9 {
		h.append(e, l, 3, rng)
	}
	closeEnv(t, e)
	l = mustOpen(t, e) // It doesn't know the first timestamps any more.
	l.SetHighWatermark(l.LogEndOffset())
	e.clk.Advance(time.Hour)
	e.m.pool.Shrink()
	w.Store(true)
	e.m.cleaner.pass()
	w.Store(false)
	if u := e.m.Uncleanable(); len(u) > 0 {
		t.Fatalf("set aside: %+v", u)
	}
	e.m.cleaner.pass()
	if !strings.Contains(e.logs.String(), "compacted log") {
		t.Errorf("it isn't compacted\n%s", e.logs.String())
	}
	closeEnv(t, e)
}

// TestNamesInOrder: a roll during a flush, which may yet be refused, doesn't put two names at risk: a crash that keeps the
// later segment keeps the earlier one.
func TestNamesInOrder(t *testing.T) {
	mem := vfs.NewMem()
	var hook func()
	e := newEnv(hookSyncDir(mem, &hook))
	l := mustOpen(t, e)
	roll := func() {
		if _, err := appendRecords(l, 1, 100, 1000); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, err := l.roll(l.LogEndOffset()); err != nil {
			t.Fatal(err)
		}
	}
	roll()
	if err := l.flushEpochs(1); err != nil { // It syncs the directory as well.
		t.Fatal(err)
	}
	roll()
	hook = func() { // The last name aren't synced yet.
		roll()
		for seed := range uint64(50) {
			names, err := listFiles(mem.AfterCrash(rand.New(rand.NewPCG(seed, 1))), "/data/t-0")
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(names, segmentName(3)+logSuffix) && !slices.Contains(names, segmentName(2)+logSuffix) {
				t.Fatalf("seed %d: left are %v", seed, names)
			}
		}
	}
	if err := l.Flush(); err != nil || hook != nil {
		t.Fatal(err)
	}
	closeEnv(t, e)
}
