package files

import (
	"io"
	"io/fs"

	"github.com/ottla/ottla/internal/vfs"
)

// retrying is the file system of a Pool for everything but its Files.
type retrying struct {
	vfs.FS
	pool *Pool
}

// retry makes a call, once more with idle files closed if it fails for want of a descriptor: it opened nothing then, and
// changed nothing.
func (r retrying) retry(call func() error) error {
	err := call()
	if vfs.NoDescriptors(err) {
		r.pool.Shrink()
		err = call()
	}
	return err
}

// retryOpen is retry of a call that returns what it opened, or read.
func retryOpen[T any](r retrying, call func() (T, error)) (opened T, err error) {
	err = r.retry(func() error {
		opened, err = call()
		return err
	})
	return opened, err
}

// OpenFile implements vfs.FS.
func (r retrying) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	return retryOpen(r, func() (vfs.File, error) { return r.FS.OpenFile(name, flag, perm) })
}

// ReadDir implements vfs.FS.
func (r retrying) ReadDir(name string) ([]fs.DirEntry, error) {
	return retryOpen(r, func() ([]fs.DirEntry, error) { return r.FS.ReadDir(name) })
}

// SyncDir implements vfs.FS.
func (r retrying) SyncDir(name string) error {
	return r.retry(func() error { return r.FS.SyncDir(name) })
}

// OpenDir implements vfs.FS.
func (r retrying) OpenDir(name string) (vfs.Dir, error) {
	return retryOpen(r, func() (vfs.Dir, error) { return r.FS.OpenDir(name) })
}

// RemoveAll implements vfs.FS.
func (r retrying) RemoveAll(name string) error {
	return r.retry(func() error { return r.FS.RemoveAll(name) })
}

// Lock implements vfs.FS.
func (r retrying) Lock(name string) (io.Closer, error) {
	return retryOpen(r, func() (io.Closer, error) { return r.FS.Lock(name) })
}
