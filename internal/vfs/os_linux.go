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
	if err := fallocateMode(f, 0, offset, length); !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	return nil
}

func fallocateMode(f *os.File, mode uint32, offset, length int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), mode, offset, length)
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			return nil
		}
		return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
}

// reserve reserves blocks on ext4, which otherwise reserves one after the other as they are written. Others weren't measured; XFS
// reserves ahead by itself, and tmpfs would take and clear the memory at once.
func reserve(f *os.File, offset, length int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil || st.Type != unix.EXT4_SUPER_MAGIC {
		return errors.ErrUnsupported
	}
	return fallocateMode(f, unix.FALLOC_FL_KEEP_SIZE, offset, length)
}

// unreservedBytes is how much more than its size a file may take on the disk without having anything reserved: the file system's
// own blocks.
const unreservedBytes = 64 << 10

// unreserve cuts a file to the size that it has, which frees what lies behind.
func unreserve(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if st.Blocks*512 <= st.Size+unreservedBytes {
		return nil
	}
	return f.Truncate(st.Size)
}
