package vfs

import (
	"io/fs"
	"sync"
)

// Count is a file system that counts the open files, directories among them, and the calls of tests' interest.
type Count struct {
	FS

	mu                        sync.Mutex // guards what follows
	open, most, opened, reads int
}

// NewCount returns inner with counters.
func NewCount(inner FS) *Count { return &Count{FS: inner} }

// Open is how many files are open, and most how many were at the same time.
func (c *Count) Open() (now, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open, c.most
}

// Calls is how often files were opened and read since the last call.
func (c *Count) Calls() (opened, reads int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	opened, reads = c.opened, c.reads
	c.opened, c.reads = 0, 0
	return opened, reads
}

// OpenFile implements FS.
func (c *Count) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	c.count()
	return &countFile{File: f, fs: c}, nil
}

// OpenDir implements FS.
func (c *Count) OpenDir(name string) (Dir, error) {
	d, err := c.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	c.count()
	return &countDir{Dir: d, fs: c}, nil
}

func (c *Count) count() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	c.open++
	c.most = max(c.most, c.open)
}

func (c *Count) discount() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

// countDir is a directory of a Count.
type countDir struct {
	Dir
	fs *Count
}

// Close implements Dir.
func (d *countDir) Close() error {
	d.fs.discount()
	return d.Dir.Close()
}

// countFile is a file of a Count.
type countFile struct {
	File
	fs *Count
}

// ReadAt implements File.
func (f *countFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	f.fs.reads++
	f.fs.mu.Unlock()
	return f.File.ReadAt(p, off)
}

// Close implements File.
func (f *countFile) Close() error {
	f.fs.discount()
	return f.File.Close()
}

// ReadCached implements File.
func (f *countFile) ReadCached(p []byte, off int64) error {
	f.fs.mu.Lock()
	f.fs.reads++
	f.fs.mu.Unlock()
	return f.File.ReadCached(p, off)
}
