//go:build unix

package vfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFile is os.OpenFile for plain files and directories. That one asks the kernel whether the file can be
// polled, which takes four times as many calls as opening it; a start opens several files a segment.
func openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// MaxOpenFiles is how many files and sockets the process may have open, 0 if that isn't known.
func (OS) MaxOpenFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30)) //nolint:unconvert // It is an int64 on some systems.
}

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
