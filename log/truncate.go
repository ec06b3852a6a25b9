package commitlog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ottla/ottla/internal/vfs"
)

// TruncateTo removes everything from offset on, durably. A follower does it when its log diverges
// from the leader's. At or beyond the log end only leader epochs that begin there go.
func (l *Log) TruncateTo(offset int64) error {
	future := func(f *Log) error {
		if offset < (*l.segments.Load())[0].baseOffset {
			// Nothing is left here; the future log may have more in front.
			return f.TruncateFullyAndStartAt(offset)
		}
		return f.TruncateTo(offset)
	}
	return l.truncation(future, func() error { return l.truncateTo(offset) })
}

// TruncateFullyAndStartAt removes everything, durably; the next record gets offset.
func (l *Log) TruncateFullyAndStartAt(offset int64) error {
	return l.truncation(func(f *Log) error { return f.TruncateFullyAndStartAt(offset) }, func() error { return l.truncateFully(offset) })
}

// truncation runs f alone: no append, flush, read or change of the high watermark beside it. If it
// fails the files are in an unknown state, and the directory goes offline; but ErrNoRoom says that there was no
// room for the checkpoint that comes before all else, and nothing was changed. A future log is cut first, so that
// it never holds what this one doesn't; if its directory fails the move fails, and nothing else.
func (l *Log) truncation(future func(*Log) error, f func() error) error {
	if err := l.usable(); err != nil {
		return err
	}
	l.copying.Lock()
	defer l.copying.Unlock()
	if to := l.future.Load(); to != nil {
		if err := future(to); errors.Is(err, ErrNoRoom) {
			return err
		} else if err != nil {
			l.logger.Warn("can't cut a future log", "partition", l.tp.String(), "dir", to.path, "error", err)
		}
	}
	l.highWatermarkMu.Lock()
	defer l.highWatermarkMu.Unlock()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.reading.Lock()
	defer l.reading.Unlock()
	l.truncations++
	l.recordsDurable.Store(0) // What comes at these offsets now is something else.
	if err := f(); errors.Is(err, ErrNoRoom) {
		return err
	} else if err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	return nil
}

// lowerRecoveryPoint makes it durable that nothing from offset on is known to be flushed. It comes
// before any byte changes: recovery trusts what lies below the recovery point. Requires: l.mu held.
func (l *Log) lowerRecoveryPoint(offset int64) error {
	if err := l.lowerCleaned(offset); err != nil {
		return err
	}
	if offset >= l.recoveryPoint.Load() {
		return nil
	}
	l.recoveryPoint.Store(offset)
	return l.orNoRoom(l.host.checkpointRecoveryPoints(l.dir))
}

// orNoRoom turns want of room into ErrNoRoom.
func (l *Log) orNoRoom(err error) error {
	if vfs.NoRoom(err) {
		return l.dir.ranOut(err)
	}
	return err
}

// lowerCleaned makes it durable that nothing from offset on is compacted: other records come there.
// Requires: l.mu held.
func (l *Log) lowerCleaned(offset int64) error {
	if offset >= l.cleaned.Load() {
		return nil
	}
	l.cleaned.Store(offset)
	return l.orNoRoom(l.host.checkpointCleaned(l.dir))
}

