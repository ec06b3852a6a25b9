//go:build unix

package vfs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the lock or fails at once.
func flock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// statfs asks for the room on the device; what only the superuser may use is not free.
func statfs(name string) (Usage, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(name, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Usage{}, &fs.PathError{Op: "statfs", Path: name, Err: err}
		}
		block := int64(st.Bsize) //nolint:unconvert // It is an int64 on Linux only.
		return Usage{TotalBytes: int64(st.Blocks) * block, FreeBytes: int64(st.Bavail) * block}, nil
	}
}
