package commitlog

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/epoch"
)

// TestEpochsAreWrittenWithTheFlush: to lead costs no write; the epoch of a record is durable with the flush of it.
func TestEpochsAreWrittenWithTheFlush(t *testing.T) {
	var writes atomic.Int32
	mem := vfs.NewMem()
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if op == vfs.OpWrite && strings.Contains(name, epochCheckpointFile) {
			writes.Add(1)
		}
		return nil
	}))
	l := mustOpen(t, e)
	for i := range int32(5) {
		if err := l.AssignEpoch(i, l.LogEndOffset()); err != nil {
			t.Fatal(err)
		}
		if l.LatestEpoch() != i {
			t.Fatalf("the latest epoch is %d, want %d", l.LatestEpoch(), i)
		}
	}
	if _, err := l.Append(makeBatch(batch.DefaultOptions(), 0, 3, 20, 1000), AppendOptions{LeaderEpoch: 4}); err != nil {
		t.Fatal(err)
	}
	if n := writes.Load(); n != 0 {
		t.Errorf("%d writes before the flush", n)
	}
	for range 2 {
		if err := l.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes with the flush, want one", n)
	}
	if err := e.m.checkpointRecoveryPoints(e.m.dirs[0]); err != nil {
		t.Fatal(err)
	}
	after := newEnv(mem.AfterCrash(nil))
	l = mustOpen(t, after)
	if l.LogEndOffset() != 3 || l.EpochForOffset(2) != 4 {
		t.Errorf("the end is %d, offset 2 has the epoch %d", l.LogEndOffset(), l.EpochForOffset(2))
	}
	closeEnv(t, after)
	closeEnv(t, e)
}

// TestStaleEpochs: the file has an epoch that was never written in, and that the start forgot without writing the
// file; records of an older epoch come in its place. Recovery believes the records.
func TestStaleEpochs(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	l := mustOpen(t, e)
	if _, err := l.Append(makeBatch(batch.DefaultOptions(), 0, 3, 20, 1000), AppendOptions{LeaderEpoch: 4}); err != nil {
		t.Fatal(err)
	}
	closeEnv(t, e)
	stale := epoch.AppendCheckpoint(nil, []epoch.Entry{{Epoch: 4, StartOffset: 0}, {Epoch: 5, StartOffset: 3}})
	if err := writeFileAtomic(mem, l.path+"/"+epochCheckpointFile, stale); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, e)
	if l.LatestEpoch() != 4 {
		t.Fatalf("the latest epoch is %d, want 4", l.LatestEpoch())
	}
	if _, err := l.Append(makeBatch(batch.DefaultOptions(), 3, 3, 20, 1000), AppendOptions{LeaderEpoch: 4}); err != nil {
		t.Fatal(err)
	}
	// The records reach the disk, as they may at any time, and nothing else does.
	active := l.active()
	f, err := active.log.Hold()
	if err == nil {
		err = f.Sync()
		active.log.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
	after := newEnv(mem.AfterCrash(nil))
	l = mustOpen(t, after)
	if l.LogEndOffset() != 6 || l.EpochForOffset(3) != 4 {
		t.Errorf("the end is %d, want 6; offset 3 has the epoch %d, want 4", l.LogEndOffset(), l.EpochForOffset(3))
	}
	closeEnv(t, after)
	closeEnv(t, e)
}

// TestEpochsAreRebuilt: without its file all epochs are found again, those below the recovery point, too.
func TestEpochsAreRebuilt(t *testing.T) {
	for _, clean := range []bool{true, false} {
		mem := vfs.NewMem()
		e := newEnv(mem)
		e.cfg.SegmentBytes = 200
		l := mustOpen(t, e)
		for i := range int64(6) {
			if _, err := l.Append(makeBatch(batch.DefaultOptions(), 3*i, 3, 20, 1000), AppendOptions{LeaderEpoch: int32(i)}); err != nil {
				t.Fatal(err)
			}
		}
		closeEnv(t, e)
		if err := mem.Remove(l.path + "/" + epochCheckpointFile); err != nil {
			t.Fatal(err)
		}
		if !clean {
			if err := mem.Remove("/data/" + cleanShutdownFile); err != nil {
				t.Fatal(err)
			}
		}
		l = mustOpen(t, e)
		for i := range int64(6) {
			if got := l.EpochForOffset(3 * i); got != int32(i) {
				t.Errorf("clean %t: offset %d has the epoch %d, want %d", clean, 3*i, got, i)
			}
		}
		closeEnv(t, e)
	}
}
