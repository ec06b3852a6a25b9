package commitlog

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
)

// logFile is the .log file of a segment, opened when it is needed. The active segment and those
// that wait for a flush keep it open; others only while readers hold it, so that the number of open
// files follows the number of partitions and fetches, not the number of segments.
type logFile struct {
	fs vfs.FS

	mu   sync.Mutex // guards what follows; never held over reads or writes
	path string
	// file is nil while nobody needs it. Invariant: file != nil if holds > 0 or keepOpen.
	file vfs.File
	// holds counts readers.
	holds    int
	keepOpen bool
}

// hold returns the open file; the caller gives it up with release.
func (f *logFile) hold() (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		file, err := f.fs.OpenFile(f.path, os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		f.file = file
	}
	f.holds++
	return f.file, nil
}

// release gives a hold up; the last one closes a file that needn't stay open.
func (f *logFile) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds == 0 {
		panic("commitlog: release of " + f.path + " without a hold")
	}
	f.holds--
	f.closeIfIdle()
}

// open opens the file, creating it if need be, and keeps it open until seal.
func (f *logFile) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		file, err := f.fs.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		f.file = file
	}
	f.keepOpen = true
	return nil
}

// seal lets the file close as soon as no reader holds it.
func (f *logFile) seal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keepOpen = false
	f.closeIfIdle()
}

// closeIfIdle closes the file if nobody needs it. What matters was synced before; an error of close
// says nothing more. Requires: f.mu held.
func (f *logFile) closeIfIdle() {
	if f.holds == 0 && !f.keepOpen && f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// rename gives the file another name; readers keep reading it.
func (f *logFile) rename(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.fs.Rename(f.path, path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("rename: %w", err)
	}
	f.path = path
	return nil
}

// setPath tells that the file has another name already, because its directory was renamed.
func (f *logFile) setPath(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.path = path
}

func (f *logFile) name() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.path
}
