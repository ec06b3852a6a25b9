package commitlog

import (
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestCheckpointsOfIdleLogs: a checkpoint that would say what the file says isn't written again; one that differs,
// or whose last write failed, is.
func TestCheckpointsOfIdleLogs(t *testing.T) {
	writes := 0
	var fail error
	e := newEnv(vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, _ string) error {
		if op == vfs.OpRename {
			writes++
			return fail
		}
		return nil
	}))
	mustOpen(t, e)
	l, err := e.m.Create("t", 0, e.topicID, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := func(want int, when string) {
		t.Helper()
		writes = 0
		err := e.m.checkpointHighWatermarks(e.m.dirs[0])
		if (err != nil) != (fail != nil) || writes != want {
			t.Errorf("%s: %d writes, error %v; want %d", when, writes, err, want)
		}
	}
	checkpoint(1, "the first one")
	checkpoint(0, "nothing changed")
	l.highWatermark.Store(0)
	l.logEndOffset.Store(5)
	l.SetHighWatermark(3)
	checkpoint(1, "a high watermark moved")
	checkpoint(0, "nothing changed again")
	l.SetHighWatermark(4)
	fail = vfs.ErrInjected
	checkpoint(1, "a write that fails")
	fail = nil
	l.SetHighWatermark(3)
	checkpoint(1, "what the file had before the failure")
	l.logEndOffset.Store(0)
	l.SetHighWatermark(0)
	if err := e.m.Close(); err != nil {
		t.Error(err)
	}
}
