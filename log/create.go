package commitlog

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/internal/vfs"
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
	_, serr := m.fs.Stat(full)
	err := m.payCheckpoints(d)
	if err == nil {
		err = m.createFiles(l)
	}
	if err != nil {
		if l.segments.Load() != nil {
			l.close()
		}
		err = fmt.Errorf("create %s: %w", full, err)
		if vfs.NoRoom(err) && isNotExist(serr) {
			err = errors.Join(err, m.uncreate(full))
		}
		return nil, d.trouble(err)
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
			return l.dir.trouble(err)
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

// uncreate removes what was made of a log that there is no room for.
func (m *Manager) uncreate(full string) error {
	if err := m.fs.RemoveAll(full); err != nil {
		return err
	}
	return m.fs.SyncDir(path.Dir(full))
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
