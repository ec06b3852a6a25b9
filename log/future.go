package commitlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/clean"
)

// A log moves to another log dir by way of a second one, its future log, in a directory there whose name ends
// in -future. The future log is filled from the current one as a follower's would be, while that goes on
// serving, and takes its place once it has everything (FinishMove). Until then it holds nothing that the
// current log doesn't: what the current one is cut by, it is cut by first.
//
// A log with a future isn't compacted: a tombstone could go before it was copied, while what it deletes had been.
// (KIP-113; Kafka: ReplicaAlterLogDirsThread, LogManager.)

// maxPreferred bounds the wishes for partitions that don't exist yet.
const maxPreferred = 10_000

// errNoMove is what a step of a move meets that was cancelled, or was ended by a failure of its directory.
var errNoMove = errors.New("the log isn't being moved")

// Future is the log that this one is being copied to, nil if it isn't.
func (l *Log) Future() *Log { return l.future.Load() }

// MoveTo asks for a log to be moved to another log dir. It reports whether there is something to copy: not if
// the log lies there already, and a move to elsewhere is then given up. A wish for a partition that there is no
// log of is remembered, and Create follows it; the answer is UNKNOWN_TOPIC_OR_PARTITION all the same. Others:
// LOG_DIR_NOT_FOUND, and KAFKA_STORAGE_ERROR while any directory is offline, since one could hold a copy.
func (m *Manager) MoveTo(topic string, partition int32, target string) (moving bool, err error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	if m.closed {
		return false, errClosed
	}
	d, err := m.dirAt(target)
	if err != nil {
		return false, err
	}
	tp := topicPartition{topic, partition}
	l, ok := m.Get(topic, partition)
	if !ok {
		m.prefer(tp, d)
		return false, noLog(tp)
	}
	if err := l.usable(); err != nil {
		return false, err
	}
	if f := l.future.Load(); f != nil {
		if f.dir == d {
			return true, nil
		}
		if err := m.cancelMove(l, f); err != nil {
			return false, err
		}
	}
	if l.dir == d {
		return false, nil
	}
	if err := m.allOnline(); err != nil {
		return false, fmt.Errorf("can't create a log of %s: %w", tp, err)
	}
	return true, m.startMove(l, d)
}

// Moving are the logs that have a future, sorted: after a start, the moves to go on with.
func (m *Manager) Moving() []*Log {
	var out []*Log
	for _, l := range m.Logs() {
		if l.future.Load() != nil {
			out = append(out, l)
		}
	}
	return out
}

// dirAt is the live log dir with a path.
func (m *Manager) dirAt(target string) (*dir, error) {
	for _, d := range m.dirs {
		if d.path != target {
			continue
		}
		if err := d.offline(); err != nil {
			return nil, storageError(err)
		}
		return d, nil
	}
	return nil, kerror.New(kerr.LogDirNotFound, "Log dir %s is not found in the config.", target)
}

// allOnline says which directories are offline, as KAFKA_STORAGE_ERROR.
func (m *Manager) allOnline() error {
	var offline []string
	for _, d := range m.dirs {
		if d.offline() != nil {
			offline = append(offline, d.path)
		}
	}
	if len(offline) == 0 {
		return nil
	}
	return kerror.New(kerr.KafkaStorageError, "Log directories %s are offline.", strings.Join(offline, ","))
}

// prefer remembers where a partition is to be made.
func (m *Manager) prefer(tp topicPartition, d *dir) {
	m.logsMu.Lock()
	defer m.logsMu.Unlock()
	if _, ok := m.preferred[tp]; ok || len(m.preferred) < maxPreferred {
		m.preferred[tp] = d
	}
}

