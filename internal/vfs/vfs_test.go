package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// script does the same with any file system and tells what it saw; names are below dir.
func script(t *testing.T, f FS, dir string) string {
	t.Helper()
	var out strings.Builder
	say := func(what string, err error) {
		switch {
		case err == nil:
			fmt.Fprintf(&out, "%s: ok\n", what)
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(&out, "%s: not exist\n", what)
		case errors.Is(err, fs.ErrExist):
			fmt.Fprintf(&out, "%s: exist\n", what)
		case errors.Is(err, io.EOF):
			fmt.Fprintf(&out, "%s: EOF\n", what)
		case errors.Is(err, fs.ErrClosed):
			fmt.Fprintf(&out, "%s: closed\n", what)
		case errors.Is(err, syscall.ENOTEMPTY):
			fmt.Fprintf(&out, "%s: not empty\n", what)
		default:
			fmt.Fprintf(&out, "%s: error\n", what)
		}
	}
	p := func(name string) string { return dir + "/" + name }
	say("mkdir", f.MkdirAll(p("a/b"), 0o755))
	_, err := f.OpenFile(p("a/x"), os.O_RDWR, 0o644)
	say("open missing", err)
	x, err := f.OpenFile(p("a/x"), os.O_RDWR|os.O_CREATE, 0o644)
	say("create", err)
	_, err = f.OpenFile(p("a/x"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	say("create again", err)
	_, err = x.WriteAt([]byte("hello"), 3)
	say("write", err)
	b := make([]byte, 10)
	n, err := x.ReadAt(b, 0)
	say(fmt.Sprintf("read %q", b[:n]), err)
	n, err = x.ReadAt(b[:2], 4)
	say(fmt.Sprintf("read %q", b[:n]), err)
	say("truncate", x.Truncate(5))
	say("grow", x.Truncate(7))
	n, err = x.ReadAt(b, 0)
	say(fmt.Sprintf("read %q", b[:n]), err)
	say("preallocate", x.Preallocate(0, 100))
	size, err := x.Size()
	say(fmt.Sprintf("size %d", size), err)
	say("sync", x.Sync())
	say("sync dir", f.SyncDir(p("a")))
	say("sync missing dir", f.SyncDir(p("c")))
	say("rename", f.Rename(p("a/x"), p("a/y")))
	say("rename missing", f.Rename(p("a/x"), p("a/z")))
	say("remove open file", f.Remove(p("a/y")))
	n, err = x.ReadAt(b[:4], 0)
	say(fmt.Sprintf("read removed %q", b[:n]), err)
	say("close", x.Close())
	say("close again", x.Close())
	_, err = x.ReadAt(b, 0)
	say("read closed", err)
	y, err := f.OpenFile(p("a/b/z"), os.O_RDWR|os.O_CREATE, 0o644)
	say("create", err)
	say("close", y.Close())
	say("remove directory that isn't empty", f.Remove(p("a/b")))
	d, err := f.OpenDir(p("a/b"))
	say("open directory", err)
	say("rename directory", f.Rename(p("a/b"), p("a/c")))
	say("sync renamed directory", d.Sync())
	say("close directory", d.Close())
	say("sync closed directory", d.Sync())
	_, err = f.OpenDir(p("a/b"))
	say("open missing directory", err)
	entries, err := f.ReadDir(p("a"))
	for _, e := range entries {
		fmt.Fprintf(&out, "entry %s dir=%t\n", e.Name(), e.IsDir())
	}
	say("read dir", err)
	info, err := f.Stat(p("a/c/z"))
	say("stat", err)
	fmt.Fprintf(&out, "%s %d\n", info.Name(), info.Size())
	say("remove all", f.RemoveAll(p("a")))
	say("remove all again", f.RemoveAll(p("a")))
	_, err = f.Stat(p("a"))
	say("stat removed", err)
	l, err := f.Lock(p(".lock"))
	say("lock", err)
	_, err = f.Lock(p(".lock"))
	say("lock again", err)
	say("unlock", l.Close())
	l, err = f.Lock(p(".lock"))
	say("lock", err)
	say("unlock", l.Close())
	u, err := f.Usage(dir)
	say(fmt.Sprintf("usage %t", u.TotalBytes >= u.FreeBytes && u.FreeBytes > 0), err)
	return out.String()
}

// TestMemIsLikeOS: the same calls have the same results in memory and on the machine's disk.
func TestMemIsLikeOS(t *testing.T) {
	mem := NewMem()
	if err := mem.MkdirAll("/d", 0o755); err != nil {
		t.Fatal(err)
	}
	want, got := script(t, OS{}, filepath.ToSlash(t.TempDir())), script(t, mem, "/d")
	if got != want {
		t.Errorf("in memory:\n%s\non disk:\n%s", got, want)
	}
	if got := script(t, NewInject(mem, FailNth(0)), "/d"); got != want {
		t.Errorf("through Inject:\n%s", got)
	}
}

// write creates or changes a file.
func write(t *testing.T, f FS, name, content string, sync bool) {
	t.Helper()
	file, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte(content), 0); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

// content is a file's bytes, "-" if it isn't there.
func content(t *testing.T, f FS, name string) string {
	t.Helper()
	file, err := f.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := make([]byte, 1<<16)
	n, _ := file.ReadAt(b, 0)
	return string(b[:n])
}

// TestCrashLosesWhatWasNotSynced: bytes need Sync, names need SyncDir or a Sync of the open directory, and each by
// itself.
func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	m := NewMem()
	root, err := m.OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	write(t, m, "/synced", "old", true)
	write(t, m, "/unsynced-name", "x", true)
	write(t, m, "/removed", "r", true)
	write(t, m, "/renamed", "n", true)
	if err := m.Remove("/unsynced-name"); err != nil {
		t.Fatal(err)
	}
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	write(t, m, "/synced", "new and longer", false)
	write(t, m, "/unsynced-name", "x", true)
	if err := errors.Join(m.Remove("/removed"), m.Rename("/renamed", "/to")); err != nil {
		t.Fatal(err)
	}
	after := m.AfterCrash(nil)
	for name, want := range map[string]string{
		"/synced": "old", "/unsynced-name": "-", "/removed": "r", "/renamed": "n", "/to": "-",
	} {
		if got := content(t, after, name); got != want {
			t.Errorf("%s is %q after the crash, want %q", name, got, want)
		}
	}
	if err := root.Sync(); err != nil {
		t.Fatal(err)
	}
	after = m.AfterCrash(nil)
	for name, want := range map[string]string{"/synced": "old", "/unsynced-name": "x", "/removed": "-", "/renamed": "-", "/to": "n"} {
		if got := content(t, after, name); got != want {
			t.Errorf("%s is %q after the directory was synced, want %q", name, got, want)
		}
	}
	if got := content(t, m, "/synced"); got != "new and longer" {
		t.Errorf("the running file system has %q", got)
	}
}

// TestCrashTears: with a random source all of kept, lost, torn and zero come up, a rename is never
// half done, and synced bytes are never touched.
func TestCrashTears(t *testing.T) {
	m := NewMem()
	write(t, m, "/f", strings.Repeat("s", 1000), true)
	write(t, m, "/a", "a", true)
	if err := m.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	f, err := m.OpenFile("/f", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(strings.Repeat("n", 4000)), 1000); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), m.Rename("/a", "/b")); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		after := m.AfterCrash(rand.New(rand.NewPCG(1, seed)))
		got := content(t, after, "/f")
		if !strings.HasPrefix(got, strings.Repeat("s", 1000)) {
			t.Fatalf("seed %d changed what was synced", seed)
		}
		tail := got[1000:]
		seen["short"] = seen["short"] || len(tail) < 4000
		seen["zero"] = seen["zero"] || strings.Contains(tail, "\x00")
		seen["new"] = seen["new"] || strings.Contains(tail, "n")
		a, b := content(t, after, "/a"), content(t, after, "/b")
		if (a == "-") == (b == "-") {
			t.Fatalf("seed %d: half a rename: %q %q", seed, a, b)
		}
		seen["renamed"] = seen["renamed"] || b == "a"
		seen["undone"] = seen["undone"] || a == "a"
	}
	for _, what := range []string{"short", "zero", "new", "renamed", "undone"} {
		if !seen[what] {
			t.Errorf("%s never came up", what)
		}
	}
}

