package commitlog

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/vfs"
)

// parseFutureDir reads topic and partition from the name of a future log's directory.
func parseFutureDir(name string) (topicPartition, bool) {
	name, ok := strings.CutSuffix(name, futureDirSuffix)
	at := strings.LastIndexByte(name, '.')
	if !ok || at < 0 || len(name)-at-1 != 32 || strings.Trim(name[at+1:], "0123456789abcdef") != "" {
		return topicPartition{}, false
	}
	return parsePartitionDir(name[:at])
}

// futureAt makes the log of a future log's directory, nil if that is left alone or was never finished.
func (m *Manager) futureAt(d *dir, full string) (*Log, error) {
	tp, ok := parseFutureDir(path.Base(full))
	if !ok {
		m.logger.Warn("leaving a partition directory alone: its name doesn't say of what it is a copy", "dir", full)
		return nil, nil
	}
	id, err := m.readTopicID(full)
	switch {
	case isCorrupt(err):
		m.logger.Warn("leaving a partition directory alone", "dir", full, "error", err)
		return nil, nil
	case err != nil:
		return nil, err
	}
	l := m.newLog(d, tp, id, full, m.topicConfig(tp.topic))
	l.isFuture = true
	return l, nil
}

// settle brings future logs and current ones together once all are loaded. It fails where a partition is found
// twice, as Kafka does: which of them is the right one is for somebody to say who knows what happened. It fails for want
// of descriptors, too.
func (m *Manager) settle() error {
	var futures []*Log
	m.logsMu.RLock()
	for _, f := range m.futures {
		futures = append(futures, f)
	}
	twice := slices.Clone(m.twice)
	m.logsMu.RUnlock()
	if len(twice) > 0 {
		slices.Sort(twice)
		return &misconfigured{fmt.Errorf("%s; leave it in one of them only", strings.Join(twice, "; "))}
	}
	slices.SortFunc(futures, func(a, b *Log) int { return a.tp.compare(b.tp) })
	for _, f := range futures {
		if err := m.settleFuture(f); vfs.NoDescriptors(err) {
			return err
		} else if err != nil {
			_ = f.dir.trouble(err) // It was logged.
		}
	}
	return nil
}

// settleFuture decides on one future log. Errors are those of its directory.
func (m *Manager) settleFuture(f *Log) error {
	if f.dir.offline() != nil {
		return nil
	}
	m.logsMu.RLock()
	l := m.logs[f.tp]
	_, broken := m.broken[f.tp]
	m.logsMu.RUnlock()
	switch {
	case l != nil && l.dir.offline() != nil:
		m.logger.Warn("not going on with a move: the current log's directory is offline", "partition", f.tp.String(), "dir", f.path)
	case l != nil && (l.dir == f.dir || l.TopicID() != f.TopicID()):
		// Of a former topic of that name, or one whose making was interrupted.
		m.logger.Info("removing a future log that fits no current one", "partition", f.tp.String(), "dir", f.path)
		return m.removeFuture(f)
	case l != nil:
		if err := f.diverge(l); errors.Is(err, ErrNoRoom) {
			m.logger.Warn("giving up a move: no room to cut the future log", "partition", f.tp.String(), "dir", f.path)
			return m.removeFuture(f)
		} else if err != nil {
			return err
		}
		l.setFuture(f)
		m.logger.Info("going on moving log", "partition", f.tp.String(), "from", l.dir.path, "to", f.dir.path,
			"logEndOffset", f.logEndOffset.Load(), "of", l.logEndOffset.Load())
	case broken || m.allOnline() != nil || f.TopicID() == [16]byte{}:
		m.logger.Warn("leaving a future log alone: its current log isn't there, but may be somewhere", "partition", f.tp.String(), "dir", f.path)
	default:
		// The last step of a move, between whose two renames the power went.
		dir, err := m.fs.OpenDir(f.dir.path)
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := m.promote(f, dir); err != nil {
			return err
		}
		m.logsMu.Lock()
		delete(m.futures, f.tp)
		m.logs[f.tp] = f
		m.logsMu.Unlock()
		m.logger.Info("ended the move of a log whose current one is gone", "partition", f.tp.String(), "to", f.dir.path)
	}
	return nil
}

// add makes a loaded log known; a second one of its kind is told of by settle.
func (m *Manager) add(l *Log) {
	m.logsMu.Lock()
	defer m.logsMu.Unlock()
	logs := m.logs
	if l.isFuture {
		logs = m.futures
	}
	if other := logs[l.tp]; other != nil {
		m.foundTwice(l.path, other.path)
		m.extra = append(m.extra, l)
		return
	}
	logs[l.tp] = l
	if l.isFuture {
		return
	}
	if was, ok := m.broken[l.tp]; ok && !was.isFuture {
		m.foundTwice(l.path, was.path)
	}
	delete(m.broken, l.tp) // Its future.
}
