package commitlog

import (
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
// fails the files are in an unknown state, and the directory goes offline; but IsScarce says that there was no
// room for what comes before all else, or no descriptor: whatever has to be open is opened then, and nothing was
// changed. A future log is cut first, so that it never holds what this one doesn't; if its directory fails the move
// fails, and nothing else.
func (l *Log) truncation(future func(*Log) error, f func() error) error {
	if err := l.usable(); err != nil {
		return err
	}
	l.copying.Lock()
	defer l.copying.Unlock()
	if to := l.future.Load(); to != nil {
		if err := future(to); IsScarce(err) {
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
	if err := f(); IsScarce(err) {
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
	return l.orScarce(l.host.checkpointRecoveryPoints(l.dir))
}

// orScarce turns want of room into ErrNoRoom, and want of descriptors into ErrNoDescriptors: for calls before which
// nothing was changed.
func (l *Log) orScarce(err error) error {
	if vfs.Scarce(err) {
		return l.dir.trouble(err)
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
	return l.orScarce(l.host.checkpointCleaned(l.dir))
}

// lowerStart makes it durable that the log begins where it ends, if a truncation has cut it below its start: before
// records come there, which a start would take for deleted ones. Requires: l.mu held.
func (l *Log) lowerStart() error {
	if !l.startLowered {
		return nil
	}
	if err := l.host.checkpointLogStarts(l.dir); err != nil {
		return err
	}
	l.startLowered = false
	return nil
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
	seg := segs[floorSegment(segs, offset)]
	release, err := seg.hold()
	if err != nil {
		return l.orScarce(err)
	}
	defer release()
	dir, err := l.fs.OpenDir(l.path)
	if err != nil {
		return l.orScarce(err)
	}
	defer dir.Close()
	// The batch that has the offset goes whole: other records come from its first one on.
	cut, err := seg.cutAt(offset)
	if err != nil {
		return l.orScarce(err)
	}
	producers, err := l.producersAt(cut)
	if err != nil {
		return l.orScarce(err)
	}
	if err := l.lowerRecoveryPoint(cut); err != nil {
		return err
	}
	end, err := l.cut(dir, seg, offset)
	if err != nil {
		return err
	}
	l.producers.ReplaceBy(producers)
	return l.endAt(seg, end)
}

// cut removes the segments behind seg, and what seg has from offset on, durably; it returns the end that is left.
// Requires: l.mu held, the files of seg held.
func (l *Log) cut(dir vfs.Dir, seg *segment, offset int64) (int64, error) {
	segs := *l.segments.Load()
	n := slices.Index(segs, seg) + 1
	l.setSegments(slices.Clone(segs[:n]))
	gone := slices.Clone(segs[n:])
	slices.Reverse(gone) // Newest first, so that a crash leaves no hole.
	if err := l.removeSegments(dir, gone, false); err != nil {
		return 0, err
	}
	end, err := seg.truncateTo(offset, l.clk.Now())
	if err != nil {
		return 0, err
	}
	if err := seg.flushIndexes(); vfs.NoRoom(err) {
		l.owe(err) // The recovery point will lie in this segment.
	} else if err != nil {
		return 0, err
	}
	if err := seg.flushLog(); err != nil {
		return 0, err
	}
	seg.log.Unpin()
	if err := l.changeEpochs(func(c *epochCache) bool { return c.TruncateFromEnd(end) }); err != nil {
		return 0, err
	}
	if err := l.dropSnapshots(func(o int64) bool { return o > end }); err != nil {
		return 0, err
	}
	if err := l.syncNames(l.path, dir); err != nil {
		return 0, err
	}
	l.namesUnsynced = false
	l.closeNames()
	return end, nil
}

// endAt publishes that the log was cut, and ends in seg. Requires: l.mu held, l.producers as they were at end.
func (l *Log) endAt(seg *segment, end int64) error {
	l.logEndOffset.Store(end)
	if end < l.logStartOffset.Load() {
		l.logStartOffset.Store(end)
		l.startLowered = true
		if err := l.lowerStart(); vfs.Scarce(err) {
			_ = l.dir.trouble(err) // The next append comes back to it.
		} else if err != nil {
			return err
		}
	}
	l.highWatermark.Store(max(l.logStartOffset.Load(), min(l.highWatermark.Load(), end)))
	l.recoveryPoint.Store(min(l.recoveryPoint.Load(), end))
	l.producers.OnHighWatermark(l.highWatermark.Load())
	l.publishUnstable()
	l.tail.reset(seg, end)
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

// newSuffix is that of a segment's files that wait for the others to go; a start removes them.
const newSuffix = ".tmp"

func (l *Log) truncateFully(offset int64) error {
	if offset < 0 {
		return fmt.Errorf("truncate %s to offset %d", l.tp, offset)
	}
	dir, err := l.fs.OpenDir(l.path)
	if err != nil {
		return l.orScarce(err)
	}
	defer dir.Close()
	// Under other names, since one of those that go may have its own.
	cfg := l.settings.Load()
	o := l.segmentOptions(&cfg.Config)
	o.suffix = newSuffix
	seg, err := createSegment(o, offset, l.clk.Now())
	if err != nil {
		_ = o.remove(offset) // What is left a start removes.
		return l.orScarce(err)
	}
	if err := l.moveStart(offset); err != nil {
		seg.discard()
		_ = o.remove(offset)
		return err
	}
	gone := slices.Clone(*l.segments.Load())
	slices.Reverse(gone)
	if err := l.removeSegments(dir, gone, false); err != nil {
		return err
	}
	if err := renameSuffix(seg, newSuffix, ""); err != nil {
		return err
	}
	l.setSegments([]*segment{seg})
	if err := l.changeEpochs(func(c *epochCache) bool { c.Clear(); return true }); err != nil {
		return err
	}
	if err := l.dropSnapshots(func(int64) bool { return true }); err != nil {
		return err
	}
	if err := l.syncNames(l.path, dir); err != nil {
		return err
	}
	l.namesUnsynced = false
	l.closeNames()
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

// moveStart makes it durable that the log begins at offset, and that nothing of it is known to be flushed: before the
// segments go, as in advanceStart, since whichever of them a crash brings back lies below. Requires: l.mu held.
func (l *Log) moveStart(offset int64) error {
	if err := l.lowerRecoveryPoint(min(offset, (*l.segments.Load())[0].baseOffset)); err != nil {
		return err
	}
	was := l.logStartOffset.Swap(offset)
	if err := l.orScarce(l.host.checkpointLogStarts(l.dir)); err != nil {
		l.logStartOffset.Store(was)
		return err
	}
	l.startLowered = false
	return nil
}
