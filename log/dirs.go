package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/clean"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// openDirs opens the log dirs. Trouble with one of them takes it offline, if another is left; want of descriptors is none
// of a directory's, and ends the start.
func (m *Manager) openDirs() error {
	if len(m.cfg.Dirs) == 0 {
		return errors.New("log.dirs is empty")
	}
	seen := map[string]bool{}
	var errs []error
	for _, p := range m.cfg.Dirs {
		p = path.Clean(p)
		if seen[p] {
			return fmt.Errorf("log.dirs has %s twice", p)
		}
		seen[p] = true
		d := &dir{path: p, fs: m.fs, logger: m.logger, failed: m.dirFailed, descriptors: &m.descriptors, brokerEpoch: noBrokerEpoch}
		d.room.minFree = &m.minFree
		m.dirs = append(m.dirs, d)
		err := d.open(&m.cfg)
		var fatal *misconfigured
		if errors.As(err, &fatal) || vfs.NoDescriptors(err) {
			return err
		}
		if err != nil {
			errs = append(errs, err)
			d.fail(err)
			continue
		}
		d.look()
	}
	if len(errs) == len(m.dirs) {
		return errors.Join(errs...)
	}
	return m.agreeOnCluster()
}

// agreeOnCluster compares the directories with each other, and writes what is missing.
func (m *Manager) agreeOnCluster() error {
	var first *dir
	for _, d := range m.liveDirs() {
		switch {
		case d.meta.clusterID == "":
		case first == nil:
			first = d
		case d.meta.clusterID != first.meta.clusterID:
			return fmt.Errorf("the cluster.id %s in %s is not the cluster.id %s in %s: they belong to different clusters",
				d.meta.clusterID, d.file(metaPropertiesFile), first.meta.clusterID, first.file(metaPropertiesFile))
		}
		for _, other := range m.liveDirs() {
			if other != d && other.id == d.id {
				return fmt.Errorf("%s and %s have the same directory.id %s", other.path, d.path, uuid.Format(d.id))
			}
		}
	}
	if first == nil {
		return nil
	}
	return m.SetClusterID(first.meta.clusterID)
}

// ClusterID is that of the meta.properties files, "" if none has been written yet.
func (m *Manager) ClusterID() string {
	m.metaMu.Lock()
	defer m.metaMu.Unlock()
	for _, d := range m.dirs {
		if d.metaWritten {
			return d.meta.clusterID
		}
	}
	return ""
}

// SetClusterID writes the meta.properties files that are missing or incomplete. It fails if one of
// them has another id, and for want of descriptors.
func (m *Manager) SetClusterID(id string) error {
	m.metaMu.Lock()
	defer m.metaMu.Unlock()
	live := m.liveDirs()
	for _, d := range live {
		if err := d.meta.check(d.path, m.cfg.NodeID, id); err != nil {
			return err
		}
	}
	for _, d := range live {
		d.meta.clusterID = id
		if err := d.writeMeta(m.clk.Now()); vfs.NoDescriptors(err) {
			return err
		} else if err != nil {
			d.fail(err)
		}
	}
	if len(m.liveDirs()) == 0 {
		return noLiveDir()
	}
	return nil
}

// CleanShutdownEpoch is the broker epoch that the markers of a clean stop told at start, -1 if the
// last stop wasn't clean in every directory or they don't agree.
func (m *Manager) CleanShutdownEpoch() int64 {
	epoch := m.dirs[0].brokerEpoch
	for _, d := range m.dirs {
		if !d.clean || d.brokerEpoch != epoch {
			return noBrokerEpoch
		}
	}
	return epoch
}

// checkpointRecoveryPoints implements host.
func (m *Manager) checkpointRecoveryPoints(d *dir) error {
	return d.writeCheckpoint(recoveryPointFile, func() map[topicPartition]int64 {
		return m.offsets(d, func(l *Log) (int64, bool) { return l.recoveryPoint.Load(), true })
	})
}

// checkpointLogStarts implements host. As in Kafka only logs have an entry whose start isn't that of
// their first segment.
func (m *Manager) checkpointLogStarts(d *dir) error {
	return d.writeCheckpoint(logStartFile, func() map[topicPartition]int64 {
		return m.offsets(d, func(l *Log) (int64, bool) {
			start := l.logStartOffset.Load()
			return start, start > (*l.segments.Load())[0].baseOffset
		})
	})
}

// checkpointCleaned implements host. Logs that were never cleaned have no entry.
func (m *Manager) checkpointCleaned(d *dir) error {
	return d.writeCheckpoint(cleanerFile, func() map[topicPartition]int64 {
		return m.offsets(d, func(l *Log) (int64, bool) {
			offset := l.cleaned.Load()
			return offset, offset != clean.NoCheckpoint
		})
	})
}

// checkpointHighWatermarks writes the high watermarks.
func (m *Manager) checkpointHighWatermarks(d *dir) error {
	return d.writeCheckpoint(highWatermarkFile, func() map[topicPartition]int64 {
		return m.offsets(d, func(l *Log) (int64, bool) { return l.highWatermark.Load(), true })
	})
}

// offsets collects one offset of each log in a directory.
func (m *Manager) offsets(d *dir, of func(*Log) (int64, bool)) map[topicPartition]int64 {
	m.logsMu.RLock()
	defer m.logsMu.RUnlock()
	out := make(map[topicPartition]int64, len(m.logs))
	// No directory has a log and its future. What both have in common in a file is the partition's name only.
	for _, logs := range []map[topicPartition]*Log{m.futures, m.logs} {
		for tp, l := range logs {
			if l.dir != d {
				continue
			}
			if offset, ok := of(l); ok {
				out[tp] = offset
			}
		}
	}
	return out
}

// closeDirs gives the locks up.
func (m *Manager) closeDirs() {
	for _, d := range m.dirs {
		if err := d.close(); err != nil {
			m.logger.Warn("can't unlock log directory", "dir", d.path, "error", err)
		}
	}
}