// startMove makes an empty future log, durably, and gives it to l. Requires: m.changing held.
func (m *Manager) startMove(l *Log, d *dir) error {
	name := retiredName(l.tp, m.cfg.NewUUID(), futureDirSuffix)
	if !strings.HasPrefix(name, l.tp.String()+".") {
		// Cut, it wouldn't say any more at a start what it is a copy of.
		return kerror.New(kerr.InvalidTopicException, "The topic's name is too long for its partitions to be moved.")
	}
	begin, err := l.copyBegin()
	if err != nil {
		return err
	}
	f := m.newLog(d, l.tp, l.TopicID(), d.file(name), l.Config())
	at := checkpointed{recoveryPoint: -1, logStart: begin.offset, highWatermark: begin.offset, cleaned: clean.NoCheckpoint}
	err = m.createFiles(f, at)
	if err == nil {
		err = f.beginWith(begin)
	}
	if err != nil {
		if f.segments.Load() != nil {
			f.close()
		}
		err = fmt.Errorf("create %s: %w", f.path, err)
		if vfs.Scarce(err) {
			err = errors.Join(err, m.uncreate(f.path))
		}
		return d.trouble(err)
	}
	m.logsMu.Lock()
	m.futures[l.tp] = f
	m.logsMu.Unlock()
	// A log of this partition may have been here before, and a crash have kept its offsets.
	if err := m.checkpointAll(d); err != nil {
		return errors.Join(err, m.removeFuture(f))
	}
	l.setFuture(f)
	m.logger.Info("moving log", "partition", l.tp.String(), "from", l.dir.path, "to", d.path, "logStartOffset", begin.offset)
	return nil
}

// checkpointAll writes all checkpoints of a directory. A failure takes it offline, unless IsScarce.
func (m *Manager) checkpointAll(d *dir) error {
	for _, write := range []func(*dir) error{
		m.checkpointRecoveryPoints, m.checkpointLogStarts, m.checkpointHighWatermarks, m.checkpointCleaned,
	} {
		if err := write(d); err != nil {
			return d.trouble(err)
		}
	}
	return nil
}

// setFuture gives l a future, or takes it away with nil. No step of a move runs then, and no compaction is
// replacing segments; one under way notices.
func (l *Log) setFuture(f *Log) {
	l.copying.Lock()
	defer l.copying.Unlock()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.future.Store(f)
}

// cancelMove takes l's future away and removes it. Requires: m.changing held, and l is usable: after a swap that
// failed half-way the future may be the only copy.
func (m *Manager) cancelMove(l, f *Log) error {
	l.setFuture(nil)
	m.logger.Info("gave up moving a log", "partition", l.tp.String(), "dir", f.path)
	return m.removeFuture(f)
}

// removeFuture renames a future log's directory to -delete and has it removed. One in a directory that is offline
// is forgotten until the next start. Requires: m.changing held, and no log has f as its future.
func (m *Manager) removeFuture(f *Log) error {
	if f.dir.offline() != nil {
		m.forgetFuture(f)
		f.close()
		return nil
	}
	return m.takeOut([]*Log{f}, deleteDirSuffix)
}

func (m *Manager) forgetFuture(f *Log) {
	m.logsMu.Lock()
	defer m.logsMu.Unlock()
	if m.futures[f.tp] == f {
		delete(m.futures, f.tp)
	}
}

// AbandonMove ends a move whose target failed. What was copied stays where it is: a later start may find it,
// and decides. It does nothing while the target is online.
func (m *Manager) AbandonMove(l *Log) {
	m.changing.Lock()
	defer m.changing.Unlock()
	f := l.future.Load()
	if f == nil || f.dir.offline() == nil {
		return
	}
	l.setFuture(nil)
	m.forgetFuture(f)
	f.close()
	m.logger.Warn("gave up moving a log to a directory that failed", "partition", l.tp.String(), "dir", f.path)
}

// createFiles makes directory and first segment, durably.
func (m *Manager) createFiles(l *Log, at checkpointed) error {
	if err := m.makeFiles(l, at); err != nil {
		return err
	}
	return m.fs.SyncDir(l.dir.path)
}

// makeFiles is createFiles but for the directory's own name, which isn't durable yet.
func (m *Manager) makeFiles(l *Log, at checkpointed) error {
	if err := m.fs.MkdirAll(l.path, 0o755); err != nil {
		return err
	}
	// As a load of an empty directory: it makes the first segment.
	if err := l.load(context.Background(), at, true); err != nil {
		return err
	}
	// Last, since it flushes the directory; one without it is taken for an interrupted creation.
	if err := m.writePartitionMetadata(l.path, l.TopicID()); err != nil {
		return err
	}
	l.namesUnsynced = false
	l.inherited.Store(false)
	return nil
}
