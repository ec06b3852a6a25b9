package commitlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openDirs opens a manager over several directories.
func openDirs(t *testing.T, e *env, change func(*ManagerConfig), dirs ...string) (*Manager, error) {
	t.Helper()
	cfg := e.managerConfig(dirs...)
	if change != nil {
		change(&cfg)
	}
	m, err := Open(context.Background(), e.fs, e.clk, slog.New(slog.NewTextHandler(&e.logs, nil)), cfg)
	if err == nil {
		t.Cleanup(func() { _ = m.Close() })
	}
	return m, err
}

// TestPlacement: a new partition goes to the directory that has the fewest, the first of several.
func TestPlacement(t *testing.T) {
	e := newEnv(vfs.NewMem())
	m, err := openDirs(t, e, nil, "/a", "/b")
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(5) {
		if _, err := m.Create("t", p, e.topicID, e.cfg); err != nil {
			t.Fatal(err)
		}
	}
	dirs := m.Dirs()
	if n := len(dirs[0].Logs); n != 3 {
		t.Errorf("%d logs in the first directory, want 3", n)
	}
	if p := dirs[1].Logs[1].Partition(); p != 3 || dirs[1].Logs[1].DirectoryID() != dirs[1].ID {
		t.Errorf("second log of the second directory is partition %d, want 3", p)
	}
	if got := len(m.Logs()); got != 5 {
		t.Errorf("%d logs, want 5", got)
	}
}

