package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// TestFloorOf: by itself the floor is a part of a small device and a gigabyte of a large one.
func TestFloorOf(t *testing.T) {
	for _, c := range []struct{ minFree, total, want int64 }{
		{AutoMinFree, 64 << 20, 64 << 20 / 20},
		{AutoMinFree, 20 << 30, 1 << 30},
		{AutoMinFree, 8 << 40, 1 << 30},
		{0, 8 << 40, 0},
		{5 << 30, 20 << 30, 5 << 30},
	} {
		if got := floorOf(c.minFree, c.total); got != c.want {
			t.Errorf("log.dir.min.free.bytes=%d on %d bytes: %d, want %d", c.minFree, c.total, got, c.want)
		}
	}
}

// TestNextLevel walks free space down and up again: each threshold is passed upwards later than downwards.
func TestNextLevel(t *testing.T) {
	level := roomy
	for _, s := range []struct {
		free int64
		want roomLevel
	}{
		{1000, roomy}, {800, roomy}, {799, tight}, {899, tight}, {900, roomy}, {800, roomy}, {500, tight}, {200, tight},
		{199, critical}, {224, critical}, {225, tight}, {200, tight}, {0, critical}, {899, tight}, {0, critical}, {900, roomy},
	} {
		if level = nextLevel(level, s.free, 800); level != s.want {
			t.Fatalf("%d bytes free: level %d, want %d", s.free, level, s.want)
		}
	}
	if got := nextLevel(critical, 0, 0); got != roomy {
		t.Errorf("without a floor: %d", got)
	}
}

// usageFS says of each directory what a test wants.
type usageFS struct {
	vfs.FS
	free [2]atomic.Int64
	// looks counts calls of Usage.
	looks atomic.Int64
}

const usageTotal = 1 << 20

func (f *usageFS) Usage(name string) (vfs.Usage, error) {
	f.looks.Add(1)
	i := 0
	if name == "/b" {
		i = 1
	}
	return vfs.Usage{TotalBytes: usageTotal, FreeBytes: f.free[i].Load()}, nil
}

// watch lets the manager look at free space.
func (e *env) watch() { e.clk.Advance(roomInterval) }

