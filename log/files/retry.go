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

// OpenFile implements vfs.FS.
func (r retrying) OpenFile(name string, flag int, perm fs.FileMode) (f vfs.File, err error) {
	err = r.retry(func() error {
		f, err = r.FS.OpenFile(name, flag, perm)
		return err
	})
	return f, err
}

// ReadDir implements vfs.FS.
func (r retrying) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = r.retry(func() error {
		entries, err = r.FS.ReadDir(name)
		return err
	})
	return entries, err
}

// SyncDir implements vfs.FS.
func (r retrying) SyncDir(name string) error {
	return r.retry(func() error { return r.FS.SyncDir(name) })
}

// OpenDir implements vfs.FS.
func (r retrying) OpenDir(name string) (d vfs.Dir, err error) {
	err = r.retry(func() error {
		d, err = r.FS.OpenDir(name)
		return err
	})
	return d, err
}

// RemoveAll implements vfs.FS.
func (r retrying) RemoveAll(name string) error {
	return r.retry(func() error { return r.FS.RemoveAll(name) })
}

// Lock implements vfs.FS.
func (r retrying) Lock(name string) (c io.Closer, err error) {
	err = r.retry(func() error {
		c, err = r.FS.Lock(name)
		return err
	})
	return c, err
}
