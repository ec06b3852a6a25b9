package testcluster

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/vfs"
)

// errDead is what a process gets that was killed and, being only a part of this one, still runs a little.
var errDead = errors.New("the process was killed")

// life is one run of a node's process. Once it is dead, nothing that it does reaches the disk or other hosts.
type life struct{ dead atomic.Bool }

// lifeFS is a disk as one life of a node sees it.
type lifeFS struct {
	vfs.FS
	life *life
}

func (f lifeFS) check(name string) error {
	if f.life.dead.Load() {
		return fmt.Errorf("%s: %w", name, errDead)
	}
	return nil
}

// OpenFile implements vfs.FS.
func (f lifeFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if err := f.check(name); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return lifeFile{file, f, name}, nil
}

// MkdirAll implements vfs.FS.
func (f lifeFS) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.check(name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, perm)
}

// Rename implements vfs.FS.
func (f lifeFS) Rename(oldName, newName string) error {
	if err := f.check(oldName); err != nil {
		return err
	}
	return f.FS.Rename(oldName, newName)
}

// Remove implements vfs.FS.
func (f lifeFS) Remove(name string) error {
	if err := f.check(name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// RemoveAll implements vfs.FS.
func (f lifeFS) RemoveAll(name string) error {
	if err := f.check(name); err != nil {
		return err
	}
	return f.FS.RemoveAll(name)
}

// SyncDir implements vfs.FS.
func (f lifeFS) SyncDir(name string) error {
	if err := f.check(name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

// OpenDir implements vfs.FS.
func (f lifeFS) OpenDir(name string) (vfs.Dir, error) {
	if err := f.check(name); err != nil {
		return nil, err
	}
	dir, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return lifeDir{dir, f, name}, nil
}

// Lock implements vfs.FS.
func (f lifeFS) Lock(name string) (io.Closer, error) {
	if err := f.check(name); err != nil {
		return nil, err
	}
	return f.FS.Lock(name)
}

// lifeDir is a directory of a lifeFS.
type lifeDir struct {
	vfs.Dir
	fs   lifeFS
	name string
}

// Sync implements vfs.Dir.
func (d lifeDir) Sync() error {
	if err := d.fs.check(d.name); err != nil {
		return err
	}
	return d.Dir.Sync()
}

// lifeFile is a file of a lifeFS.
type lifeFile struct {
	vfs.File
	fs   lifeFS
	name string
}

// WriteAt implements vfs.File.
func (f lifeFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.check(f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

// Sync implements vfs.File.
func (f lifeFile) Sync() error {
	if err := f.fs.check(f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

// Truncate implements vfs.File.
func (f lifeFile) Truncate(size int64) error {
	if err := f.fs.check(f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Preallocate implements vfs.File.
func (f lifeFile) Preallocate(offset, length int64) error {
	if err := f.fs.check(f.name); err != nil {
		return err
	}
	return f.File.Preallocate(offset, length)
}

// Reserve implements vfs.File.
func (f lifeFile) Reserve(offset, length int64) error {
	if err := f.fs.check(f.name); err != nil {
		return err
	}
	return f.File.Reserve(offset, length)
}

// Unreserve implements vfs.File.
func (f lifeFile) Unreserve() error {
	if err := f.fs.check(f.name); err != nil {
		return err
	}
	return f.File.Unreserve()
}

// raftDisk is what raft keeps. It syncs what it writes, so that all of it survives; a killed process works on
// with a copy of its own. It implements raft.LogStore and raft.StableStore.
type raftDisk struct {
	mu        sync.Mutex
	low, high uint64
	logs      map[uint64]*raft.Log
	values    map[string][]byte
	numbers   map[string]uint64
	snapshots *raft.InmemSnapshotStore
}

func newRaftDisk() *raftDisk {
	return &raftDisk{logs: map[uint64]*raft.Log{}, values: map[string][]byte{}, numbers: map[string]uint64{}, snapshots: raft.NewInmemSnapshotStore()}
}

// clone is a copy as of now. Snapshots are shared: a run is too short for any.
func (d *raftDisk) clone() *raftDisk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &raftDisk{low: d.low, high: d.high, logs: maps.Clone(d.logs), values: maps.Clone(d.values), numbers: maps.Clone(d.numbers), snapshots: d.snapshots}
}

// stores implements controller.StoreFactory.
func (d *raftDisk) stores() (controller.Stores, error) {
	return controller.Stores{Log: d, Stable: d, Snapshots: d.snapshots, Close: func() error { return nil }}, nil
}

// IsMonotonic implements raft.MonotonicLogStore, as raft-wal does.
func (d *raftDisk) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore.
func (d *raftDisk) FirstIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.low, nil
}

// LastIndex implements raft.LogStore.
func (d *raftDisk) LastIndex() (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.high, nil
}

// GetLog implements raft.LogStore.
func (d *raftDisk) GetLog(index uint64, out *raft.Log) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.logs[index]
	if !ok {
		return raft.ErrLogNotFound
	}
	*out = *l
	return nil
}

// StoreLog implements raft.LogStore.
func (d *raftDisk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (d *raftDisk) StoreLogs(logs []*raft.Log) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range logs {
		d.logs[l.Index] = l
		if d.low == 0 {
			d.low = l.Index
		}
		d.high = max(d.high, l.Index)
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (d *raftDisk) DeleteRange(lowest, highest uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := lowest; i <= highest; i++ {
		delete(d.logs, i)
	}
	if lowest <= d.low {
		d.low = highest + 1
	}
	if highest >= d.high {
		d.high = lowest - 1
	}
	if d.low > d.high {
		d.low, d.high = 0, 0
	}
	return nil
}

// errNoKey is what raft takes for a key that was never set.
var errNoKey = errors.New("not found")

// Set implements raft.StableStore.
func (d *raftDisk) Set(key, value []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[string(key)] = value
	return nil
}

// Get implements raft.StableStore.
func (d *raftDisk) Get(key []byte) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.values[string(key)]
	if !ok {
		return nil, errNoKey
	}
	return v, nil
}

// SetUint64 implements raft.StableStore.
func (d *raftDisk) SetUint64(key []byte, value uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.numbers[string(key)] = value
	return nil
}

// GetUint64 implements raft.StableStore.
func (d *raftDisk) GetUint64(key []byte) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.numbers[string(key)], nil
}
