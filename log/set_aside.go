package commitlog

import (
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/ottla/ottla/internal/vfs"
)

// A partition directory that can't be loaded, since it is damaged or since there is no room to recover it, is set
// aside: its files stay as they are, nothing is made in its place, and whoever asks for it gets KAFKA_STORAGE_ERROR.
// The other logs of the directory are served. The next start tries again, and must find all that this one did:
// the offsets that the checkpoints have of it, and whether it was stopped cleanly.

// setAside is setting aside for an error that load returned; it reports false for one of the device, which
// concerns the whole directory.
func (m *Manager) setAside(l *Log, err error) bool {
	switch {
	case vfs.NoRoom(err):
		m.logger.Error("setting a partition aside: there is no room to recover it; free some and start again",
			"dir", l.path, "error", err)
		err = l.dir.ranOut(err)
	case isCorrupt(err):
		m.tellDamaged(l.path, err)
	default:
		return false
	}
	if l.segments.Load() != nil {
		l.close()
	}
	m.noteAside(l.dir, l.tp, l.isFuture, err)
	return true
}

// tellDamaged logs that a partition directory is set aside. Requires: isCorrupt(err).
func (m *Manager) tellDamaged(full string, err error) {
	var corrupt *CorruptError
	errors.As(err, &corrupt)
	m.logger.Error("setting a partition aside: it is damaged; its files are left as they are",
		"dir", full, "file", corrupt.Path, "position", corrupt.Position, "error", corrupt.Reason)
}

// noteAside makes known that a log is set aside.
func (m *Manager) noteAside(d *dir, tp topicPartition, isFuture bool, err error) {
	m.logsMu.Lock()
	defer m.logsMu.Unlock()
	d.aside = append(d.aside, tp)
	// Of a future log too: if it turns out to be all there is, nothing may be made in its place.
	other := m.logs[tp]
	if other != nil && isFuture {
		return
	}
	if was := m.broken[tp]; was.err != nil && !was.isFuture {
		if isFuture {
			return
		}
		m.foundTwice(was.path, d.file(tp.String()))
	}
	if other != nil {
		m.foundTwice(other.path, d.file(tp.String()))
	}
	m.broken[tp] = asideLog{err: err, path: d.file(tp.String()), isFuture: isFuture}
}

// asideLog is a log that is set aside.
type asideLog struct {
	// err is why, and path where.
	err  error
	path string
	// isFuture says that it is the copy of a move; no more is known of the partition then.
	isFuture bool
}

// foundTwice notes a partition that lies in two directories. Requires: m.logsMu held.
func (m *Manager) foundTwice(a, b string) {
	m.twice = append(m.twice, fmt.Sprintf("%s and %s are the same partition", min(a, b), max(a, b)))
}

// refuseAside is the error of a partition that is set aside, nil if it isn't.
func (m *Manager) refuseAside(tp topicPartition) error {
	m.logsMu.RLock()
	defer m.logsMu.RUnlock()
	if b, ok := m.broken[tp]; ok {
		return storageError(fmt.Errorf("%s was set aside at start: %w", tp, b.err))
	}
	return nil
}

// keepMarks remembers what the checkpoints say of the logs that are set aside; it stays in them. marks are in the
// order of loadedCheckpoints.
func (m *Manager) keepMarks(d *dir, marks [4]map[topicPartition]int64) {
	m.logsMu.RLock()
	defer m.logsMu.RUnlock()
	d.checkpointing.Lock()
	defer d.checkpointing.Unlock()
	d.kept = map[string]map[topicPartition]int64{}
	for i, name := range loadedCheckpoints {
		kept := map[topicPartition]int64{}
		for _, tp := range d.aside {
			if offset, ok := marks[i][tp]; ok {
				kept[tp] = offset
			} else if name == recoveryPointFile && d.clean {
				kept[tp] = math.MaxInt64 // All of it was flushed.
			}
		}
		d.kept[name] = kept
	}
}

// withKept adds to the offsets of a checkpoint those of the logs that are set aside. Requires: d.checkpointing held.
func (d *dir) withKept(name string, offsets map[topicPartition]int64) map[topicPartition]int64 {
	if len(d.kept[name]) == 0 {
		return offsets
	}
	all := maps.Clone(d.kept[name])
	maps.Copy(all, offsets)
	return all
}

// unrecovered says that logs of the directory are set aside which no clean stop left: a mark of one would have the
// next start believe their ends.
func (m *Manager) unrecovered(d *dir) bool {
	m.logsMu.RLock()
	defer m.logsMu.RUnlock()
	return len(d.aside) > 0 && !d.clean
}
