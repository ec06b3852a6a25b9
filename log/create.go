package commitlog

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

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

// NewLog names a log to make.
type NewLog struct {
	Topic     string
	Partition int32
	TopicID   [16]byte
	Config    Config
	At        Placement
}

// Created is what became of a NewLog: a log or an error.
type Created struct {
	Log *Log
	Err error
}

// diskWaiters is how many logs of a directory are made, or closed, at a time. That is waiting for the disk more
// than it is computing, and file systems join syncs that wait together.
const diskWaiters = 32

// Create is CreateAt for a new partition, anywhere.
func (m *Manager) Create(topic string, partition int32, topicID [16]byte, cfg Config) (*Log, error) {
	return m.CreateAt(topic, partition, topicID, cfg, Placement{})
}

// CreateAt is CreateAll of one log.
func (m *Manager) CreateAt(topic string, partition int32, topicID [16]byte, cfg Config, at Placement) (*Log, error) {
	c := m.CreateAll([]NewLog{{Topic: topic, Partition: partition, TopicID: topicID, Config: cfg, At: at}})[0]
	return c.Log, c.Err
}

// CreateAll makes partitions' logs, or takes the ones there are and replaces their configuration. It answers in
// order. A new log lies where MoveTo asked for, else where the metadata says, else in the directory that has the
// fewest. A log of another topic id is INCONSISTENT_TOPIC_ID: the caller deletes it or sets it aside first. While
// the log may be in a directory that is offline, nothing is made and the error is KAFKA_STORAGE_ERROR. No
// partition may be named twice. The names of all new logs in a directory are made durable together. (Kafka:
// LogManager.getOrCreateLog, Partition.createLogInAssignedDirectoryId.)
func (m *Manager) CreateAll(logs []NewLog) []Created {
	m.changing.Lock()
	defer m.changing.Unlock()
	out := make([]Created, len(logs))
	counts := m.logCounts()
	var fresh []int
	for i := range logs {
		c := &out[i]
		if c.Log, c.Err = m.existing(&logs[i]); c.Log != nil || c.Err != nil {
			continue
		}
		tp := topicPartition{logs[i].Topic, logs[i].Partition}
		d, err := m.place(tp, logs[i].At, counts)
		if err != nil {
			c.Err = fmt.Errorf("can't create a log of %s: %w", tp, err)
			continue
		}
		if c.Err = m.payCheckpoints(d); c.Err != nil {
			c.Err = d.refuse(c.Err)
			continue
		}
		counts[d]++
		c.Log = m.newLog(d, tp, logs[i].TopicID, d.file(tp.String()), logs[i].Config)
		fresh = append(fresh, i)
	}
	m.makeAll(out, fresh)
	m.logsMu.Lock()
	defer m.logsMu.Unlock()
	for _, i := range fresh {
		if l := out[i].Log; l != nil {
			m.logs[l.tp] = l
			delete(m.preferred, l.tp)
			m.logger.Info("created log", "partition", l.tp.String(), "dir", l.dir.path)
		}
	}
	return out
}

// existing is the log that is there already; neither log nor error if it may be made. Requires: m.changing held.
func (m *Manager) existing(n *NewLog) (*Log, error) {
	if m.closed {
		return nil, errClosed
	}
	if l, ok := m.Get(n.Topic, n.Partition); ok {
		return l, m.adopt(l, n.TopicID, n.Config)
	}
	return nil, m.refuseAside(topicPartition{n.Topic, n.Partition})
}

// makeAll makes the files of the logs out[i] for i in fresh, several at a time, and then syncs their directories.
// Logs that fail are replaced by the error.
func (m *Manager) makeAll(out []Created, fresh []int) {
	none := checkpointed{recoveryPoint: -1, logStart: -1, highWatermark: -1, cleaned: clean.NoCheckpoint}
	work := make(chan *Created)
	var wg sync.WaitGroup
	for range min(diskWaiters, len(fresh)) {
		wg.Go(func() {
			for c := range work {
				_, serr := m.fs.Stat(c.Log.path)
				if err := m.makeFiles(c.Log, none); err != nil {
					m.creationFailed(c, err, isNotExist(serr))
				}
			}
		})
	}
	for _, i := range fresh {
		work <- &out[i]
	}
	close(work)
	wg.Wait()
	synced := map[*dir]error{}
	for _, i := range fresh {
		c := &out[i]
		if c.Log == nil {
			continue
		}
		err, ok := synced[c.Log.dir]
		if !ok {
			err = m.fs.SyncDir(path.Dir(c.Log.path))
			synced[c.Log.dir] = err
		}
		if err != nil {
			m.creationFailed(c, err, false)
		}
	}
}

// creationFailed gives a log up that couldn't be made. The directory of a new one goes, if there was no room or no
// descriptor; one that stays is taken for an interrupted creation.
func (m *Manager) creationFailed(c *Created, err error, isNew bool) {
	l := c.Log
	if l.segments.Load() != nil {
		l.close()
	}
	err = fmt.Errorf("create %s: %w", l.path, err)
	if isNew && vfs.Scarce(err) {
		err = errors.Join(err, m.uncreate(l.path))
	}
	*c = Created{Err: l.dir.refuse(err)}
}

// refuse is trouble with the making of a log, of which OnRoom tells if it has gone by.
func (d *dir) refuse(err error) error {
	err = d.trouble(err)
	if IsScarce(err) {
		d.room.refused.Store(true)
	}
	return err
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
			return l.dir.refuse(err)
		}
		l.topicID.Store(&topicID)
	default:
		return kerror.Wrap(kerr.InconsistentTopicID, fmt.Errorf("%s has the topic id %s, not %s",
			l.tp, uuid.Format(id), uuid.Format(topicID)))
	}
	l.UpdateConfig(cfg)
	return nil
}

// logCounts is how many logs each directory has.
func (m *Manager) logCounts() map[*dir]int {
	counts := map[*dir]int{}
	m.logsMu.RLock()
	defer m.logsMu.RUnlock()
	for _, logs := range []map[topicPartition]*Log{m.logs, m.futures} {
		for _, l := range logs {
			counts[l.dir]++
		}
	}
	return counts
}

// place chooses the directory of a new log; counts is logCounts.
func (m *Manager) place(tp topicPartition, at Placement, counts map[*dir]int) (*dir, error) {
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
	if d := emptiest(live, counts); d != nil {
		return d, nil
	}
	return nil, noLiveDir()
}

// emptiest is the directory with the fewest logs, the first of several; nil if there is none. (Kafka:
// LogManager.nextLogDirs.)
func emptiest(dirs []*dir, counts map[*dir]int) *dir {
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
