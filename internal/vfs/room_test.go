package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// TestNoRoom: want of room and of descriptors is told from every other failure, also in company.
func TestNoRoom(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/a", Err: syscall.ENOSPC}
	broken := &fs.PathError{Op: "truncate", Path: "/a", Err: syscall.EIO}
	short := &fs.PathError{Op: "open", Path: "/a", Err: syscall.EMFILE}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"nil":                {nil, ""},
		"full":               {full, "room"},
		"quota":              {&os.SyscallError{Syscall: "write", Err: syscall.EDQUOT}, "room"},
		"wrapped":            {fmt.Errorf("append: %w", full), "room"},
		"with a word":        {fmt.Errorf("%w: %w", errors.New("can't append"), full), "room"},
		"broken":             {broken, ""},
		"joined":             {errors.Join(full, broken), ""},
		"joined, first":      {errors.Join(broken, full), ""},
		"joined with sync":   {errors.Join(full, &SyncError{syscall.ENOSPC}), ""},
		"sync":               {fmt.Errorf("sync: %w", &SyncError{full}), ""},
		"full, then closed":  {errors.Join(full, nil), "room"},
		"injected":           {errors.Join(full, ErrInjected), ""},
		"other":              {errors.New("other"), ""},
		"process":            {short, "descriptors"},
		"system":             {fmt.Errorf("flush: %w", syscall.ENFILE), "descriptors"},
		"both":               {errors.Join(full, short), "descriptors"},
		"short and broken":   {errors.Join(short, broken), ""},
		"sync without any":   {&SyncError{short}, ""},
		"short and injected": {errors.Join(short, ErrInjected), ""},
	} {
		got := ""
		switch {
		case NoRoom(c.err):
			got = "room"
		case NoDescriptors(c.err):
			got = "descriptors"
		}
		if got != c.want || Scarce(c.err) != (got != "") {
			t.Errorf("%s: %q, scarce %t", name, got, Scarce(c.err))
		}
	}
}

// TestFullSync: a sync that fails for want of room is none of want of room: bytes may be lost.
func TestFullSync(t *testing.T) {
	f := NewInject(NewMem(), func(_ int64, op Op, name string) error {
		if op == OpCreate || op == OpOpen {
			return nil
		}
		return pathError(string(op), name, syscall.ENOSPC)
	})
	file, err := f.OpenFile("/a", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"sync": file.Sync(), "syncdir": f.SyncDir("/")} {
		if !errors.Is(err, syscall.ENOSPC) || NoRoom(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := file.WriteAt([]byte("1234"), 0); n != 2 || !NoRoom(err) {
		t.Errorf("write: %d, %v", n, err)
	}
}
