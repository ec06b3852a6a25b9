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

// OpenFile implements vfs.FS.
func (r retrying) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := r.FS.OpenFile(name, flag, perm)
	if vfs.NoDescriptors(err) {
		r.pool.Shrink()
		return r.FS.OpenFile(name, flag, perm)
	}
	return f, err
}

// ReadDir implements vfs.FS.
func (r retrying) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := r.FS.ReadDir(name)
	if vfs.NoDescriptors(err) {
		r.pool.Shrink()
		return r.FS.ReadDir(name)
	}
	return entries, err
}

// SyncDir implements vfs.FS.
func (r retrying) SyncDir(name string) error {
	err := r.FS.SyncDir(name)
	if vfs.NoDescriptors(err) { // The directory couldn't be opened; nothing was synced that failed.
		r.pool.Shrink()
		return r.FS.SyncDir(name)
	}
	return err
}

// OpenDir implements vfs.FS.
func (r retrying) OpenDir(name string) (vfs.Dir, error) {
	d, err := r.FS.OpenDir(name)
	if vfs.NoDescriptors(err) {
		r.pool.Shrink()
		return r.FS.OpenDir(name)
	}
	return d, err
}

// RemoveAll implements vfs.FS.
func (r retrying) RemoveAll(name string) error {
	err := r.FS.RemoveAll(name)
	if vfs.NoDescriptors(err) {
		r.pool.Shrink()
		return r.FS.RemoveAll(name)
	}
	return err
}

// Lock implements vfs.FS.
func (r retrying) Lock(name string) (io.Closer, error) {
	c, err := r.FS.Lock(name)
	if vfs.NoDescriptors(err) {
		r.pool.Shrink()
		return r.FS.Lock(name)
	}
	return c, err
}
