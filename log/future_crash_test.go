package commitlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// movingEnv is an env with two directories.
func movingEnv(fs vfs.FS) *env {
	e := newEnv(fs)
	e.cfg.SegmentBytes = 800
	return e
}

func (e *env) openTwo() error {
	m, err := Open(context.Background(), e.fs, e.clk, slog.New(slog.NewTextHandler(&e.logs, nil)), e.managerConfig("/a", "/b"))
	e.m = m
	return err
}

// existing is the log of partition 0, which isn't new: with a directory offline none is made.
func (e *env) existing() (*Log, error) {
	return e.m.CreateAt("t", 0, e.topicID, e.cfg, Placement{Existing: true})
}

// appendIn appends as the leader of an epoch.
func appendIn(e *env, l *Log, h *history, n int, epoch int32) {
	if end := l.LogEndOffset(); end <= int64(len(h.gens)) {
		_, _ = l.Append(h.batch(end, n), AppendOptions{LeaderEpoch: epoch})
		l.SetHighWatermark(l.LogEndOffset())
	}
	e.m.flusher.idle()
}

// copyOn does steps of a move, and ends it when all is copied, as package replica does.
func copyOn(e *env, l *Log, steps int) *Log {
	buf := make([]byte, 400)
	for range steps {
		_, atEnd, err := l.CopyToFuture(buf)
		e.m.flusher.idle()
		if err != nil {
			e.m.AbandonMove(l)
			return l
		}
		if !atEnd {
			continue
		}
		if f := l.Future(); f == nil || f.Flush() != nil {
			return l
		}
		next, err := e.m.FinishMove(l)
		if next != nil {
			_ = e.m.ForgetMoved(l)
			return next
		}
		if err != nil {
			e.m.AbandonMove(l)
			return l
		}
	}
	return l
}

// movingWorkload moves a log to and fro while records come and go, and goes on after errors.
func movingWorkload(e *env, h *history) {
	if e.openTwo() != nil {
		return
	}
	defer func() {
		if e.m != nil {
			abandonAll(e)
		}
	}()
	l, err := e.log()
	if err != nil {
		return
	}
	_ = l.AssignEpoch(1, l.LogEndOffset())
	for range 5 {
		appendIn(e, l, h, 3, 1)
	}
	flush(e, l, h)
	_, _ = e.m.MoveTo("t", 0, "/b")
	l = copyOn(e, l, 2)
	appendIn(e, l, h, 3, 1)
	h.maxStart = 7
	if start, err := l.DeleteRecords(7); err == nil {
		h.minStart = start
	}
	l = copyOn(e, l, 1)

	// Cut, also what was copied, and go on in another epoch as a follower would.
	if at := l.LogEndOffset() - 11; at > h.maxStart {
		h.must = min(h.must, at)
		if l.TruncateTo(at) == nil {
			h.gens = h.gens[:l.LogEndOffset()]
		}
		e.m.flusher.idle()
	}
	_ = l.AssignEpoch(2, l.LogEndOffset())
	for range 2 {
		appendIn(e, l, h, 4, 2)
	}
	flush(e, l, h)
	l = copyOn(e, l, 20)
	appendIn(e, l, h, 2, 2)
	flush(e, l, h)
	e.clk.Advance(2 * e.cfg.FileDeleteDelay)

	// Back, asked for and given up, then begun, with a stop in between.
	_, _ = e.m.MoveTo("t", 0, "/a")
	l = copyOn(e, l, 1)
	_, _ = e.m.MoveTo("t", 0, "/b")
	_, _ = e.m.MoveTo("t", 0, "/a")
	l = copyOn(e, l, 2)
	appendIn(e, l, h, 2, 2)
	if e.m.Close() == nil {
		h.must = l.LogEndOffset()
	}
	abandonAll(e)
	if e.openTwo() != nil {
		return
	}
	if l, err = e.existing(); err != nil {
		return
	}
	_ = l.AssignEpoch(3, l.LogEndOffset())
	appendIn(e, l, h, 2, 3)
	h.maxStart = 13
	if start, err := l.DeleteRecords(13); err == nil {
		h.minStart = max(h.minStart, start)
	}
	l = copyOn(e, l, 20)
	appendIn(e, l, h, 3, 3)
	flush(e, l, h)
}

