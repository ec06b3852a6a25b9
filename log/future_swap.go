package commitlog

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/epoch"
)

// finishBuffer is the piece in which the last records of a move are copied, in bytes.
const finishBuffer = 256 << 10

// FinishMove puts the future log of l in its place and returns it: from then on it is the partition's log, and l
// is deleted. It copies what is left, so it is due when little is. Whoever hands records to l must be kept from
// doing so until they know of the new log. Steps, of which each is durable before the next one:
//
//	flush             the future log has all records, its offsets are in the checkpoints of its directory
//	l -> -delete      before it, a start finds both logs and goes on with the move
//	-future -> final  before it, a start finds a future log without a current one and does this step
//
// Kafka renames in the other order, and then refuses to start when it finds the partition twice.
//
// After an error without a log nothing has changed, but for a directory that may be offline or, with ErrNoRoom,
// full; the move is given up by AbandonMove or MoveTo, or tried again, as it is with ErrNoDescriptors. A log beside an
// error is the partition's, in a directory that failed. (Kafka: LogManager.replaceCurrentWithFutureLog.)
func (m *Manager) FinishMove(l *Log) (*Log, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	if now, ok := m.Get(l.tp.topic, l.tp.partition); !ok || now != l {
		return nil, noLog(l.tp)
	}
	if m.closed {
		return nil, errClosed
	}
	l.copying.Lock()
	defer l.copying.Unlock()
	f := l.future.Load()
	if f == nil {
		return nil, errNoMove
	}
	// Nothing is to be opened once the renames have begun.
	from, err := m.fs.OpenDir(l.dir.path)
	if err != nil {
		return nil, l.dir.trouble(err)
	}
	defer from.Close()
	to, err := m.fs.OpenDir(f.dir.path)
	if err != nil {
		return nil, f.dir.trouble(err)
	}
	defer to.Close()
	if err := l.copyAll(f); err != nil {
		return nil, err
	}
	l.highWatermarkMu.Lock()
	defer l.highWatermarkMu.Unlock()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	// Nothing is appended any more.
	if end := f.logEndOffset.Load(); end < l.logStartOffset.Load() || end > l.logEndOffset.Load() || f.logStartOffset.Load() > l.logStartOffset.Load() {
		return nil, errBehind
	}
	if err := l.copyAll(f); err != nil {
		return nil, err
	}
	if err := m.complete(l, f); err != nil {
		return nil, err
	}
	return m.replace(l, f, from, to)
}

// errBehind is met by the end of a move whose log lost its records just then: the copy begins again.
var errBehind = errors.New("the log's start has passed what was copied")

// copyAll copies until there is nothing left. Requires: l.copying held.
func (l *Log) copyAll(f *Log) error {
	buf := make([]byte, finishBuffer)
	for f.logEndOffset.Load() != l.logEndOffset.Load() || f.logStartOffset.Load() != l.logStartOffset.Load() {
		before, start := f.logEndOffset.Load(), f.logStartOffset.Load()
		if _, err := l.copyTo(f, buf); err != nil {
			return err
		}
		if f.logEndOffset.Load() == before && f.logStartOffset.Load() == start {
			return kerror.New(kerr.KafkaStorageError, "The copy of %s doesn't get beyond offset %d.", l.tp, before)
		}
	}
	return nil
}

// complete gives a future log that has all records everything else that l knows, and makes it durable, in the
// directory's checkpoints too. Requires: the locks of FinishMove.
func (m *Manager) complete(l, f *Log) error {
	f.UpdateConfig(l.Config())
	f.SetHighWatermark(l.highWatermark.Load())
	f.mu.Lock()
	own := f.producers
	err := f.takeOver(l)
	f.mu.Unlock()
	if err == nil {
		f.flushing.Lock() // Not Flush: without new records there are still snapshots and names.
		err = f.flushLocked()
		f.flushing.Unlock()
	}
	if err == nil {
		err = f.whyOwed()
	}
	if err == nil {
		err = m.checkpointAll(f.dir)
	}
	if err != nil {
		f.mu.Lock()
		f.producers = own // The move may go on; what l appends until then must not count twice.
		f.mu.Unlock()
		return f.dir.trouble(err)
	}
	return nil
}