// TestInject: the n-th call fails and the others don't, a failing write leaves half of its bytes, and
// from the n-th on means all.
func TestInject(t *testing.T) {
	m := NewMem()
	f := NewInject(m, FailNth(2))
	file, err := f.OpenFile("/f", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := file.WriteAt([]byte("abcd"), 0); n != 2 || !errors.Is(err, ErrInjected) {
		t.Errorf("second call: %d, %v", n, err)
	}
	if _, err := file.WriteAt([]byte("z"), 1); err != nil {
		t.Errorf("third call: %v", err)
	}
	if got := content(t, m, "/f"); got != "az" {
		t.Errorf("content %q, want az", got)
	}
	if f.Calls() != 3 {
		t.Errorf("%d calls, want 3", f.Calls())
	}
	f = NewInject(m, FailFrom(3)) // The directory is opened, then synced.
	if err := f.SyncDir("/"); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := f.SyncDir("/"); !errors.Is(err, ErrInjected) {
			t.Errorf("after the power was cut: %v", err)
		}
	}
}

// TestFailedSyncDir: a directory that can't be opened was not synced; one whose sync fails is in doubt.
func TestFailedSyncDir(t *testing.T) {
	for op, want := range map[Op]bool{OpOpen: false, OpSyncDir: true} {
		f := NewInject(NewMem(), func(_ int64, o Op, name string) error {
			if o == op {
				return pathError(string(op), name, syscall.EMFILE)
			}
			return nil
		})
		err := f.SyncDir("/")
		var inDoubt *SyncError
		if errors.As(err, &inDoubt) != want || NoDescriptors(err) == want {
			t.Errorf("%s refused: %v", op, err)
		}
		dir, err := f.OpenDir("/")
		if (op == OpOpen) != NoDescriptors(err) {
			t.Errorf("%s refused: %v", op, err)
		}
		if err != nil {
			continue
		}
		if err := dir.Sync(); !errors.As(err, &inDoubt) {
			t.Errorf("%s refused: %v", op, err)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCapacity: a full disk takes what fits and says ENOSPC, and removal makes room.
func TestCapacity(t *testing.T) {
	m := NewMem()
	m.SetCapacity(10)
	write(t, m, "/a", "12345", false)
	f, err := m.OpenFile("/b", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := f.WriteAt([]byte("1234567"), 0); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write to a full disk: %d, %v", n, err)
	}
	if u, err := m.Usage("/"); err != nil || u.FreeBytes != 0 || u.TotalBytes != 10 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if _, err := m.OpenFile("/c", os.O_RDWR|os.O_CREATE, 0o644); !NoRoom(err) {
		t.Errorf("new file on a full disk: %v", err)
	}
	if err := m.MkdirAll("/d", 0o755); !NoRoom(err) {
		t.Errorf("new directory on a full disk: %v", err)
	}
	if err := m.Rename("/b", "/a"); err != nil {
		t.Fatal(err)
	}
	if u, err := m.Usage("/"); err != nil || u.FreeBytes != 5 {
		t.Errorf("usage after a file was replaced %+v, %v", u, err)
	}
	if err := m.Remove("/a"); err != nil {
		t.Fatal(err)
	}
	f, err = m.OpenFile("/a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("1234567"), 0); err != nil {
		t.Errorf("write after room was made: %v", err)
	}
}