// reopenMoved opens what is left and compares, goes on with a move that was under way, and compares again.
func reopenMoved(fs vfs.FS, h history) error {
	e := movingEnv(fs)
	e.uuids = 100 // Other ids than the former life's.
	if err := e.openTwo(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() {
		if e.m != nil {
			abandonAll(e)
		}
	}()
	l, err := e.log()
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := h.check(l); err != nil {
		return fmt.Errorf("%w\n%s", err, e.logs.String())
	}
	gens := h.gens
	h.gens = make([]uint64, l.LogEndOffset())
	copy(h.gens, gens)
	h.minStart, h.maxStart = l.LogStartOffset(), l.LogStartOffset()
	_ = l.AssignEpoch(9, l.LogEndOffset())
	appendIn(e, l, &h, 3, 9)
	h.must = l.LogEndOffset()
	if f := l.Future(); f != nil {
		dir := f.DirectoryID()
		if l = copyOn(e, l, 200); l.DirectoryID() != dir || l.Future() != nil {
			return fmt.Errorf("the move didn't go on\n%s", e.logs.String())
		}
		if err := h.check(l); err != nil {
			return fmt.Errorf("after the move: %w\n%s", err, e.logs.String())
		}
		appendIn(e, l, &h, 3, 9)
		h.must = l.LogEndOffset()
	}
	e.clk.Advance(2 * e.cfg.FileDeleteDelay)
	if err := oneCopy(fs); err != nil {
		return fmt.Errorf("%w\n%s", err, e.logs.String())
	}
	end := l.EpochEndOffset(9)
	if end.LeaderEpoch != 9 || l.LatestEpoch() != 9 {
		return fmt.Errorf("leader epoch %d ends at %d", end.LeaderEpoch, end.EndOffset)
	}
	if err := e.m.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := e.openTwo(); err != nil {
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

// oneCopy demands that one directory of the partition is left.
func oneCopy(fs vfs.FS) error {
	var names []string
	for _, d := range []string{"/a", "/b"} {
		entries, err := fs.ReadDir(d)
		if err != nil {
			return err
		}
		for _, x := range entries {
			if strings.HasPrefix(x.Name(), "t-0") {
				names = append(names, d+"/"+x.Name())
			}
		}
	}
	if len(names) != 1 || !strings.HasSuffix(names[0], "/t-0") {
		return fmt.Errorf("left are %s", strings.Join(names, " "))
	}
	return nil
}

func countMovingCalls(t *testing.T) int64 {
	t.Helper()
	fs := vfs.NewInject(vfs.NewMem(), vfs.FailFrom(1<<62))
	e := movingEnv(fs)
	var h history
	movingWorkload(e, &h)
	if n := strings.Count(e.logs.String(), `msg="moved log"`); n != 2 || h.must == 0 || h.minStart != 13 || strings.Count(e.logs.String(), "going on moving log") != 1 {
		t.Fatalf("%d moves; the workload doesn't work\n%s", n, e.logs.String())
	}
	calls := fs.Calls()
	if err := reopenMoved(fs, h); err != nil {
		t.Fatal(err)
	}
	return calls
}

// TestCrashInMove cuts the power at each file system call of moves between directories: one log is left, with all
// that was flushed and nothing that was deleted or cut, or both, and the move goes on.
func TestCrashInMove(t *testing.T) {
	t.Parallel()
	calls := countMovingCalls(t)
	t.Logf("%d calls", calls)
	for n := int64(1); n <= calls; n++ {
		mem := vfs.NewMem()
		var h history
		movingWorkload(movingEnv(vfs.NewInject(mem, vfs.FailFrom(n))), &h)
		var rng *rand.Rand // Nil loses all that wasn't synced.
		if n%3 > 0 {
			rng = rand.New(rand.NewPCG(uint64(n), 5))
		}
		if err := reopenMoved(mem.AfterCrash(rng), h); err != nil {
			t.Fatalf("power cut at call %d: %v", n, err)
		}
	}
}

// TestErrorInMove fails each file system call of moves by itself. The workload goes on; what it was promised holds
// after a crash (even calls) as after a kill (odd ones).
func TestErrorInMove(t *testing.T) {
	t.Parallel()
	calls := countMovingCalls(t)
	for n := int64(1); n <= calls; n++ {
		mem := vfs.NewMem()
		var h history
		e := movingEnv(vfs.NewInject(mem, vfs.FailNth(n)))
		movingWorkload(e, &h)
		var fs vfs.FS = mem
		if n%2 == 0 {
			fs = mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n))))
		}
		if err := reopenMoved(fs, h); err != nil {
			t.Fatalf("failure at call %d: %v\n%s", n, err, e.logs.String())
		}
	}
}

// TestErrorInMoveStaysInItsDirectory fails each call in the target's directory by itself: the log that is moved
// serves on where it is, unless the swap had begun.
func TestErrorInMoveStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	for n := int64(1); ; n++ {
		mem := vfs.NewMem()
		var seen int64
		armed := false
		e := movingEnv(vfs.NewInject(mem, func(_ int64, _ vfs.Op, name string) error {
			if !armed || !strings.HasPrefix(name, "/b") {
				return nil
			}
			if seen++; seen == n {
				return errors.New("injected")
			}
			return nil
		}))
		if err := e.openTwo(); err != nil {
			t.Fatal(err)
		}
		l, err := e.log()
		if err != nil {
			t.Fatal(err)
		}
		var h history
		for range 5 {
			appendIn(e, l, &h, 3, 1)
		}
		armed = true
		_, _ = e.m.MoveTo("t", 0, "/b")
		next := copyOn(e, l, 50)
		armed = false
		if seen < n {
			if next == l {
				t.Fatalf("the move doesn't work\n%s", e.logs.String())
			}
			abandonAll(e)
			return
		}
		if e.m.dirs[0].offline() != nil {
			t.Fatalf("call %d: the source's directory is offline\n%s", n, e.logs.String())
		}
		if next == l {
			if _, err := appendRecords(l, 3, 20, 0); err != nil {
				t.Fatalf("call %d: append after a move that failed: %v", n, err)
			}
			if now, _ := e.m.Get("t", 0); now != l {
				t.Fatalf("call %d: another log", n)
			}
		}
		abandonAll(e)
	}
}
