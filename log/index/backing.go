package index

import (
	"errors"
	"fmt"
	"os"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/files"
)

// backing is the file of an index: what of it was changed and not made durable. The index's lock guards it.
type backing struct {
	// file is pinned while it has writes that weren't synced.
	file files.File
	// longer says that the file may go on behind the written entries, with some that were dropped; it is cut
	// before the next write or sync.
	longer bool
	// building says that entries wait in memory until the index's Settle.
	building bool
	// unsynced says that the file has changed since its last sync.
	unsynced bool
}

// change returns the file for a change of it, opened with a flag if it isn't open. Requires: the lock held.
func (b *backing) change(flag int) (vfs.File, error) {
	f, _, err := b.file.Pin(flag)
	if err == nil {
		b.unsynced = true
	}
	return f, err
}

// cut ends the file at a size. Requires: the lock held.
func (b *backing) cut(f vfs.File, sizeBytes int64) error {
	if err := f.Truncate(sizeBytes); err != nil {
		return fmt.Errorf("truncate %s: %w", b.file.Path(), err)
	}
	b.longer = false
	return nil
}

// sync makes what was changed durable. Requires: the lock held.
func (b *backing) sync(flag int) error {
	if !b.unsynced {
		return nil
	}
	f, _, err := b.file.Pin(flag)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", b.file.Path(), err)
	}
	b.unsynced = false
	b.file.Unpin()
	return nil
}

// Hold keeps the file open until release is called, if it is there: changes of it need no descriptor meanwhile.
func (b *backing) Hold() (release func(), err error) {
	if _, err := b.file.Hold(); errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	} else if err != nil {
		return nil, err
	}
	return b.file.Release, nil
}

// Rename gives the file another name. A file that doesn't exist is none to rename.
func (b *backing) Rename(path string) error { return b.file.Rename(path) }

// SetPath tells that the file has another name already, because its directory was renamed.
func (b *backing) SetPath(path string) { b.file.SetPath(path) }

// Path is the file's name.
func (b *backing) Path() string { return b.file.Path() }