// TestFloor: below the floor clients' records are refused with a reason, and nothing else is; below the reserve no
// records are taken. Reads and deletion go on, deletion frees at once, and all goes on by itself.
func TestFloor(t *testing.T) {
	mem := &usageFS{FS: vfs.NewMem()}
	mem.free[0].Store(usageTotal)
	mem.free[1].Store(usageTotal)
	e := newEnv(mem)
	m, err := openDirs(t, e, func(c *ManagerConfig) { c.MinFreeBytes = 8000 }, "/a", "/b")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	e.m = m
	var logs [2]*Log
	for p := range logs {
		if logs[p], err = m.Create("t", int32(p), e.topicID, e.cfg); err != nil {
			t.Fatal(err)
		}
	}
	l, other := logs[0], logs[1]
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 0, 0
	first := makeBatch(o, 0, 3, 20, 1000)
	if _, err := l.Append(slices.Clone(first), AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := appendRecords(l, 3, 100, 0); err != nil {
			t.Fatal(err)
		}
	}

	e.logs.Reset()
	mem.free[0].Store(7999)
	e.watch()
	for range 3 {
		_, err = appendRecords(l, 1, 10, 0)
	}
	if !errors.Is(err, ErrNoRoom) || !errors.Is(err, kerr.KafkaStorageError) || !kerr.IsRetriable(kerr.ErrorForCode(kerror.CodeOf(err))) {
		t.Fatalf("append below the floor: %v", err)
	}
	const want = "Log directory /a has 7999 bytes of free space and fell below the floor of 8000 (log.dir.min.free.bytes); it takes records again once 9000 bytes are free."
	if got := kerror.MessageOf(err); got == nil || *got != want {
		t.Errorf("message %v, want %q", got, want)
	}
	if _, err := appendRecords(other, 1, 10, 0); err != nil {
		t.Errorf("append in the other directory: %v", err)
	}
	if info, err := l.Append(slices.Clone(first), AppendOptions{}); err != nil || !info.Duplicate || info.FirstOffset != 0 {
		t.Errorf("a batch that is stored already: %+v, %v", info, err)
	}
	if offsets, err := readAll(l, 0); err != nil || len(offsets) != 33 {
		t.Errorf("read %d records, %v", len(offsets), err)
	}
	if _, err := l.Append(makeBatchAt(33), AppendOptions{Origin: OriginReplication}); err != nil {
		t.Errorf("append of a follower: %v", err)
	}
	marker := batch.AppendEndTxnMarker(nil, 0, 7, 0, batch.EndTxnMarker{})
	if _, err := l.Append(marker, AppendOptions{Origin: OriginCoordinator}); err != nil {
		t.Errorf("append of a coordinator: %v", err)
	}

	segments := len(*l.segments.Load())
	l.SetHighWatermark(l.LogEndOffset())
	if start, err := l.DeleteRecords(20); err != nil || start != 20 {
		t.Errorf("delete: %d, %v", start, err)
	}
	if n := len(*l.segments.Load()); n >= segments {
		t.Errorf("%d segments as before the deletion", n)
	}
	names, err := listFiles(mem, "/a/t-0")
	if err != nil || slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, deletedSuffix) }) {
		t.Errorf("files %v, %v", names, err)
	}

	mem.free[0].Store(1999)
	e.watch()
	for name, o := range map[string]AppendOptions{"follower": {Origin: OriginReplication}, "coordinator": {Origin: OriginCoordinator}} {
		if _, err := l.Append(makeBatchAt(l.LogEndOffset()), o); !errors.Is(err, ErrNoRoom) {
			t.Errorf("append of a %s below the reserve: %v", name, err)
		}
	}
	if _, err := m.Create("u", 0, e.topicID, e.cfg); err != nil {
		t.Errorf("create below the reserve: %v", err)
	}

	mem.free[0].Store(8500)
	e.watch()
	if _, err := appendRecords(l, 1, 10, 0); !errors.Is(err, ErrNoRoom) {
		t.Errorf("append between the floor and where it counts as left: %v", err)
	}
	mem.free[0].Store(9000)
	e.watch()
	if _, err := appendRecords(l, 1, 10, 0); err != nil {
		t.Errorf("append after room was made: %v", err)
	}
	out := e.logs.String()
	if strings.Count(out, "short of free space") != 1 || strings.Count(out, "enough free space again") != 1 {
		t.Errorf("log:\n%s", out)
	}
	if m.SetMinFreeBytes(10000); m.dirs[0].admit(OriginClient) == nil {
		t.Error("a higher floor doesn't count")
	}
	if m.SetMinFreeBytes(0); m.dirs[0].admit(OriginClient) != nil {
		t.Error("a floor that is gone counts")
	}
}

