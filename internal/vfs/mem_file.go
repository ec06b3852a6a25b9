package vfs

import (
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"
)

// memFile is an open file of a Mem. It outlives the removal of its name, as on unix.
type memFile struct {
	fs     *Mem
	node   *memNode
	name   string
	closed atomic.Bool
}

// dirty widens the range that a crash may lose. Requires: Mem.mu held.
func (n *memNode) dirty(from, to int) {
	if n.dirtyFrom == n.dirtyTo {
		n.dirtyFrom, n.dirtyTo = from, to
		return
	}
	n.dirtyFrom, n.dirtyTo = min(n.dirtyFrom, from), max(n.dirtyTo, to)
}

// resize sets a file's length; new bytes are zero. Requires: m.mu held.
func (m *Mem) resize(n *memNode, size int) {
	m.used += int64(size - len(n.data))
	n.dirty(min(size, len(n.data)), max(size, len(n.data)))
	if size <= len(n.data) {
		n.data = n.data[:size]
		return
	}
	if size <= cap(n.data) {
		old := len(n.data)
		n.data = n.data[:size]
		clear(n.data[old:])
		return
	}
	grown := make([]byte, size, max(size, 2*cap(n.data)))
	copy(grown, n.data)
	n.data = grown
}

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("read", off); err != nil {
		return 0, err
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// ReadCached implements File.
func (f *memFile) ReadCached(p []byte, off int64) error {
	if n, _ := f.ReadAt(p, off); n < len(p) {
		return ErrNotCached
	}
	return nil
}

// WriteAt implements File.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("write", off); err != nil {
		return 0, err
	}
	n, full := f.room(int(off) + len(p))
	n = max(0, min(len(p), n-int(off)))
	if end := int(off) + n; end > len(f.node.data) {
		f.fs.resize(f.node, end)
	}
	copy(f.node.data[off:], p[:n])
	f.node.dirty(int(off), int(off)+n)
	if full {
		return n, pathError("write", f.name, syscall.ENOSPC)
	}
	return n, nil
}

// room is how far the file may reach towards end, and whether that is less than asked for.
// Requires: Mem.mu held.
func (f *memFile) room(end int) (int, bool) {
	grow := int64(end - len(f.node.data))
	if f.fs.capacity == 0 || grow <= 0 || f.fs.used+grow <= f.fs.capacity {
		return end, false
	}
	return len(f.node.data) + int(max(0, f.fs.capacity-f.fs.used)), true
}

// usable refuses closed files and negative positions. Requires: Mem.mu held.
func (f *memFile) usable(op string, off int64) error {
	if f.closed.Load() {
		return pathError(op, f.name, fs.ErrClosed)
	}
	if off < 0 || f.node.children != nil {
		return pathError(op, f.name, fs.ErrInvalid)
	}
	return nil
}

// Close implements File.
func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return pathError("close", f.name, fs.ErrClosed)
	}
	return nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("sync", 0); err != nil {
		return err
	}
	n := f.node
	if len(n.synced) > len(n.data) {
		n.synced = n.synced[:len(n.data)]
	}
	for len(n.synced) < len(n.data) {
		n.synced = append(n.synced, 0)
	}
	if to := min(n.dirtyTo, len(n.data)); n.dirtyFrom < to {
		copy(n.synced[n.dirtyFrom:to], n.data[n.dirtyFrom:to])
	}
	n.dirtyFrom, n.dirtyTo = 0, 0
	return nil
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("truncate", size); err != nil {
		return err
	}
	if n, full := f.room(int(size)); full {
		f.fs.resize(f.node, n)
		return pathError("truncate", f.name, syscall.ENOSPC)
	}
	f.fs.resize(f.node, int(size))
	f.node.reservedTo = 0
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("stat", 0); err != nil {
		return 0, err
	}
	return int64(len(f.node.data)), nil
}

// Preallocate implements File.
func (f *memFile) Preallocate(offset, length int64) error {
	size, err := f.Size()
	if err != nil || size >= offset+length {
		return err
	}
	return f.Truncate(offset + length)
}

// Reserve implements File.
func (f *memFile) Reserve(offset, length int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("fallocate", offset); err != nil {
		return err
	}
	f.node.reservedTo = max(f.node.reservedTo, int(offset+length))
	return nil
}

// Unreserve implements File.
func (f *memFile) Unreserve() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.usable("truncate", 0); err != nil {
		return err
	}
	f.node.reservedTo = 0
	return nil
}

// Fd implements File.
func (f *memFile) Fd() (uintptr, bool) { return 0, false }
