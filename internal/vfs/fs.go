// Package vfs is the seam through which everything durable passes.
//
// Durability contract, which Mem and the crash-simulating file system enforce and OS provides:
//   - bytes written to a File are durable once Sync returned nil; before that any part of them may
//     be lost, zero or torn after a crash;
//   - a new, renamed or removed name is durable once SyncDir of its directory returned nil;
//   - Rename replaces its target atomically;
//   - a Sync that failed, which is a *SyncError, says nothing about earlier bytes: the caller must not
//     trust the file again;
//   - a call that failed for want of room (NoRoom) changed nothing but what it was to change: a write
//     may have left a part of its bytes, all else is as it was;
//   - a call that failed for want of a descriptor (NoDescriptors) changed nothing. Only calls that open
//     something do: OpenFile, OpenDir, ReadDir, SyncDir, RemoveAll (of which a part may be gone) and Lock.
package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// FS is a file system. Names are slash-separated paths. Errors satisfy errors.Is with the io/fs
// sentinels (fs.ErrNotExist and so on) and, for a full disk, with syscall.ENOSPC.
type FS interface {
	// OpenFile opens a file with os.O_* flags.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	MkdirAll(name string, perm fs.FileMode) error
	Rename(oldName, newName string) error
	Remove(name string) error
	RemoveAll(name string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// OpenDir opens a directory for its Sync: for those who change names and can't stop before they are durable,
	// whatever descriptors are left by then.
	OpenDir(name string) (Dir, error)
	// Lock takes an exclusive lock on a file, created if absent, until the Closer is closed.
	Lock(name string) (io.Closer, error)
	// Usage is the size of, and the space left on, the device that holds name, in bytes.
	Usage(name string) (Usage, error)
}

// Dir is an open directory.
type Dir interface {
	io.Closer
	// Sync is SyncDir of the directory, whatever its name is by now.
	Sync() error
}

// ErrNotCached says that bytes aren't in memory.
var ErrNotCached = errors.New("not in the page cache")

// Usage is the room of a device.
type Usage struct{ TotalBytes, FreeBytes int64 }

// File is an open file. Its methods may be called from several goroutines.
type File interface {
	io.ReaderAt
	// ReadCached fills p from off on without waiting for the device. ErrNotCached says that it can't, or can't tell.
	ReadCached(p []byte, off int64) error
	io.WriterAt
	io.Closer
	// Sync makes every byte written so far, and the size, durable.
	Sync() error
	Truncate(size int64) error
	// Size is the file's length in bytes.
	Size() (int64, error)
	// Preallocate reserves blocks for the range; reading them before a write gives zeros.
	Preallocate(offset, length int64) error
	// Reserve reserves blocks for a range behind the file's end, and leaves its size, where that makes the writing
	// of them cheaper; elsewhere it fails with errors.ErrUnsupported. A failure may leave a part of it, and changes nothing that can be read.
	Reserve(offset, length int64) error
	// Unreserve gives back what Reserve left behind the file's end, but for a rest that isn't worth the work. Requires: nobody writes.
	Unreserve() error
	// Fd is the operating system's descriptor, for sendfile; false if there is none.
	Fd() (fd uintptr, ok bool)
}
