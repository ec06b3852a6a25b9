package vfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory, for tests. It remembers what would survive a power loss; see
// AfterCrash. It has no descriptors, and time stands still in it.
type Mem struct {
	mu   sync.Mutex
	root *memNode
	// locks has the names that are locked.
	locks map[string]bool
	// capacity bounds the bytes of all files, for tests of a full disk; 0 is no bound.
	capacity, used int64
}

// memNode is a file or a directory. Guarded by Mem.mu.
type memNode struct {
	// children are the names as a running program sees them; nil for a file.
	children map[string]*memNode
	// durable are the names as of the last SyncDir, and ops what happened to them since.
	durable map[string]*memNode
	ops     []nameOp

	// data is the file as a running program sees it, synced as of the last Sync.
	data, synced []byte
	// dirtyFrom and dirtyTo bound the bytes in which data and synced may differ, apart from length.
	dirtyFrom, dirtyTo int
	// reservedTo is how far blocks are reserved; they lie behind the file's end and take no room here.
	reservedTo int
}

// nameOp is a change of a directory that a crash may undo: remove goes, add comes. Either may be
// empty, so that a rename inside a directory is one op, as it is in a journalling file system.
type nameOp struct {
	remove, add string
	node        *memNode
}

func newMemDir() *memNode {
	return &memNode{children: map[string]*memNode{}, durable: map[string]*memNode{}}
}

// NewMem returns an empty file system.
func NewMem() *Mem { return &Mem{root: newMemDir(), locks: map[string]bool{}} }

// SetCapacity bounds the bytes of all files; writes beyond it take what fits and fail with ENOSPC, as do
// new names once it is reached. Zero is no bound.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Reserved is how many bytes are reserved behind the ends of files.
func (m *Mem) Reserved() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.root.sum(func(n *memNode) int { return max(0, n.reservedTo-len(n.data)) })
}

// split returns the cleaned path's elements.
func split(name string) []string {
	clean := strings.Trim(path.Clean("/"+name), "/")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "/")
}

// find returns the node of a name, or nil. Requires: m.mu held.
func (m *Mem) find(name string) *memNode {
	n := m.root
	for _, e := range split(name) {
		if n == nil || n.children == nil {
			return nil
		}
		n = n.children[e]
	}
	return n
}

// parent returns the directory that holds name, and name's last element. Requires: m.mu held.
func (m *Mem) parent(op, name string) (*memNode, string, error) {
	elems := split(name)
	if len(elems) == 0 {
		return nil, "", pathError(op, name, fs.ErrInvalid)
	}
	dir := m.find(path.Dir("/" + strings.Join(elems, "/")))
	if dir == nil || dir.children == nil {
		return nil, "", pathError(op, name, fs.ErrNotExist)
	}
	return dir, elems[len(elems)-1], nil
}

