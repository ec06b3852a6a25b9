package commitlog

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/clean"
)

// Delete takes a log out of service: its directory is renamed at once, and removed later.
func (m *Manager) Delete(topic string, partition int32) error {
	return m.retireOne(topicPartition{topic, partition}, deleteDirSuffix)
}

// DeleteAll is Delete of many logs, which flushes a directory's names and checkpoints once for all of
// them. Where one fails, the others are deleted all the same.
func (m *Manager) DeleteAll(logs []*Log) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	return m.retire(logs, deleteDirSuffix)
}

// SetAsideStray takes a log that belongs to no topic of the cluster out of service and keeps its
// files, in a directory that is renamed to …-stray.
func (m *Manager) SetAsideStray(topic string, partition int32) error {
	if l, ok := m.Get(topic, partition); ok {
		l.giveBack()
	}
	return m.retireOne(topicPartition{topic, partition}, strayDirSuffix)
}

func (m *Manager) retireOne(tp topicPartition, suffix string) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	l, ok := m.Get(tp.topic, tp.partition)
	if !ok {
		return noLog(tp)
	}
	return m.retire([]*Log{l}, suffix)
}

func noLog(tp topicPartition) error {
	return kerror.Wrap(kerr.UnknownTopicOrPartition, fmt.Errorf("no log of %s", tp))
}

// retire renames the directories of logs and then, directory by directory, makes that durable.
// Requires: m.changing held.
func (m *Manager) retire(logs []*Log, suffix string) error {
	var errs []error
	var mine []*Log
	for _, l := range logs {
		if now, ok := m.Get(l.tp.topic, l.tp.partition); !ok || now != l {
			errs = append(errs, noLog(l.tp))
			continue
		}
		// First, since a future log without a current one is taken for the rest of a move.
		if f := l.future.Load(); f != nil && l.usable() == nil {
			errs = append(errs, m.cancelMove(l, f))
		}
		mine = append(mine, l)
	}
	return errors.Join(append(errs, m.takeOut(mine, suffix))...)
}

// takeOut is retire for logs that are known, current or future ones. Requires: m.changing held.
func (m *Manager) takeOut(logs []*Log, suffix string) error {
	var errs []error
	var dirs []*dir
	renamed := map[*dir][]*Log{}
	for _, l := range logs {
		if err := l.usable(); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := l.retire(l.dir.file(retiredName(l.tp, m.cfg.NewUUID(), suffix))); err != nil {
			errs = append(errs, l.dir.trouble(err))
			continue
		}
		if renamed[l.dir] == nil {
			dirs = append(dirs, l.dir)
		}
		renamed[l.dir] = append(renamed[l.dir], l)
	}
	for _, d := range dirs {
		if err := m.forget(d, renamed[d]); err != nil {
			d.fail(err)
			errs = append(errs, storageError(err))
			continue
		}
		for _, l := range renamed[d] {
			to := l.path
			m.logger.Info("took log out of service", "partition", l.tp.String(), "dir", to)
			if suffix == deleteDirSuffix {
				delay := l.Config().FileDeleteDelay
				if d.cramped() {
					delay = 0
				}
				m.removeAfter(delay, func() { m.removeDir(d, to) })
			}
		}
	}
	return errors.Join(errs...)
}

// forget makes the renaming of a directory's logs durable, and takes them out of the checkpoints: a
// log of the same name that comes later must not find their offsets. Where there is no room the checkpoints
// are owed, and Create writes them first; without a descriptor the renaming is, and removeDir makes it durable before
// any file goes. Requires: m.changing held.
func (m *Manager) forget(d *dir, logs []*Log) error {
	if err := m.fs.SyncDir(d.path); vfs.NoDescriptors(err) {
		d.renamesOwed.Store(true)
		_ = d.trouble(err) // It was logged.
	} else if err != nil {
		return err
	}
	cleaned := false
	m.logsMu.Lock()
	for _, l := range logs {
		for _, known := range []map[topicPartition]*Log{m.logs, m.futures} {
			if known[l.tp] == l {
				delete(known, l.tp)
			}
		}
		cleaned = cleaned || l.cleaned.Load() != clean.NoCheckpoint
	}
	m.logsMu.Unlock()
	err := m.writeCheckpoints(d)
	if err == nil && cleaned {
		err = m.checkpointCleaned(d)
	}
	if vfs.Scarce(err) {
		d.checkpointsOwed.Store(true)
		_ = d.trouble(err) // It was logged; the files go all the same.
		return nil
	}
	return err
}

// payCheckpoints writes what forget couldn't. Requires: m.changing held.
func (m *Manager) payCheckpoints(d *dir) error {
	if !d.checkpointsOwed.Load() {
		return nil
	}
	if err := m.writeCheckpoints(d); err != nil {
		return err
	}
	if err := m.checkpointCleaned(d); err != nil {
		return err
	}
	d.checkpointsOwed.Store(false)
	return nil
}

// retiredName is the name of a retired partition's directory: topic-partition.uuid-delete, with the
// topic cut so that the whole has at most 255 bytes. (Kafka: LocalLog.logDirNameWithSuffixCappedLength.)
func retiredName(tp topicPartition, id [16]byte, suffix string) string {
	const maxName = 255
	end := fmt.Sprintf("-%d.%x%s", tp.partition, id, suffix)
	return tp.topic[:min(len(tp.topic), maxName-len(end))] + end
}

// retire renames the log's directory, not yet durably, and closes the log.
func (l *Log) retire(to string) error {
	l.flushing.Lock() // A flush must not miss its files.
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fs.Rename(l.path, to); err != nil {
		return err
	}
	l.gone.Store(errDeleted)
	l.path = to
	for _, s := range *l.segments.Load() {
		s.removed.Store(true)
		s.setDir(to)
	}
	l.discard()
	return nil
}

// removeDirLater removes what an earlier run left of a deleted partition.
func (m *Manager) removeDirLater(d *dir, full string) {
	name := path.Base(full)
	if !strings.HasSuffix(name, deleteDirSuffix) {
		panic("commitlog: removal of " + full)
	}
	m.removeAfter(0, func() { m.removeDir(d, full) })
}

// removeDir removes a deleted partition's directory; without descriptors it comes back to it.
func (m *Manager) removeDir(d *dir, full string) {
	if d.offline() != nil {
		return
	}
	err := m.payRenames(d)
	if err == nil {
		err = m.fs.RemoveAll(full)
	}
	switch {
	case err == nil:
		m.logger.Info("removed a deleted partition", "dir", full)
	case vfs.NoDescriptors(err):
		_ = d.trouble(err) // It was logged.
		m.removeAfter(removeRetry, func() { m.removeDir(d, full) })
	default:
		m.logger.Warn("can't remove a deleted partition", "dir", full, "error", err)
	}
}

// removeRetry is when a removal is tried again for which there was no descriptor.
const removeRetry = time.Second

// payRenames makes renames durable that forget couldn't: a crash mustn't bring back a log of which files are missing. Only
// one goroutine at a time calls it, see removeAfter.
func (m *Manager) payRenames(d *dir) error {
	if !d.renamesOwed.Swap(false) {
		return nil
	}
	err := m.fs.SyncDir(d.path)
	if vfs.NoDescriptors(err) {
		d.renamesOwed.Store(true)
	} else if err != nil {
		d.fail(err)
	}
	return err
}