// takeOver takes leader epochs and producers of l, which know more than its batches tell, such as epochs without
// records and producers whose batches are gone, and how far it is compacted. Requires: the locks of FinishMove,
// and f.mu.
func (f *Log) takeOver(l *Log) error {
	if err := f.usable(); err != nil {
		return err
	}
	end := l.logEndOffset.Load()
	if f.logEndOffset.Load() != end || f.logStartOffset.Load() != l.logStartOffset.Load() {
		return fmt.Errorf("%s has offsets [%d, %d), its copy [%d, %d)", l.tp, l.logStartOffset.Load(), end,
			f.logStartOffset.Load(), f.logEndOffset.Load())
	}
	l.epochs.RLock()
	entries := l.epochs.cache.Entries()
	l.epochs.RUnlock()
	f.epochs.Lock()
	f.epochs.cache = epoch.NewCache(entries) // The flush that follows writes them.
	f.epochs.Unlock()
	l.producers.SetMapEndOffset(end)
	f.producers = l.producers
	f.publishUnstable()
	f.cleaned.Store(l.cleaned.Load())
	if err := f.dropSnapshots(func(o int64) bool { return o >= end }); err != nil {
		return err
	}
	return f.takeSnapshot()
}

// replace renames both directories, in the log dirs from and to, and makes the future log the partition's. Requires: the
// locks of FinishMove.
func (m *Manager) replace(l, f *Log, from, to vfs.Dir) (*Log, error) {
	source := l.dir.file(retiredName(l.tp, m.cfg.NewUUID(), deleteDirSuffix))
	err := m.fs.Rename(l.path, source)
	if vfs.NoRoom(err) {
		return nil, l.dir.trouble(err)
	}
	if err == nil {
		err = from.Sync()
	}
	if err != nil {
		// Whether it is renamed is unknown now: only the next start can tell, by what it finds.
		l.dir.fail(err)
		return nil, storageError(err)
	}
	l.path = source
	l.gone.Store(errMoved)
	for _, s := range *l.segments.Load() {
		s.removed.Store(true)
		s.setDir(source)
	}
	l.discard()
	l.future.Store(nil)
	l.producers = l.newProducers() // They are f's now.
	failed := m.promote(f, to)

	m.logsMu.Lock()
	m.logs[f.tp] = f
	if m.futures[f.tp] == f {
		delete(m.futures, f.tp)
	}
	m.logsMu.Unlock()
	m.removeAfter(l.Config().FileDeleteDelay, func() { m.removeDir(l.dir, source) })
	if failed != nil {
		f.dir.fail(failed)
		return f, storageError(failed)
	}
	m.logger.Info("moved log", "partition", f.tp.String(), "from", l.dir.path, "to", f.dir.path)
	return f, nil
}

// errMoved is the error of a log that another one has taken the place of; whoever asks again finds that.
var errMoved = kerror.New(kerr.NotLeaderForPartition, "The log was moved to another directory.")

// promote gives a future log the partition's name, durably by way of the log dir.
func (m *Manager) promote(f *Log, dir vfs.Dir) error {
	f.flushing.Lock()
	defer f.flushing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	name := f.dir.file(f.tp.String())
	if err := f.usable(); err != nil {
		return err
	}
	if err := m.fs.Rename(f.path, name); err != nil {
		return err
	}
	f.path = name
	for _, s := range *f.segments.Load() {
		s.setDir(name)
	}
	return dir.Sync()
}

// ForgetMoved takes a log that was moved away out of its former directory's checkpoints: one of its name that
// comes there later must not find its offsets. It follows FinishMove, without the locks that the swap needs. Where
// there is no room or no descriptor the checkpoints are owed, as after a deletion.
func (m *Manager) ForgetMoved(l *Log) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if l.dir.offline() != nil {
		return nil
	}
	err := m.checkpointAll(l.dir)
	if IsScarce(err) {
		l.dir.checkpointsOwed.Store(true)
		return nil
	}
	return err
}