func pathError(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

// apply changes a directory and notes how to undo it. Requires: Mem.mu held.
func (n *memNode) apply(op nameOp) {
	if op.remove != "" {
		delete(n.children, op.remove)
	}
	if op.add != "" {
		n.children[op.add] = op.node
	}
	n.ops = append(n.ops, op)
}

// OpenFile implements FS.
func (m *Mem) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent("open", name)
	if err != nil {
		return nil, err
	}
	n := dir.children[base]
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, fs.ErrNotExist)
	case n == nil && m.full():
		return nil, pathError("open", name, syscall.ENOSPC)
	case n == nil:
		n = &memNode{}
		dir.apply(nameOp{add: base, node: n})
	case flag&os.O_EXCL != 0:
		return nil, pathError("open", name, fs.ErrExist)
	case n.children != nil && flag&(os.O_WRONLY|os.O_RDWR) != 0:
		return nil, pathError("open", name, syscall.EISDIR)
	}
	if flag&os.O_TRUNC != 0 {
		m.resize(n, 0)
	}
	return &memFile{fs: m, node: n, name: name}, nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir := m.find(name)
	if dir == nil {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	}
	if dir.children == nil {
		return nil, pathError("readdir", name, syscall.ENOTDIR)
	}
	var out []fs.DirEntry
	for base, n := range dir.children {
		out = append(out, fs.FileInfoToDirEntry(n.info(base)))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(name)
	if n == nil {
		return nil, pathError("stat", name, fs.ErrNotExist)
	}
	return n.info(path.Base(name)), nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string, _ fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, e := range split(name) {
		next := n.children[e]
		if next == nil && m.full() {
			return pathError("mkdir", name, syscall.ENOSPC)
		}
		if next == nil {
			next = newMemDir()
			n.apply(nameOp{add: e, node: next})
		}
		if next.children == nil {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
		n = next
	}
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, oldBase, err := m.parent("rename", oldName)
	if err != nil {
		return err
	}
	to, newBase, err := m.parent("rename", newName)
	if err != nil {
		return err
	}
	n := from.children[oldBase]
	if n == nil {
		return pathError("rename", oldName, fs.ErrNotExist)
	}
	if target := to.children[newBase]; target != nil && target.children != nil && len(target.children) > 0 {
		return pathError("rename", newName, syscall.ENOTEMPTY)
	}
	if target := to.children[newBase]; target != nil && target != n {
		m.used -= target.treeBytes()
	}
	if from == to {
		from.apply(nameOp{remove: oldBase, add: newBase, node: n})
		return nil
	}
	to.apply(nameOp{add: newBase, node: n})
	from.apply(nameOp{remove: oldBase})
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent("remove", name)
	if err != nil {
		return err
	}
	n := dir.children[base]
	if n == nil {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if len(n.children) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.used -= int64(len(n.data))
	dir.apply(nameOp{remove: base})
	return nil
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parent("removeall", name)
	if err != nil || dir.children[base] == nil {
		return nil
	}
	m.used -= dir.children[base].treeBytes()
	dir.apply(nameOp{remove: base})
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(name)
	if n == nil || n.children == nil {
		return pathError("syncdir", name, fs.ErrNotExist)
	}
	n.syncNames()
	return nil
}

// syncNames makes the names in a directory durable. Requires: Mem.mu held.
func (n *memNode) syncNames() {
	n.ops = nil
	n.durable = make(map[string]*memNode, len(n.children))
	for base, c := range n.children {
		n.durable[base] = c
	}
}

// OpenDir implements FS.
func (m *Mem) OpenDir(name string) (Dir, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.find(name)
	if n == nil || n.children == nil {
		return nil, pathError("open", name, fs.ErrNotExist)
	}
	return &memDir{fs: m, node: n}, nil
}

// memDir is an open directory of a Mem.
type memDir struct {
	fs     *Mem
	node   *memNode
	closed bool
}

// Sync implements Dir.
func (d *memDir) Sync() error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	if d.closed {
		return syncError(fs.ErrClosed)
	}
	d.node.syncNames()
	return nil
}

// Close implements Dir.
func (d *memDir) Close() error {
	d.fs.mu.Lock()
	defer d.fs.mu.Unlock()
	if d.closed {
		return fs.ErrClosed
	}
	d.closed = true
	return nil
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.locks[name] {
		return nil, pathError("lock", name, syscall.EWOULDBLOCK)
	}
	m.locks[name] = true
	return &memLock{fs: m, name: name}, nil
}

// Usage implements FS.
func (m *Mem) Usage(string) (Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	const plenty = 1 << 40
	if m.capacity == 0 {
		return Usage{TotalBytes: plenty, FreeBytes: plenty - m.used}, nil
	}
	return Usage{TotalBytes: m.capacity, FreeBytes: max(0, m.capacity-m.used)}, nil
}

// full says that nothing more fits. Requires: Mem.mu held.
func (m *Mem) full() bool { return m.capacity > 0 && m.used >= m.capacity }

// treeBytes is the length of all files in and below n. Requires: Mem.mu held.
func (n *memNode) treeBytes() int64 {
	return n.sum(func(n *memNode) int { return len(n.data) })
}

// sum adds up something of n and all below it. Requires: Mem.mu held.
func (n *memNode) sum(of func(*memNode) int) int64 {
	sum := int64(of(n))
	for _, c := range n.children {
		sum += c.sum(of)
	}
	return sum
}

type memLock struct {
	fs   *Mem
	name string
}

// Close gives the lock up.
func (l *memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if !l.fs.locks[l.name] {
		return fmt.Errorf("lock %s: %w", l.name, fs.ErrClosed)
	}
	delete(l.fs.locks, l.name)
	return nil
}

// memInfo describes a node.
type memInfo struct {
	name string
	size int64
	dir  bool
}

func (n *memNode) info(name string) fs.FileInfo {
	return memInfo{name: name, size: int64(len(n.data)), dir: n.children != nil}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) IsDir() bool        { return i.dir }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) Sys() any           { return nil }

func (i memInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
