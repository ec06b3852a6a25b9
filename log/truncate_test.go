package commitlog

import (
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestTruncateInsideBatch: the batch that has the offset goes whole, and so far the checkpoints are lowered before it
// goes: a recovery would trust what is written there next, and a compaction take it for clean.
func TestTruncateInsideBatch(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	for range 2 {
		if _, err := appendRecords(l, 3, 50, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	l.cleaned.Store(5)
	e.m.checkpoint(e.m.checkpointRecoveryPoints)
	e.m.checkpoint(e.m.checkpointCleaned)
	if err := l.TruncateTo(5); err != nil || l.LogEndOffset() != 3 {
		t.Fatalf("end %d, %v", l.LogEndOffset(), err)
	}
	for _, name := range []string{recoveryPointFile, cleanerFile} {
		marks, err := readOffsetCheckpoint(e.fs, "/data/"+name)
		if err != nil || marks[l.tp] != 3 {
			t.Errorf("%s says %d, want 3 (%v)", name, marks[l.tp], err)
		}
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