func (l *Log) truncateTo(offset int64) error {
	if offset < 0 {
		return fmt.Errorf("truncate %s to offset %d", l.tp, offset)
	}
	segs := *l.segments.Load()
	if offset < segs[0].baseOffset {
		return l.truncateFully(offset)
	}
	dropEpochs := func(c *epochCache) bool { return c.TruncateFromEnd(offset) }
	if offset >= l.logEndOffset.Load() {
		return l.changeEpochs(dropEpochs)
	}
	i := floorSegment(segs, offset)
	// The batch that has the offset goes whole: other records come from its first one on.
	cut, err := segs[i].cutAt(offset)
	if err != nil {
		return err
	}
	if err := l.lowerRecoveryPoint(cut); err != nil {
		return err
	}
	l.setSegments(slices.Clone(segs[:i+1]))
	gone := slices.Clone(segs[i+1:])
	slices.Reverse(gone) // Newest first, so that a crash leaves no hole.
	if err := l.removeSegments(gone, false); err != nil {
		return err
	}
	end, err := segs[i].truncateTo(offset, l.clk.Now())
	if err != nil {
		return err
	}
	if err := segs[i].flushIndexes(); vfs.NoRoom(err) {
		l.indexesOwed.Store(true) // The recovery point will lie in this segment.
	} else if err != nil {
		return err
	}
	if err := segs[i].flushLog(); err != nil {
		return err
	}
	segs[i].log.Unpin()
	if err := l.changeEpochs(func(c *epochCache) bool { return c.TruncateFromEnd(end) }); err != nil {
		return err
	}
	if err := l.dropSnapshots(func(o int64) bool { return o > end }); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.path); err != nil {
		return err
	}
	l.namesUnsynced = false
	l.logEndOffset.Store(end)
	if end < l.logStartOffset.Load() {
		l.logStartOffset.Store(end)
		if err := l.host.checkpointLogStarts(l.dir); err != nil {
			return err
		}
	}
	l.highWatermark.Store(max(l.logStartOffset.Load(), min(l.highWatermark.Load(), end)))
	l.recoveryPoint.Store(min(l.recoveryPoint.Load(), end))
	if err := l.loadProducers(end); err != nil {
		return err
	}
	l.tail.reset(segs[i], end)
	l.logger.Info("truncated log", "partition", l.tp.String(), "logEndOffset", end)
	return nil
}

// cutAt is where a truncation to offset ends the log: the batch that has the offset goes whole.
func (s *segment) cutAt(offset int64) (int64, error) {
	f, err := s.log.Hold()
	if err != nil {
		return 0, err
	}
	defer s.log.Release()
	at, found, err := s.locate(f, offset, s.size.Load())
	if err != nil || !found {
		return offset, err
	}
	return min(offset, at.BaseOffset), nil
}

func (l *Log) truncateFully(offset int64) error {
	if offset < 0 {
		return fmt.Errorf("truncate %s to offset %d", l.tp, offset)
	}
	if err := l.lowerRecoveryPoint(min(offset, (*l.segments.Load())[0].baseOffset)); err != nil {
		return err
	}
	gone := slices.Clone(*l.segments.Load())
	slices.Reverse(gone)
	was := l.logStartOffset.Swap(offset)
	// Before the segments go, as in advanceStart: whichever of them a crash brings back lies below.
	if err := l.orNoRoom(l.host.checkpointLogStarts(l.dir)); err != nil {
		l.logStartOffset.Store(was)
		return err
	}
	if err := l.removeSegments(gone, false); err != nil {
		return err
	}
	cfg := l.settings.Load()
	seg, err := createSegment(l.segmentOptions(&cfg.Config), offset, l.clk.Now())
	if err != nil {
		return err
	}
	l.setSegments([]*segment{seg})
	if err := l.changeEpochs(func(c *epochCache) bool { c.Clear(); return true }); err != nil {
		return err
	}
	if err := l.dropSnapshots(func(int64) bool { return true }); err != nil {
		return err
	}
	if err := l.fs.SyncDir(l.path); err != nil {
		return err
	}
	l.namesUnsynced = false
	l.producers.TruncateFullyAndStartAt(offset)
	l.logEndOffset.Store(offset)
	l.highWatermark.Store(offset)
	l.recoveryPoint.Store(offset)
	l.publishUnstable()
	l.tail.reset(seg, offset)
	// The recovery point may grow again with offset; the checkpoint that follows says so.
	l.logger.Info("truncated log fully", "partition", l.tp.String(), "logStartOffset", offset)
	return nil
}
