package commitlog

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/log/clean"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Create makes a partition's log in the directory that has the fewest, or returns the one there is
// with its configuration replaced. A log of another topic id is INCONSISTENT_TOPIC_ID: the caller
// deletes it or sets it aside first.
func (m *Manager) Create(topic string, partition int32, topicID [16]byte, cfg Config) (*Log, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	tp := topicPartition{topic, partition}
	if m.closed {
		return nil, errClosed
	}
	if l, ok := m.Get(topic, partition); ok {
		return l, m.adopt(l, topicID, cfg)
	}
	m.logsMu.RLock()
	broken := m.broken[tp]
	m.logsMu.RUnlock()
	if broken != nil {
		return nil, storageError(fmt.Errorf("%s was set aside at start: %w", tp, broken))
	}
	d := m.place()
	if d == nil {
		return nil, noLiveDir()
	}
	full := d.file(tp.String())
	l := m.newLog(d, tp, topicID, full, cfg)
	if err := m.createFiles(l); err != nil {
		if l.segments.Load() != nil {
			l.close()
		}
		err = fmt.Errorf("create %s: %w", full, err)
		d.fail(err)
		return nil, storageError(err)
	}
	m.logsMu.Lock()
	defer m.logsMu.Unlock()
	m.logs[tp] = l
	m.logger.Info("created log", "partition", tp.String(), "dir", d.path)
	return l, nil
}

// adopt gives an existing log to a topic.
func (m *Manager) adopt(l *Log, topicID [16]byte, cfg Config) error {
	if err := l.usable(); err != nil {
		return err
	}
	switch id := l.TopicID(); id {
	case topicID:
	case [16]byte{}:
		// Written by a Kafka before 2.8, or its creation was interrupted.
		if err := m.writePartitionMetadata(l.path, topicID); err != nil {
			l.dir.fail(err)
			return storageError(err)
		}
		l.topicID.Store(&topicID)
	default:
		return kerror.Wrap(kerr.InconsistentTopicID, fmt.Errorf("%s has the topic id %s, not %s",
			l.tp, uuid.Format(id), uuid.Format(topicID)))
	}
	l.UpdateConfig(cfg)
	return nil
}

// place chooses the live directory with the fewest logs, the first of several; nil if there is none.
// (Kafka: LogManager.nextLogDirs.)
func (m *Manager) place() *dir {
	counts := map[*dir]int{}
	m.logsMu.RLock()
	for _, l := range m.logs {
		counts[l.dir]++
	}
	m.logsMu.RUnlock()
	var best *dir
	for _, d := range m.liveDirs() {
		if best == nil || counts[d] < counts[best] {
			best = d
		}
	}
	return best
}

// createFiles makes directory and first segment, durably.
func (m *Manager) createFiles(l *Log) error {
	if err := m.fs.MkdirAll(l.path, 0o755); err != nil {
		return err
	}
	// As a load of an empty directory: it makes the first segment.
	none := checkpointed{recoveryPoint: -1, logStart: -1, highWatermark: -1, cleaned: clean.NoCheckpoint}
	if err := l.load(context.Background(), none, true); err != nil {
		return err
	}
	// Last, since it flushes the directory; one without it is taken for an interrupted creation.
	if err := m.writePartitionMetadata(l.path, l.TopicID()); err != nil {
		return err
	}
	l.namesUnsynced = false
	return m.fs.SyncDir(path.Dir(l.path))
}

func (m *Manager) writePartitionMetadata(dir string, topicID [16]byte) error {
	return writeFileAtomic(m.fs, path.Join(dir, partitionMetadataFile), formatPartitionMetadata(topicID))
}

// Delete takes a log out of service: its directory is renamed at once, and removed later.
func (m *Manager) Delete(topic string, partition int32) error {
	return m.retire(topicPartition{topic, partition}, deleteDirSuffix)
}

// SetAsideStray takes a log that belongs to no topic of the cluster out of service and keeps its
// files, in a directory that is renamed to …-stray.
func (m *Manager) SetAsideStray(topic string, partition int32) error {
	return m.retire(topicPartition{topic, partition}, strayDirSuffix)
}

func (m *Manager) retire(tp topicPartition, suffix string) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	l, ok := m.Get(tp.topic, tp.partition)
	if !ok {
		return kerror.Wrap(kerr.UnknownTopicOrPartition, fmt.Errorf("no log of %s", tp))
	}
	if err := l.usable(); err != nil {
		return err
	}
	to := l.dir.file(retiredName(tp, m.cfg.NewUUID(), suffix))
	if err := l.retire(to); err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	m.logsMu.Lock()
	delete(m.logs, tp)
	m.logsMu.Unlock()
	writes := []func(*dir) error{m.checkpointRecoveryPoints, m.checkpointLogStarts, m.checkpointHighWatermarks}
	if l.cleaned.Load() != clean.NoCheckpoint {
		writes = append(writes, m.checkpointCleaned)
	}
	for _, write := range writes {
		// A log of the same name that comes later must not find these offsets.
		if err := write(l.dir); err != nil {
			l.dir.fail(err)
			return storageError(err)
		}
	}
	m.logger.Info("took log out of service", "partition", tp.String(), "dir", to)
	if suffix == deleteDirSuffix {
		m.after(l.Config().FileDeleteDelay, func() { m.removeDir(l.dir, to) })
	}
	return nil
}

// retiredName is the name of a retired partition's directory: topic-partition.uuid-delete, with the
// topic cut so that the whole has at most 255 bytes. (Kafka: LocalLog.logDirNameWithSuffixCappedLength.)
func retiredName(tp topicPartition, id [16]byte, suffix string) string {
	const maxName = 255
	end := fmt.Sprintf("-%d.%x%s", tp.partition, id, suffix)
	return tp.topic[:min(len(tp.topic), maxName-len(end))] + end
}

// retire closes the log and renames its directory.
func (l *Log) retire(to string) error {
	l.flushing.Lock() // A flush must not miss its files.
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fs.Rename(l.path, to); err != nil {
		return err
	}
	if err := l.fs.SyncDir(path.Dir(to)); err != nil {
		return err
	}
	l.gone.Store(errDeleted)
	l.path = to
	for _, s := range *l.segments.Load() {
		s.removed.Store(true)
		s.setDir(to)
		s.discard()
	}
	return nil
}

// removeDirLater removes what an earlier run left of a deleted partition.
func (m *Manager) removeDirLater(d *dir, full string) {
	name := path.Base(full)
	if !strings.HasSuffix(name, deleteDirSuffix) {
		panic("commitlog: removal of " + full)
	}
	m.after(0, func() { m.removeDir(d, full) })
}

// removeDir removes a deleted partition's directory.
func (m *Manager) removeDir(d *dir, full string) {
	if d.offline() != nil {
		return
	}
	if err := m.fs.RemoveAll(full); err != nil {
		m.logger.Warn("can't remove a deleted partition", "dir", full, "error", err)
		return
	}
	m.logger.Info("removed a deleted partition", "dir", full)
}
