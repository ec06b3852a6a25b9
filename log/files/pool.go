// Package files keeps the files of segments open while somebody needs them, and a bounded number of them
// for as long as nobody else needs the room: a log may have more segments than a process may have open files.
//
// A File is a name that is opened when it is first held. While it is held or pinned it stays open, whatever
// happens to its name; then it is idle, and the Pool closes the files that have been idle longest once there
// are too many. Pinned are the files with writes that weren't synced: an error that the kernel meets while it
// writes them back is told to those who have the file open, so such a file must not close before its sync.
//
// Everything may be called from several goroutines. Locks are taken in the order File, Pool; none is held
// over a read or a write, and that of a File only over the opening of this very file.
package files

import (
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/vfs"
)

// Pool bounds the idle files of many Files.
type Pool struct {
	fs vfs.FS
	// maxIdle is how many idle files stay open.
	maxIdle int

	mu sync.Mutex // guards what follows, and the list that runs through the Files
	// oldest and newest are the ends of the list of idle files.
	oldest, newest *File
	idle           int
	// open counts all open files.
	open int

	pinned atomic.Int64
}

// NewPool makes a pool over fs in which up to maxIdle idle files stay open.
func NewPool(fs vfs.FS, maxIdle int) *Pool { return &Pool{fs: fs, maxIdle: maxIdle} }

// FS is the file system below. Calls that fail since the process has too many open files are made again after
// the idle ones were closed. Requires: no lock of a File is held over its calls.
func (p *Pool) FS() vfs.FS { return retrying{p.fs, p} }

// Pinned is how many files are pinned; it takes no lock.
func (p *Pool) Pinned() int { return int(p.pinned.Load()) }

// Stats is how many files are open at the moment, and why.
type Stats struct {
	// Open = Idle + those that are held or pinned or both.
	Open, Idle, Pinned int
}

// Stats counts the open files.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.open, Idle: p.idle, Pinned: p.Pinned()}
}

// rest puts an idle file at the end of the line and returns one that must close for it, if any; it may be
// f itself. The caller closes it once it has no lock of a File.
// Requires: f.mu held, f open and not listed.
func (p *Pool) rest(f *File) *File {
	p.mu.Lock()
	defer p.mu.Unlock()
	f.listed = true
	f.older, f.newer = p.newest, nil
	if p.newest != nil {
		p.newest.newer = f
	} else {
		p.oldest = f
	}
	p.newest = f
	p.idle++
	if p.idle <= p.maxIdle {
		return nil
	}
	victim := p.oldest
	p.unlink(victim)
	return victim
}

// use takes a file out of the line, if it stands in it.
func (p *Pool) use(f *File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.listed {
		p.unlink(f)
	}
}

// resting says whether f stands in the line.
func (p *Pool) resting(f *File) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f.listed
}

// unlink takes f out of the list. Requires: p.mu held, f listed.
func (p *Pool) unlink(f *File) {
	if f.older != nil {
		f.older.newer = f.newer
	} else {
		p.oldest = f.newer
	}
	if f.newer != nil {
		f.newer.older = f.older
	} else {
		p.newest = f.older
	}
	f.older, f.newer, f.listed = nil, nil, false
	p.idle--
}

// opened notes that n files more are open.
func (p *Pool) opened(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += n
}

// Shrink closes the files that are idle now. Requires: no lock of a File held.
func (p *Pool) Shrink() {
	p.mu.Lock()
	var victims []*File
	for p.oldest != nil {
		victims = append(victims, p.oldest)
		p.unlink(p.oldest)
	}
	p.mu.Unlock()
	for _, f := range victims {
		f.evict()
	}
}