// TestFloorUnderLoad: appends that use up the room that was seen last look again at once, not every time; and others may write as well.
func TestFloorUnderLoad(t *testing.T) {
	mem := &usageFS{FS: vfs.NewMem()}
	mem.free[0].Store(100_000)
	e := newEnv(mem)
	e.cfg.SegmentBytes = 1 << 20
	m, err := openDirs(t, e, func(c *ManagerConfig) { c.MinFreeBytes = 50_000 }, "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Create("t", 0, e.topicID, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	looks := mem.looks.Load()
	var written int64
	for err == nil {
		var info AppendInfo
		info, err = appendRecords(l, 1, 1000, 0)
		written += int64(info.SizeBytes)
		mem.free[0].Store(100_000 - written)
	}
	if !errors.Is(err, ErrNoRoom) || written < 50_000 || written > 53_000 {
		t.Errorf("refused after %d bytes: %v", written, err)
	}
	if n := mem.looks.Load() - looks; n < 1 || n > 12 {
		t.Errorf("%d looks", n)
	}
}

// TestFloorStartsRetention: a directory that falls below the floor doesn't wait for the next check of retention.
func TestFloorStartsRetention(t *testing.T) {
	mem := &usageFS{FS: vfs.NewMem()}
	mem.free[0].Store(usageTotal)
	e := newEnv(mem)
	m, err := openDirs(t, e, func(c *ManagerConfig) { c.MinFreeBytes = 1000 }, "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Create("t", 0, e.topicID, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := appendRecords(l, 3, 100, 0); err != nil {
			t.Fatal(err)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
	cfg := e.cfg
	cfg.RetentionBytes = 1500
	l.UpdateConfig(cfg)
	e.watch()
	if l.LogStartOffset() != 0 {
		t.Fatal("retention without need")
	}
	mem.free[0].Store(0)
	e.watch()
	if size := l.SizeBytes(); l.LogStartOffset() == 0 || size > 2500 {
		t.Errorf("start %d, %d bytes", l.LogStartOffset(), size)
	}
}

// TestIndexesWithoutRoom: where records fit and index entries don't, a flush makes the records durable and
// leaves the recovery point; the entries are written once there is room, and a stop before that isn't a clean one.
func TestIndexesWithoutRoom(t *testing.T) {
	mem := vfs.NewMem()
	var full atomic.Bool
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if full.Load() && op == vfs.OpWrite && strings.Contains(name, "index") {
			return fmt.Errorf("%s: %w", name, syscall.ENOSPC)
		}
		return nil
	}))
	l := mustOpen(t, e)
	full.Store(true)
	for i := range 12 {
		if _, err := appendRecords(l, 3, 100, int64(1000*i)); err != nil {
			t.Fatal(err)
		}
	}
	e.m.flusher.idle()
	end := l.LogEndOffset()
	if err := l.Flush(); err != nil || l.RecoveryPoint() != 0 {
		t.Errorf("flush: recovery point %d, %v", l.RecoveryPoint(), err)
	}
	if err := e.m.Close(); !errors.Is(err, ErrNoRoom) {
		t.Errorf("close: %v", err)
	}
	if _, err := mem.Stat("/data/" + cleanShutdownFile); !isNotExist(err) {
		t.Errorf("mark of a clean stop: %v", err)
	}
	e.fs = mem.AfterCrash(nil) // All was flushed, but for the indexes.
	l = mustOpen(t, e)
	if l.LogEndOffset() != end {
		t.Fatalf("the log ends at %d, want %d", l.LogEndOffset(), end)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}

	// A start that must write an index again and has no room for it, before the recovery point.
	if err := e.fs.Remove("/data/t-0/00000000000000000000.timeindex"); err != nil {
		t.Fatal(err)
	}
	e.fs = vfs.NewInject(e.fs, func(_ int64, op vfs.Op, name string) error {
		if full.Load() && op == vfs.OpWrite && strings.Contains(name, "index") {
			return fmt.Errorf("%s: %w", name, syscall.ENOSPC)
		}
		return nil
	})
	l = mustOpen(t, e)
	if l.RecoveryPoint() != 0 || e.m.Dirs()[0].Err != nil {
		t.Errorf("recovery point %d, directory %v", l.RecoveryPoint(), e.m.Dirs()[0].Err)
	}
	check := func() {
		t.Helper()
		for i := range 12 {
			at, found, err := l.OffsetForTimestamp(int64(1000*i) + 1)
			if err != nil || !found || at.Offset != int64(3*i)+1 {
				t.Fatalf("timestamp %d: %+v, %t, %v", 1000*i+1, at, found, err)
			}
		}
	}
	check()
	full.Store(false)
	if err := l.Flush(); err != nil || l.RecoveryPoint() != end {
		t.Errorf("flush: recovery point %d, %v", l.RecoveryPoint(), err)
	}
	check()
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, e)
	check()
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFreeingAtTheEnd: with not a byte left, and so no room for a checkpoint, deletion of records, retention and
// deletion of a partition make room.
func TestFreeingAtTheEnd(t *testing.T) {
	for name, free := range map[string]func(*env, *Log) error{
		"DeleteRecords": func(_ *env, l *Log) error { _, err := l.DeleteRecords(l.LogEndOffset()); return err },
		"retention": func(e *env, l *Log) error {
			cfg := e.cfg
			cfg.RetentionBytes = 0
			l.UpdateConfig(cfg)
			_, err := l.deleteOldSegments()
			return err
		},
		"Delete": func(e *env, l *Log) error {
			err := e.m.Delete("t", 0)
			e.clk.Advance(time.Minute)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			e := newEnv(mem)
			l := mustOpen(t, e)
			survivor, err := e.m.Create("u", 0, e.topicID, e.cfg)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if _, err := appendRecords(l, 3, 100, testStart.UnixMilli()); err != nil {
					t.Fatal(err)
				}
			}
			e.m.flusher.idle()
			l.SetHighWatermark(l.LogEndOffset())
			u, err := mem.Usage("/")
			if err != nil {
				t.Fatal(err)
			}
			mem.SetCapacity(u.TotalBytes - u.FreeBytes)
			if _, err := appendRecords(survivor, 3, 100, 0); !errors.Is(err, ErrNoRoom) {
				t.Fatalf("append to a full device: %v", err)
			}
			if err := free(e, l); err != nil {
				t.Errorf("%v\n%s", err, e.logs.String())
			}
			if _, err := appendRecords(survivor, 3, 100, 0); err != nil {
				t.Errorf("append after room was made: %v\n%s", err, e.logs.String())
			}
			// A log of the same name must not find what was left of the former one.
			abandonAll(e)
			if err := e.open(); err != nil {
				t.Fatal(err)
			}
			start := l.LogStartOffset()
			l, err = e.log()
			if err != nil {
				t.Fatal(err)
			}
			if name == "Delete" {
				start = 0
			}
			if l.LogStartOffset() != start || e.m.Dirs()[0].Err != nil {
				t.Errorf("start %d, want %d; directory %v", l.LogStartOffset(), start, e.m.Dirs()[0].Err)
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// hookSyncDir runs hook, once it is set, before the next sync of the partition's directory.
func hookSyncDir(fs vfs.FS, hook *func()) vfs.FS {
	return vfs.NewInject(fs, func(_ int64, op vfs.Op, name string) error {
		if f := *hook; f != nil && op == vfs.OpSyncDir && name == "/data/t-0" {
			*hook = nil
			f()
		}
		return nil
	})
}

// TestRollInFlush: reserved room that a roll cuts off while a flush runs doesn't come back with a crash.
func TestRollInFlush(t *testing.T) {
	mem := vfs.NewMem()
	var hook func()
	e := newEnv(hookSyncDir(mem, &hook))
	e.cfg.Preallocate = true
	l := mustOpen(t, e)
	if _, err := appendRecords(l, 3, 100, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.flushEpochs(3); err != nil { // It syncs the directory as well.
		t.Fatal(err)
	}
	l.namesUnsynced = true
	hook = func() { // The segment is synced, its directory isn't.
		l.mu.Lock()
		defer l.mu.Unlock()
		if _, err := l.roll(3); err != nil {
			t.Error(err)
		}
	}
	if err := l.Flush(); err != nil || hook != nil {
		t.Fatal(err)
	}
	e.m.checkpoint(e.m.checkpointRecoveryPoints)
	if err := mem.SyncDir("/data/t-0"); err != nil {
		t.Fatal(err)
	}
	abandonAll(e)
	e.fs = mem.AfterCrash(nil)
	l = mustOpen(t, e)
	if _, err := appendRecords(l, 3, 100, 0); err != nil {
		t.Fatal(err)
	}
	offsets, err := readAll(l, 0)
	if err == nil {
		err = contiguous(offsets, 0, 6)
	}
	if err != nil {
		t.Error(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