// TestForeignDirectories: a directory of another broker or cluster, or one that is in use, stops the
// start with one line that names both.
func TestForeignDirectories(t *testing.T) {
	e := newEnv(vfs.NewMem())
	m, err := openDirs(t, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDirs(t, e, nil); err == nil || !strings.Contains(err.Error(), "/data/.lock") {
		t.Errorf("in use: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = openDirs(t, e, func(c *ManagerConfig) { c.NodeID = 7 })
	if want := "the configured node.id 7 is not the node.id 1 in /data/meta.properties: the directory belongs to another broker"; err == nil || err.Error() != want {
		t.Errorf("other broker: %v", err)
	}
	_, err = openDirs(t, e, func(c *ManagerConfig) { c.ClusterID = "another" })
	if want := "the cluster id another is not the cluster.id clusterclusterclust in /data/meta.properties: the directory belongs to another cluster"; err == nil || err.Error() != want {
		t.Errorf("other cluster: %v", err)
	}
	if _, err = openDirs(t, e, nil); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

// TestClusterIDComesLater: meta.properties is written once the cluster has an id, and a directory
// that is added later takes it over from the others.
func TestClusterIDComesLater(t *testing.T) {
	e := newEnv(vfs.NewMem())
	noID := func(c *ManagerConfig) { c.ClusterID = "" }
	m, err := openDirs(t, e, noID, "/a")
	if err != nil {
		t.Fatal(err)
	}
	if m.ClusterID() != "" {
		t.Errorf("cluster id %q before there is one", m.ClusterID())
	}
	if err := m.SetClusterID("x"); err != nil {
		t.Fatal(err)
	}
	id := m.Dirs()[0].ID
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err = openDirs(t, e, noID, "/a", "/b"); err != nil {
		t.Fatal(err)
	}
	if m.ClusterID() != "x" || m.Dirs()[0].ID != id || m.Dirs()[1].ID == id {
		t.Errorf("cluster id %q, directories %x %x", m.ClusterID(), m.Dirs()[0].ID, m.Dirs()[1].ID)
	}
	if b, err := readFile(e.fs, "/b/meta.properties"); err != nil || !strings.Contains(string(b), "cluster.id=x\n") {
		t.Errorf("meta.properties of the added directory: %q %v", b, err)
	}
	if err := m.SetClusterID("y"); err == nil {
		t.Error("another cluster id was taken")
	}
}

// TestDelete: the directory is renamed at once, and removed after the delay or at the next start; a
// topic of the same name can come at once.
func TestDelete(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	if _, err := appendRecords(l, 3, 50, 0); err != nil {
		t.Fatal(err)
	}
	held, err := l.Read(ReadOptions{MaxBytes: 1000, UpperBound: NoLimit})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := appendRecords(l, 1, 50, 0); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("append to a deleted log: %v", err)
	}
	if _, ok := e.m.Get("t", 0); ok {
		t.Error("a deleted log is still there")
	}
	if err := e.m.Delete("t", 0); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("second delete: %v", err)
	}
	next, err := e.m.Create("t", 0, [16]byte{9}, e.cfg)
	if err != nil || next.LogEndOffset() != 0 {
		t.Fatalf("create after delete: %v", err)
	}
	if _, err := e.m.Create("t", 0, e.topicID, e.cfg); !errors.Is(err, kerr.InconsistentTopicID) {
		t.Errorf("create with another id: %v", err)
	}
	retired := func() (n int) {
		entries, err := e.fs.ReadDir("/data")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range entries {
			if strings.HasPrefix(x.Name(), "t-0.") && strings.HasSuffix(x.Name(), "-delete") {
				n++
			}
		}
		return n
	}
	if retired() != 1 {
		t.Errorf("%d retired directories, want 1", retired())
	}
	e.clk.Advance(e.cfg.FileDeleteDelay)
	if retired() != 0 {
		t.Errorf("%d retired directories after the delay", retired())
	}
	// A read in flight holds its segment.
	b := make([]byte, held.Records.Len())
	if _, err := held.Records.ReadAt(b, held.Records.Position()); err != nil {
		t.Errorf("read of a held range: %v", err)
	}
	held.Records.Release()

	if err := e.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	if retired() != 1 {
		t.Errorf("%d retired directories after a stop, want 1", retired())
	}
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	e.clk.Advance(0)
	if retired() != 0 {
		t.Errorf("%d retired directories after a start", retired())
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDeleteAll: deleting many logs at once renames each, and flushes directory and checkpoints as often as
// for one. A log that is gone already, or belongs to somebody else, keeps no other from being deleted.
func TestDeleteAll(t *testing.T) {
	syncs := 0
	e := newEnv(vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, _ string) error {
		if op == vfs.OpSync || op == vfs.OpSyncDir {
			syncs++
		}
		return nil
	}))
	mustOpen(t, e)
	logs := func(from, to int32) []*Log {
		var out []*Log
		for p := from; p < to; p++ {
			l, err := e.m.Create("t", p, e.topicID, e.cfg)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, l)
		}
		return out
	}
	all := logs(0, 32)
	syncs = 0
	if err := e.m.DeleteAll(all[:1]); err != nil {
		t.Fatal(err)
	}
	one := syncs
	syncs = 0
	err := e.m.DeleteAll(all)
	if !errors.Is(err, kerr.UnknownTopicOrPartition) || strings.Count(err.Error(), "no log of") != 1 {
		t.Errorf("deletion of 32 logs, one of them gone: %v", err)
	}
	if syncs > one { // Checkpoints that say so already aren't written.
		t.Errorf("%d flushes for 31 logs, %d for one", syncs, one)
	}
	if n := len(e.m.Logs()); n != 0 {
		t.Errorf("%d logs are left", n)
	}
	again := logs(0, 1)
	if err := e.m.DeleteAll(all[:1]); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("deletion of a log that another took the place of: %v", err)
	}
	if l, ok := e.m.Get("t", 0); !ok || l != again[0] {
		t.Error("the later log of the same name is gone")
	}
	e.clk.Advance(e.cfg.FileDeleteDelay)
	entries, err := e.fs.ReadDir("/data")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range entries {
		if strings.HasSuffix(x.Name(), "-delete") {
			t.Errorf("%s is left after the delay", x.Name())
		}
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDeleteAllFailure: whichever call fails, the directory goes offline, its logs take no records any more,
// and the next start comes through.
func TestDeleteAllFailure(t *testing.T) {
	for n := int64(1); ; n++ {
		mem := vfs.NewMem()
		var at int64
		failing := int64(-1)
		e := newEnv(vfs.NewInject(mem, func(i int64, op vfs.Op, name string) error {
			at = i
			if i == failing {
				return fmt.Errorf("injected: %s of %s", op, name)
			}
			return nil
		}))
		mustOpen(t, e)
		var all []*Log
		for p := range int32(3) {
			l, err := e.m.Create("t", p, e.topicID, e.cfg)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, l)
		}
		failing = at + n
		err := e.m.DeleteAll(all)
		if at < failing {
			if err != nil {
				t.Fatal(err)
			}
			_ = e.m.Close()
			break
		}
		if !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("call %d failed: %v", n, err)
		}
		for _, l := range all {
			if _, err := appendRecords(l, 1, 50, 0); err == nil {
				t.Errorf("call %d failed: %s takes records", n, l.tp)
			}
		}
		_ = e.m.Close()
		e.fs = mem
		if err := e.open(); err != nil {
			t.Fatal(err)
		}
		for _, l := range e.m.Logs() {
			if err := l.usable(); err != nil {
				t.Errorf("call %d failed: %s after a start: %v", n, l.tp, err)
			}
		}
		if err := e.m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStrayAndUnknown: what isn't ours stays, is told of once, and keeps nothing else from starting.
func TestStrayAndUnknown(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	mustOpen(t, e)
	for p := int32(1); p < 3; p++ {
		if _, err := e.m.Create("t", p, e.topicID, e.cfg); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.m.SetAsideStray("t", 2); err != nil {
		t.Fatal(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"/data/lost+found", "/data/foo"} {
		if err := mem.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeTestFile(t, mem, "/data/notes.txt", []byte("x"))
	writeTestFile(t, mem, "/data/t-1/partition.metadata", []byte("version: 7\n"))
	e.logs.Reset()
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	defer e.m.Close()
	if _, ok := e.m.Get("t", 0); !ok {
		t.Error("the healthy partition was not loaded")
	}
	if _, ok := e.m.Get("t", 2); ok {
		t.Error("the stray partition was loaded")
	}
	if _, ok := e.m.Get("t", 1); ok {
		t.Error("the partition with bad metadata was loaded")
	}
	if _, err := e.m.Create("t", 1, e.topicID, e.cfg); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("create of a partition that was set aside: %v", err)
	}
	out := e.logs.String()
	if strings.Count(out, "foo lost+found notes.txt") != 1 || strings.Count(out, "setting a partition aside") != 1 {
		t.Errorf("log:\n%s", out)
	}
	if strings.Contains(out, "rebuilding") || strings.Contains(out, "recovering") {
		t.Errorf("recovery after a clean stop:\n%s", out)
	}
}

// TestDirectoryFailure: a failed fsync takes its directory offline, once and for all; the other one
// goes on, and the failed one gets no marker of a clean stop.
func TestDirectoryFailure(t *testing.T) {
	mem := vfs.NewMem()
	var broken atomic.Bool
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if op == vfs.OpSync && broken.Load() && strings.HasPrefix(name, "/a/") {
			return syscall.EIO
		}
		return nil
	}))
	failed := make(chan string, 10)
	m, err := openDirs(t, e, func(c *ManagerConfig) {
		c.OnDirFailure = func(path string, _ [16]byte, _ error) { failed <- path }
	}, "/a", "/b")
	if err != nil {
		t.Fatal(err)
	}
	var logs [2]*Log
	for p := range logs {
		if logs[p], err = m.Create("t", int32(p), e.topicID, e.cfg); err != nil {
			t.Fatal(err)
		}
	}
	broken.Store(true)
	cfg := e.cfg
	cfg.FlushMessages = 1
	logs[0].UpdateConfig(cfg)
	if _, err := appendRecords(logs[0], 1, 10, 0); !errors.Is(err, kerr.KafkaStorageError) || !errors.Is(err, syscall.EIO) {
		t.Errorf("append with a failing flush: %v", err)
	}
	if got := <-failed; got != "/a" {
		t.Errorf("%s failed, want /a", got)
	}
	broken.Store(false)
	if _, err := appendRecords(logs[0], 1, 10, 0); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("append in an offline directory: %v", err)
	}
	if _, err := logs[0].Read(ReadOptions{MaxBytes: 10, UpperBound: NoLimit}); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("read in an offline directory: %v", err)
	}
	if _, err := appendRecords(logs[1], 1, 10, 0); err != nil {
		t.Errorf("append in the other directory: %v", err)
	}
	dirs := m.Dirs()
	if dirs[0].Err == nil || dirs[1].Err != nil || dirs[1].UsableBytes <= 0 {
		t.Errorf("directories: %+v", dirs)
	}
	if l, err := m.Create("t", 2, e.topicID, e.cfg); err != nil || l.DirectoryID() != dirs[1].ID {
		t.Errorf("create: %v", err)
	}
	if err := m.Close(); err == nil {
		t.Error("close reports no error")
	}
	for d, want := range map[string]bool{"/a": false, "/b": true} {
		if _, err := mem.Stat(path.Join(d, cleanShutdownFile)); (err == nil) != want {
			t.Errorf("clean shutdown marker in %s: %v", d, err)
		}
	}
}

// TestDiskFull: an append that doesn't fit leaves the log as it was, and the directory online.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.SegmentBytes = 1 << 20
	l := mustOpen(t, e)
	if _, err := appendRecords(l, 3, 50, 0); err != nil {
		t.Fatal(err)
	}
	size := l.SizeBytes()
	u, err := mem.Usage("/")
	if err != nil {
		t.Fatal(err)
	}
	mem.SetCapacity(u.TotalBytes - u.FreeBytes + 100)
	if _, err := appendRecords(l, 3, 500, 0); !errors.Is(err, kerr.KafkaStorageError) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append to a full disk: %v", err)
	}
	if l.LogEndOffset() != 3 || l.SizeBytes() != size || e.m.Dirs()[0].Err != nil {
		t.Errorf("end %d, %d bytes, directory %v", l.LogEndOffset(), l.SizeBytes(), e.m.Dirs()[0].Err)
	}
	mem.SetCapacity(0)
	if _, err := appendRecords(l, 3, 500, 0); err != nil {
		t.Errorf("append after room was made: %v", err)
	}
	if offsets, err := readAll(l, 0); err != nil || len(offsets) != 6 {
		t.Errorf("read %v, %v", offsets, err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
