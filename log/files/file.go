package files

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
)

// File is a file that is open while it is needed. Init comes before everything else.
type File struct {
	pool *Pool
	// closed is called when the file was closed, with mu held; nil if nobody wants to know.
	closed func()

	mu   sync.Mutex // guards what follows
	path string
	// file is nil while the file is closed. Invariant: file != nil if holds > 0 or pinned.
	file    vfs.File
	holds   int
	pinned  bool
	retired bool

	// older and newer are the neighbours among the idle files. Guarded by pool.mu.
	older, newer *File
	// listed says that the file stands among them. Guarded by pool.mu; set with mu held too.
	// Invariant: an open file that is neither held nor pinned is listed, or about to be closed.
	listed bool
}

// Init gives the file its name. closed is called whenever the file closes and must take no lock; it may
// be nil. What a holder derived from the open file can be dropped by it, so that it is bounded as files are.
func (f *File) Init(p *Pool, path string, closed func()) { f.pool, f.path, f.closed = p, path, closed }

// Hold returns the file, opened if it has to be; the caller gives it up with Release.
func (f *File) Hold() (vfs.File, error) { return f.HoldFlag(0) }

// HoldFlag is Hold with flags for the opening, such as os.O_CREATE. The file is open for writing, too.
func (f *File) HoldFlag(flag int) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.insist(flag); err != nil {
		return nil, err
	}
	f.holds++
	return f.file, nil
}

// TryHold is Hold where the file is open, and nobody is about to open or close it: it never waits for the device.
func (f *File) TryHold() (vfs.File, bool) {
	if !f.mu.TryLock() {
		return nil, false
	}
	defer f.mu.Unlock()
	if f.file == nil {
		return nil, false
	}
	if f.holds == 0 && !f.pinned {
		f.pool.use(f)
	}
	f.holds++
	return f.file, true
}

// Release gives a hold up.
func (f *File) Release() {
	f.mu.Lock()
	if f.holds == 0 {
		f.mu.Unlock()
		panic("files: release of " + f.path + " without a hold")
	}
	f.holds--
	victim := f.settle()
	f.mu.Unlock()
	victim.evict()
}

// Pin is Hold until Unpin, however often it is called: for a file that is written. first says that it
// wasn't pinned before. Whoever pins keeps others from unpinning while the file is in use.
func (f *File) Pin(flag int) (file vfs.File, first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pinned {
		return f.file, false, nil
	}
	if err := f.insist(flag); err != nil {
		return nil, false, err
	}
	if f.pinned { // Meanwhile.
		return f.file, false, nil
	}
	f.pinned = true
	f.pool.pinned.Add(1)
	return f.file, true, nil
}

// HoldPinned is Hold of a file that is pinned, which is open therefore; false if it isn't.
func (f *File) HoldPinned() (vfs.File, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pinned {
		return nil, false
	}
	f.holds++
	return f.file, true
}

// Unpin says that the file has no writes that weren't synced.
func (f *File) Unpin() {
	f.mu.Lock()
	var victim *File
	if f.pinned {
		f.pinned = false
		f.pool.pinned.Add(-1)
		victim = f.settle()
	}
	f.mu.Unlock()
	victim.evict()
}

// Retire says that the file goes away, or that its owner does: it closes as soon as nobody holds it, and
// isn't kept for later any more. Those who still come get it all the same. Pins end.
func (f *File) Retire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retired = true
	if f.pinned {
		f.pinned = false
		f.pool.pinned.Add(-1)
	}
	if f.holds == 0 && f.file != nil {
		f.pool.use(f)
		f.shut()
	}
}

// insist is need with another try after all idle files were closed, if there are too many. Requires: f.mu
// held; it may be given up meanwhile.
func (f *File) insist(flag int) error {
	err := f.need(flag)
	if !vfs.NoDescriptors(err) {
		return err
	}
	f.mu.Unlock()
	f.pool.Shrink()
	f.mu.Lock()
	return f.need(flag)
}

// need opens the file if it isn't. Requires: f.mu held; the caller holds or pins it.
func (f *File) need(flag int) error {
	if f.file != nil {
		if f.holds == 0 && !f.pinned {
			f.pool.use(f)
		}
		return nil
	}
	file, err := f.pool.fs.OpenFile(f.path, os.O_RDWR|flag, 0o644)
	if err != nil {
		return err
	}
	f.file = file
	f.pool.opened(1)
	return nil
}

// settle lets the file rest if nobody needs it, and returns the one that must close for it.
// Requires: f.mu held.
func (f *File) settle() (victim *File) {
	switch {
	case f.holds > 0 || f.pinned || f.file == nil:
		return nil
	case f.retired:
		f.shut()
		return nil
	}
	return f.pool.rest(f)
}

// evict closes a file that was taken out of the line, unless it has been needed since. Requires: no lock
// of a File held.
func (f *File) evict() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds == 0 && !f.pinned && f.file != nil && !f.pool.resting(f) {
		f.shut()
	}
}

// shut closes the file. What mattered was synced before; an error of close says nothing more.
// Requires: f.mu held, f open and not listed.
func (f *File) shut() {
	_ = f.file.Close()
	f.file = nil
	f.pool.opened(-1)
	if f.closed != nil {
		f.closed()
	}
}

// Rename gives the file another name; those who hold it keep it. A file that doesn't exist is none to rename.
func (f *File) Rename(path string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.pool.fs.Rename(f.path, path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("rename: %w", err)
	}
	f.path = path
	return nil
}

// SetPath tells that the file has another name already, because its directory was renamed.
func (f *File) SetPath(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.path = path
}

// Path is the file's name.
func (f *File) Path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.path
}
