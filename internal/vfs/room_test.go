package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// TestNoRoom: want of room is told from every other failure, also in company.
func TestNoRoom(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/a", Err: syscall.ENOSPC}
	broken := &fs.PathError{Op: "truncate", Path: "/a", Err: syscall.EIO}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"nil":               {nil, false},
		"full":              {full, true},
		"quota":             {&os.SyscallError{Syscall: "write", Err: syscall.EDQUOT}, true},
		"wrapped":           {fmt.Errorf("append: %w", full), true},
		"with a word":       {fmt.Errorf("%w: %w", errors.New("can't append"), full), true},
		"broken":            {broken, false},
		"joined":            {errors.Join(full, broken), false},
		"joined, first":     {errors.Join(broken, full), false},
		"joined with sync":  {errors.Join(full, &SyncError{syscall.ENOSPC}), false},
		"sync":              {fmt.Errorf("sync: %w", &SyncError{full}), false},
		"full, then closed": {errors.Join(full, nil), true},
		"injected":          {errors.Join(full, ErrInjected), false},
		"other":             {errors.New("other"), false},
	} {
		if got := NoRoom(c.err); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestFullSync: a sync that fails for want of room is none of want of room: bytes may be lost.
func TestFullSync(t *testing.T) {
	f := NewInject(NewMem(), func(_ int64, op Op, name string) error {
		if op == OpCreate {
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
