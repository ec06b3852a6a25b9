package controller

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
)

// Stores is what raft keeps over restarts.
type Stores struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	// Close releases the stores after raft was shut down.
	Close func() error
}

// StoreFactory opens the stores; called once by each Start.
type StoreFactory func() (Stores, error)

// Dir is where DiskStores keeps its files, relative to the metadata log directory. Kafka takes every
// directory in a log directory for a partition, and refuses or even moves away what isn't one,
// except __cluster_metadata-0, in which it ignores sub-directories.
const Dir = "__cluster_metadata-0/ottla-raft"

const (
	// walSegmentSize is how much space the metadata log allocates at a time, in bytes.
	walSegmentSize = 4 << 20
	// snapshotsKept is how many snapshots stay on disk.
	snapshotsKept = 2
)

// DiskStores keeps the log in hashicorp/raft-wal and snapshots beside it, in Dir below logDir. Both
// use the machine's file system themselves.
func DiskStores(logDir string, logger *slog.Logger) StoreFactory {
	return func() (Stores, error) {
		dir := filepath.Join(logDir, filepath.FromSlash(Dir))
		walDir := filepath.Join(dir, "wal")
		if err := os.MkdirAll(walDir, 0o755); err != nil {
			return Stores{}, err
		}
		raftLogger := newRaftLogger(logger)
		meta := &metadb.BoltMetaDB{}
		log, err := wal.Open(walDir, wal.WithSegmentSize(walSegmentSize), wal.WithLogger(raftLogger), wal.WithMetaStore(meta))
		if err != nil {
			return Stores{}, errors.Join(err, meta.Close())
		}
		// The log's Close leaves its metadata file open, and locked against the next start.
		closeAll := func() error { return errors.Join(log.Close(), meta.Close()) }
		snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, raftLogger)
		if err != nil {
			return Stores{}, errors.Join(err, closeAll())
		}
		return Stores{Log: log, Stable: log, Snapshots: snapshots, Close: closeAll}, nil
	}
}

// MemoryStores keeps everything in memory; opening it again finds what was there, as after a
// restart. For tests.
func MemoryStores() StoreFactory {
	store, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	return func() (Stores, error) {
		return Stores{Log: store, Stable: store, Snapshots: snapshots, Close: func() error { return nil }}, nil
	}
}
