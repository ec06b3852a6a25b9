package vfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// datasync makes bytes and size durable; it skips the time stamps, which nothing relies on.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &fs.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// readCached reads what is in the page cache; a file system that doesn't tell has nothing there.
func readCached(f *os.File, p []byte, off int64) error {
	n, err := unix.Preadv2(int(f.Fd()), [][]byte{p}, off, unix.RWF_NOWAIT)
	if err != nil || n < len(p) {
		return ErrNotCached
	}
	return nil
}

// fallocate reserves blocks. A file system that can't is no failure: the reservation only saves
// work later.
func fallocate(f *os.File, offset, length int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, offset, length)
		if err == unix.EINTR {
			continue
		}
		if err == nil || errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
}
