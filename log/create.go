package commitlog

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/clean"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Placement says where a log is made that isn't there yet.
type Placement struct {
	// Directory is the id of the log dir that the cluster's metadata has for the partition, zero if none.
	Directory [16]byte
	// Existing says that the partition isn't new: its log may lie in a directory that is offline.
	Existing bool
}

// Create is CreateAt for a new partition, anywhere.
func (m *Manager) Create(topic string, partition int32, topicID [16]byte, cfg Config) (*Log, error) {
	return m.CreateAt(topic, partition, topicID, cfg, Placement{})
}

// CreateAt makes a partition's log, or returns the one there is with its configuration replaced. It lies where
// MoveTo asked for, else where the metadata says, else in the directory that has the fewest. A log of another
// topic id is INCONSISTENT_TOPIC_ID: the caller deletes it or sets it aside first. While the log may be in a
// directory that is offline, nothing is made and the error is KAFKA_STORAGE_ERROR. (Kafka:
// LogManager.getOrCreateLog, Partition.createLogInAssignedDirectoryId.)
func (m *Manager) CreateAt(topic string, partition int32, topicID [16]byte, cfg Config, at Placement) (*Log, error) {
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
	d, err := m.place(tp, at)
	if err != nil {
		return nil, fmt.Errorf("can't create a log of %s: %w", tp, err)
	}
	full := d.file(tp.String())
	l := m.newLog(d, tp, topicID, full, cfg)
	none := checkpointed{recoveryPoint: -1, logStart: -1, highWatermark: -1, cleaned: clean.NoCheckpoint}
	_, serr := m.fs.Stat(full)
	err = m.payCheckpoints(d)
	if err == nil {
		err = m.createFiles(l, none)
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
	delete(m.preferred, tp)
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

// place chooses the directory of a new log.
func (m *Manager) place(tp topicPartition, at Placement) (*dir, error) {
	if at.Existing {
		if err := m.allOnline(); err != nil {
			return nil, err
		}
	}
	m.logsMu.RLock()
	preferred := m.preferred[tp]
	m.logsMu.RUnlock()
	live := m.liveDirs()
	if slices.Contains(live, preferred) {
		return preferred, nil
	}
	if at.Directory != [16]byte{} {
		for _, d := range live {
			if d.id == at.Directory {
				return d, nil
			}
		}
		if err := m.allOnline(); err != nil {
			return nil, err // One of those that are offline may be meant.
		}
	}
	if d := m.emptiest(live); d != nil {
		return d, nil
	}
	return nil, noLiveDir()
}

// emptiest is the directory with the fewest logs, the first of several; nil if there is none. (Kafka:
// LogManager.nextLogDirs.)
func (m *Manager) emptiest(dirs []*dir) *dir {
	counts := map[*dir]int{}
	m.logsMu.RLock()
	for _, logs := range []map[topicPartition]*Log{m.logs, m.futures} {
		for _, l := range logs {
			counts[l.dir]++
		}
	}
	m.logsMu.RUnlock()
	var best *dir
	for _, d := range dirs {
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

func (m *Manager) writePartitionMetadata(dir string, topicID [16]byte) error {
	return writeFileAtomic(m.fs, path.Join(dir, partitionMetadataFile), formatPartitionMetadata(topicID))
}
