package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// ErrInjected is what an injected failure is, by errors.Is.
var ErrInjected = errors.New("injected failure")

// Op is a call that may change what is on disk, or that a program must survive the failure of.
type Op string

// The calls that an Inject counts.
const (
	OpOpen        Op = "open"   // of a file or a directory
	OpCreate      Op = "create" // OpenFile of a name that isn't there yet
	OpReadDir     Op = "readdir"
	OpStat        Op = "stat"
	OpMkdir       Op = "mkdir"
	OpRename      Op = "rename"
	OpRemove      Op = "remove"
	OpSyncDir     Op = "syncdir"
	OpLock        Op = "lock"
	OpRead        Op = "read"
	OpReadCached  Op = "readcached"
	OpWrite       Op = "write"
	OpSync        Op = "sync"
	OpTruncate    Op = "truncate"
	OpSize        Op = "size"
	OpPreallocate Op = "preallocate"
	OpReserve     Op = "reserve"
	OpUnreserve   Op = "unreserve"
)

// Inject is a file system that asks before each call whether it should fail. A write that fails
// writes the first half of its bytes first, as a disk that fills up does.
type Inject struct {
	inner FS
	// fail decides; n counts calls from 1. It may be called from several goroutines at once.
	fail  func(n int64, op Op, name string) error
	calls atomic.Int64
}

// NewInject returns inner with failures; fail is asked before each call, and nil lets it pass.
func NewInject(inner FS, fail func(n int64, op Op, name string) error) *Inject {
	return &Inject{inner: inner, fail: fail}
}

// FailNth lets only the n-th call fail.
func FailNth(n int64) func(int64, Op, string) error {
	return func(i int64, op Op, name string) error {
		if i == n {
			return pathError(string(op), name, ErrInjected)
		}
		return nil
	}
}

// FailFrom lets the n-th call and all after it fail, as if the power were cut at it.
func FailFrom(n int64) func(int64, Op, string) error {
	return func(i int64, op Op, name string) error {
		if i >= n {
			return pathError(string(op), name, ErrInjected)
		}
		return nil
	}
}

// Calls is how many calls were made so far.
func (f *Inject) Calls() int64 { return f.calls.Load() }

func (f *Inject) check(op Op, name string) error { return f.fail(f.calls.Add(1), op, name) }

// OpenFile implements FS.
func (f *Inject) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	op := OpOpen
	if _, err := f.inner.Stat(name); flag&os.O_CREATE != 0 && errors.Is(err, fs.ErrNotExist) {
		op = OpCreate
	}
	if err := f.check(op, name); err != nil {
		return nil, err
	}
	file, err := f.inner.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &injectFile{File: file, fs: f, name: name}, nil
}

// ReadDir implements FS.
func (f *Inject) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.check(OpReadDir, name); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(name)
}

// Stat implements FS.
func (f *Inject) Stat(name string) (fs.FileInfo, error) {
	if err := f.check(OpStat, name); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// MkdirAll implements FS.
func (f *Inject) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.check(OpMkdir, name); err != nil {
		return err
	}
	return f.inner.MkdirAll(name, perm)
}

// Rename implements FS.
func (f *Inject) Rename(oldName, newName string) error {
	if err := f.check(OpRename, oldName); err != nil {
		return err
	}
	return f.inner.Rename(oldName, newName)
}

// Remove implements FS.
func (f *Inject) Remove(name string) error {
	if err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// RemoveAll implements FS.
func (f *Inject) RemoveAll(name string) error {
	if err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.inner.RemoveAll(name)
}

// SyncDir implements FS: the directory is opened, and synced.
func (f *Inject) SyncDir(name string) error {
	if err := f.check(OpOpen, name); err != nil {
		return err
	}
	if err := f.check(OpSyncDir, name); err != nil {
		return syncError(err)
	}
	return f.inner.SyncDir(name)
}

// OpenDir implements FS.
func (f *Inject) OpenDir(name string) (Dir, error) {
	if err := f.check(OpOpen, name); err != nil {
		return nil, err
	}
	dir, err := f.inner.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &injectDir{Dir: dir, fs: f, name: name}, nil
}

// injectDir is a directory of an Inject. Close never fails by injection.
type injectDir struct {
	Dir
	fs   *Inject
	name string
}

// Sync implements Dir.
func (d *injectDir) Sync() error {
	if err := d.fs.check(OpSyncDir, d.name); err != nil {
		return syncError(err)
	}
	return d.Dir.Sync()
}

// Lock implements FS.
func (f *Inject) Lock(name string) (io.Closer, error) {
	if err := f.check(OpLock, name); err != nil {
		return nil, err
	}
	return f.inner.Lock(name)
}

// Usage implements FS; it never fails by injection.
func (f *Inject) Usage(name string) (Usage, error) { return f.inner.Usage(name) }

// injectFile is a file of an Inject. Close and Fd never fail by injection.
type injectFile struct {
	File
	fs   *Inject
	name string
}

// ReadAt implements File.
func (f *injectFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.check(OpRead, f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// ReadCached implements File.
func (f *injectFile) ReadCached(p []byte, off int64) error {
	if f.fs.check(OpReadCached, f.name) != nil {
		return ErrNotCached
	}
	return f.File.ReadCached(p, off)
}

// WriteAt implements File.
func (f *injectFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.check(OpWrite, f.name); err != nil {
		n, werr := f.File.WriteAt(p[:len(p)/2], off)
		return n, errors.Join(err, werr)
	}
	return f.File.WriteAt(p, off)
}

// Sync implements File.
func (f *injectFile) Sync() error {
	if err := f.fs.check(OpSync, f.name); err != nil {
		return syncError(err)
	}
	return f.File.Sync()
}

// Truncate implements File.
func (f *injectFile) Truncate(size int64) error {
	if err := f.fs.check(OpTruncate, f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Size implements File.
func (f *injectFile) Size() (int64, error) {
	if err := f.fs.check(OpSize, f.name); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Preallocate implements File.
func (f *injectFile) Preallocate(offset, length int64) error {
	if err := f.fs.check(OpPreallocate, f.name); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}

// Reserve implements File.
func (f *injectFile) Reserve(offset, length int64) error {
	if err := f.fs.check(OpReserve, f.name); err != nil {
		return errors.Join(err, f.File.Reserve(offset, length/2)) // As a disk that fills up does.
	}
	return f.File.Reserve(offset, length)
}

// Unreserve implements File.
func (f *injectFile) Unreserve() error {
	if err := f.fs.check(OpUnreserve, f.name); err != nil {
		return err
	}
	return f.File.Unreserve()
}
