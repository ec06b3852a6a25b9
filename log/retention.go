package commitlog

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
)

// DeleteRecords moves logStartOffset up to offset, durably, and returns where it is (KIP-107). -1
// stands for the high watermark; beyond it is OFFSET_OUT_OF_RANGE. Segments that lie below are
// removed by the next check of retention, or at once where free space is short.
func (l *Log) DeleteRecords(offset int64) (logStartOffset int64, err error) {
	if err := l.usable(); err != nil {
		return -1, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaitSwap()
	if err := l.usable(); err != nil {
		return -1, err
	}
	highWatermark := l.highWatermark.Load()
	if offset == -1 {
		offset = highWatermark
	}
	if offset < 0 || offset > highWatermark {
		return -1, kerror.Wrap(kerr.OffsetOutOfRange,
			outOfRange(offset, l.logStartOffset.Load(), highWatermark))
	}
	if err := l.advanceStart(offset); err != nil {
		return -1, err
	}
	if l.dir.cramped() {
		if _, err := l.deleteBelowStart(); err != nil && !IsScarce(err) {
			return -1, err
		}
	}
	return l.logStartOffset.Load(), nil
}

// advanceStart moves logStartOffset up and makes that durable. Requires: l.mu held, and offset is at
// most the high watermark.
func (l *Log) advanceStart(offset int64) error {
	was := l.logStartOffset.Load()
	if offset <= was {
		return nil
	}
	l.logStartOffset.Store(offset)
	// Durable before any segment goes: a crash may undo the removal of some segments and not of
	// others, and what comes back must lie below the start.
	err := l.host.checkpointLogStarts(l.dir)
	switch {
	case vfs.NoRoom(err):
		err = l.advanceByRemoval(was, offset)
	case vfs.NoDescriptors(err):
		l.logStartOffset.Store(was)
	}
	if err != nil {
		return l.dir.trouble(err)
	}
	if err := l.changeEpochs(func(c *epochCache) bool { return c.TruncateFromStart(offset) }); err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	l.producers.OnLogStartOffset(offset)
	l.publishUnstable()
	if f := l.startMoved.Load(); f != nil {
		(*f)()
	}
	return nil
}

// advanceByRemoval ends what advanceStart began where there is no room for the checkpoint: segments below
// offset go one by one, oldest first and each durably, so that a crash leaves no hole and the first one that
// is left tells the start; until the checkpoint fits. If it never does, as no segment lies wholly below, the
// start is that of the first segment left. Requires: l.mu held, and offset is at most the high watermark.
func (l *Log) advanceByRemoval(was, offset int64) error {
	dir, err := l.fs.OpenDir(l.path)
	if err != nil {
		l.logStartOffset.Store(was)
		return err
	}
	defer dir.Close()
	err = syscall.ENOSPC
	segs := *l.segments.Load()
	for ; vfs.NoRoom(err) && len(segs) > 1 && segs[1].baseOffset <= offset; segs = segs[1:] {
		was = max(was, segs[1].baseOffset)
		l.setSegments(slices.Clone(segs[1:]))
		l.awaitReaders()
		if err := l.removeSegments(dir, segs[:1], false); err != nil {
			l.dir.fail(err)
			return storageError(err)
		}
		err = l.host.checkpointLogStarts(l.dir)
	}
	if vfs.Scarce(err) {
		l.logStartOffset.Store(was)
		return l.dir.trouble(fmt.Errorf("checkpoint the start of %s: %w", l.tp, err))
	}
	return err
}

// deleteOldSegments removes what retention no longer wants, oldest first and nothing beyond the high
// watermark, and returns how many segments went. (Kafka: UnifiedLog.deleteOldSegments.)
func (l *Log) deleteOldSegments() (int, error) {
	if err := l.usable(); err != nil {
		return 0, err
	}
	cfg := l.settings.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awaitSwap()
	if l.usable() != nil {
		return 0, nil
	}
	n, err := l.deleteBelowStart()
	if err != nil || !cfg.Delete {
		return n, err
	}
	if cfg.RetentionBytes >= 0 {
		excess := l.SizeBytes() - cfg.RetentionBytes
		m, err := l.deleteWhile("retention.bytes", func(s, _ *segment) bool {
			if excess -= s.size.Load(); excess < 0 {
				return false
			}
			return true
		})
		if n += m; err != nil {
			return n, err
		}
	}
	if cfg.RetentionMs >= 0 {
		nowMs := l.clk.Now().UnixMilli()
		m, err := l.deleteWhile("retention.ms", func(s, _ *segment) bool {
			return nowMs-l.ageTimestamp(s, nowMs) > cfg.RetentionMs
		})
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// deleteBelowStart removes the segments that lie below the log's start. Requires: l.mu held, no swap at work.
func (l *Log) deleteBelowStart() (int, error) {
	start := l.logStartOffset.Load()
	return l.deleteWhile("log start offset", func(_, next *segment) bool {
		return next != nil && next.baseOffset <= start
	})
}

// ageTimestamp is the time (ms) from which a segment's age is counted: its largest timestamp, or
// when it was written if it has none. A timestamp from the future would keep the segment for years;
// the time it was written is then the better bound, where Kafka believes the timestamp.
// Requires: l.mu held.
func (l *Log) ageTimestamp(s *segment, nowMs int64) int64 {
	largest, _ := s.maxTimestamp()
	if largest >= 0 && largest <= nowMs {
		return largest
	}
	if info, err := l.fs.Stat(s.log.Path()); err == nil && !info.ModTime().IsZero() {
		return min(nowMs, info.ModTime().UnixMilli())
	}
	if !s.created.IsZero() {
		return s.created.UnixMilli()
	}
	return nowMs
}

// deleteWhile removes segments from the beginning as long as old says so of one and the one after
// it, which is nil for the active segment. Requires: l.mu held, no swap at work.
func (l *Log) deleteWhile(reason string, old func(s, next *segment) bool) (int, error) {
	segs := *l.segments.Load()
	n := 0
	for ; n < len(segs); n++ {
		var next *segment
		end := l.logEndOffset.Load()
		if n+1 < len(segs) {
			next = segs[n+1]
			end = next.baseOffset
		}
		empty := next == nil && segs[n].size.Load() == 0
		if empty || l.highWatermark.Load() < end || !old(segs[n], next) {
			break
		}
	}
	if n == 0 {
		return 0, nil
	}
	dir, err := l.fs.OpenDir(l.path)
	if err != nil {
		return 0, l.dir.trouble(err)
	}
	defer dir.Close()
	if n == len(segs) {
		_, err := l.roll(l.logEndOffset.Load())
		switch {
		case IsScarce(err) && n > 1:
			n-- // The active segment waits until another one can be made.
		case err != nil:
			return 0, err
		}
		segs = *l.segments.Load()
	}
	if err := l.advanceStart(segs[n].baseOffset); err != nil {
		return 0, err
	}
	gone := slices.Clone(segs[:n])
	gone = slices.DeleteFunc(gone, func(s *segment) bool { return s.removed.Load() }) // By advanceStart.
	l.setSegments(slices.Clone(segs[n:]))
	later := !l.dir.cramped()
	if !later {
		l.awaitReaders()
	}
	if err := l.removeSegments(dir, gone, later); err != nil {
		l.dir.fail(err)
		return 0, storageError(err)
	}
	l.logger.Info("deleted old log segments", "partition", l.tp.String(), "reason", reason,
		"segments", n, "logStartOffset", l.logStartOffset.Load())
	return n, nil
}

// awaitReaders returns once no reader is still looking for the files of segments that are out of service;
// those that found one hold it open. Requires: l.mu held.
func (l *Log) awaitReaders() {
	l.reading.Lock()
	l.reading.Unlock() //nolint:staticcheck // An empty section is the point.
}

// expireProducers forgets producers that were silent for producer.id.expiration.ms.
func (l *Log) expireProducers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.usable() == nil {
		l.producers.SetExpirationMs(l.host.producerIDExpiration().Milliseconds())
		l.producers.Expire(l.clk.Now().UnixMilli())
	}
}
