package commitlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/vfs"
)

// lockFile keeps other brokers out of a log dir.
const lockFile = ".lock"

// dir is one of the log.dirs.
type dir struct {
	path   string
	fs     vfs.FS
	logger *slog.Logger
	// id is directory.id, written before the dir is shared.
	id [16]byte
	// lock is the held lock file, nil after close.
	lock io.Closer
	// meta says what meta.properties has, or will have once the cluster id is known.
	meta metaProperties
	// metaWritten says that the file is there and complete.
	metaWritten bool
	// clean says that the marker of a clean stop was there, with brokerEpoch.
	clean       bool
	brokerEpoch int64

	// room is what is known of free space.
	room room
	// descriptors is shared by all directories.
	descriptors *descriptors

	// failure is why the directory is offline, nil while it isn't. It never comes back.
	failure atomic.Pointer[error]
	// failed is called once, when the directory goes offline; it must not block.
	failed func(*dir, error)

	// checkpointsOwed says that a checkpoint still names logs that were deleted.
	// Written with Manager.changing held.
	checkpointsOwed atomic.Bool
	// renamesOwed says that directories of deleted logs were renamed, and not durably yet.
	renamesOwed atomic.Bool
	// checkpointing serialises writes of the directory's checkpoint files.
	checkpointing sync.Mutex
	// kept are the offsets of logs that were set aside, by checkpoint file; guarded by checkpointing.
	kept map[string]map[topicPartition]int64
	// aside are those logs; guarded by Manager.logsMu.
	aside []topicPartition
	// written are the checkpoint files as they were last written in this life; guarded by checkpointing.
	written map[string]map[topicPartition]int64
}

// fail takes the directory offline. Only the first reason counts.
func (d *dir) fail(err error) {
	if !d.failure.CompareAndSwap(nil, &err) {
		return
	}
	d.logger.Error("log directory is offline", "dir", d.path, "error", err)
	d.failed(d, err)
}

// offline is why the directory is offline, nil if it isn't.
func (d *dir) offline() error {
	if p := d.failure.Load(); p != nil {
		return fmt.Errorf("log directory %s is offline: %w", d.path, *p)
	}
	return nil
}

// file is the path of a file in the directory.
func (d *dir) file(name string) string { return path.Join(d.path, name) }

// open locks the directory, reads its properties, which must be ours, and takes the marker of a
// clean stop. A directory that is new gets an id.
func (d *dir) open(cfg *ManagerConfig) error {
	if err := makeDirs(d.fs, d.path); err != nil {
		return err
	}
	lock, err := d.fs.Lock(d.file(lockFile))
	if err != nil {
		return fmt.Errorf("can't lock %s; another broker may be using the directory: %w", d.file(lockFile), err)
	}
	d.lock = lock
	if err := d.readMeta(cfg); err != nil {
		return errors.Join(err, d.close())
	}
	d.clean, d.brokerEpoch, err = takeCleanShutdown(d.fs, d.path)
	if err == nil && !d.clean {
		// The process may have died where the machine didn't: names may still be at risk.
		err = errors.Join(d.fs.SyncDir(path.Dir(d.path)), d.fs.SyncDir(d.path))
	}
	if err != nil {
		return errors.Join(err, d.close())
	}
	return nil
}

// makeDirs makes a directory and the ones above it, durably.
func makeDirs(fs vfs.FS, name string) error {
	var missing []string
	for p := name; p != "/" && p != "."; p = path.Dir(p) {
		if _, err := fs.Stat(p); err == nil {
			break
		} else if !isNotExist(err) {
			return err
		}
		missing = append(missing, p)
	}
	if err := fs.MkdirAll(name, 0o755); err != nil {
		return err
	}
	for _, p := range missing {
		if err := fs.SyncDir(path.Dir(p)); err != nil {
			return err
		}
	}
	return nil
}

// readMeta reads meta.properties, or decides what it will say.
func (d *dir) readMeta(cfg *ManagerConfig) error {
	b, err := readFile(d.fs, d.file(metaPropertiesFile))
	switch {
	case isNotExist(err):
		d.meta = metaProperties{nodeID: -1}
	case err != nil:
		return err
	default:
		if d.meta, err = parseMetaProperties(b); err != nil {
			return &misconfigured{fmt.Errorf("%s: %w", d.file(metaPropertiesFile), err)}
		}
		if err := d.meta.check(d.path, cfg.NodeID, cfg.ClusterID); err != nil {
			return &misconfigured{err}
		}
	}
	d.metaWritten = d.meta.nodeID >= 0 && d.meta.clusterID != "" && d.meta.directoryID != [16]byte{}
	d.meta.nodeID = cfg.NodeID
	if d.meta.clusterID == "" {
		d.meta.clusterID = cfg.ClusterID
	}
	for d.meta.directoryID == [16]byte{} {
		d.meta.directoryID = cfg.NewUUID()
	}
	d.id = d.meta.directoryID
	return nil
}

// writeMeta writes meta.properties if it isn't complete and the cluster id is known.
func (d *dir) writeMeta(now time.Time) error {
	if d.metaWritten || d.meta.clusterID == "" {
		return nil
	}
	if err := writeFileAtomic(d.fs, d.file(metaPropertiesFile), formatMetaProperties(d.meta, now)); err != nil {
		return err
	}
	d.metaWritten = true
	return nil
}

// writeCheckpoint replaces one of the offset checkpoints. offsets is asked under the lock that
// orders writes, so that an older state never replaces a newer one.
func (d *dir) writeCheckpoint(name string, offsets func() map[topicPartition]int64) error {
	d.checkpointing.Lock()
	defer d.checkpointing.Unlock()
	if err := d.offline(); err != nil {
		return err
	}
	now := d.withKept(name, offsets())
	if last, ok := d.written[name]; ok && maps.Equal(last, now) {
		return nil // It says so already, durably.
	}
	delete(d.written, name) // What a write leaves behind that fails is unknown.
	if err := writeFileAtomic(d.fs, d.file(name), appendOffsetCheckpoint(nil, now)); err != nil {
		return err
	}
	if d.written == nil {
		d.written = make(map[string]map[topicPartition]int64)
	}
	d.written[name] = now
	return nil
}

// close gives the lock up.
func (d *dir) close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// misconfigured is an error that stops the broker, where others only take a directory offline.
type misconfigured struct{ error }

// Unwrap gives the cause.
func (m *misconfigured) Unwrap() error { return m.error }
