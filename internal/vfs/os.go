package vfs

import (
	"io"
	"io/fs"
	"os"
)

// OS is the operating system's file system. Only cmd and internal/server name it.
type OS struct{}

// OpenFile implements FS.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := openFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f}, nil
}

// ReadDir implements FS.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Stat implements FS.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// MkdirAll implements FS.
func (OS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }

// Rename implements FS.
func (OS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(name) }

// SyncDir implements FS.
func (fs OS) SyncDir(name string) error {
	d, err := fs.OpenDir(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// OpenDir implements FS.
func (OS) OpenDir(name string) (Dir, error) {
	f, err := openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return osDir{f}, nil
}

// osDir is an open directory of the operating system.
type osDir struct{ f *os.File }

// Sync implements Dir.
func (d osDir) Sync() error { return syncError(d.f.Sync()) }

// Close implements Dir.
func (d osDir) Close() error { return d.f.Close() }

// Lock implements FS with an advisory lock that the kernel drops when the process dies.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		_ = f.Close() // Nothing was written.
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

// Usage implements FS.
func (OS) Usage(name string) (Usage, error) { return statfs(name) }

// osFile is an open file of the operating system.
type osFile struct{ *os.File }

// ReadCached implements File.
func (f *osFile) ReadCached(p []byte, off int64) error { return readCached(f.File, p, off) }

// Sync implements File.
func (f *osFile) Sync() error { return syncError(datasync(f.File)) }

// Size implements File.
func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Preallocate implements File.
func (f *osFile) Preallocate(offset, length int64) error { return fallocate(f.File, offset, length) }

// Reserve implements File.
func (f *osFile) Reserve(offset, length int64) error { return reserve(f.File, offset, length) }

// Unreserve implements File.
func (f *osFile) Unreserve() error { return unreserve(f.File) }

// Fd implements File.
func (f *osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }
