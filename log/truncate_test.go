package commitlog

import (
	"os"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestTruncationInsideBatch cuts in the middle of a flushed batch, which goes whole. What is written in its
// place isn't flushed, and so is checked after a kill.
func TestTruncationInsideBatch(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	for range 2 {
		if _, err := appendRecords(l, 3, 20, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	e.m.checkpoint(e.m.checkpointRecoveryPoints)
	if err := l.TruncateTo(4); err != nil {
		t.Fatal(err)
	}
	if l.LogEndOffset() != 3 {
		t.Fatalf("the log ends at %d", l.LogEndOffset())
	}
	if _, err := appendRecords(l, 1, 20, 1000); err != nil {
		t.Fatal(err)
	}
	segs := *l.segments.Load()
	name, size := segs[0].log.Path(), segs[0].size.Load()
	abandonAll(e)
	flip(t, e.fs, name, size-1, 0x40)
	l = mustOpen(t, e)
	if l.LogEndOffset() != 3 {
		t.Errorf("the log ends at %d: a torn batch was taken for a flushed one", l.LogEndOffset())
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// flip changes bits of a byte in a file.
func flip(t testing.TB, fs vfs.FS, name string, at int64, bits byte) {
	t.Helper()
	f, err := fs.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= bits
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

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
