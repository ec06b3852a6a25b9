package commitlog

import (
	"slices"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// DeleteRecords moves logStartOffset up to offset, durably, and returns where it is (KIP-107). -1
// stands for the high watermark; beyond it is OFFSET_OUT_OF_RANGE. Segments that lie below are
// removed by the next check of retention.
func (l *Log) DeleteRecords(offset int64) (logStartOffset int64, err error) {
	if err := l.usable(); err != nil {
		return -1, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
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
	return l.logStartOffset.Load(), nil
}

// advanceStart moves logStartOffset up and makes that durable. Requires: l.mu held, and offset is at
// most the high watermark.
func (l *Log) advanceStart(offset int64) error {
	if offset <= l.logStartOffset.Load() {
		return nil
	}
	l.logStartOffset.Store(offset)
	// Durable before any segment goes: a crash may undo the removal of some segments and not of
	// others, and what comes back must lie below the start.
	if err := l.host.checkpointLogStarts(l.dir); err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	if err := l.changeEpochs(func(c *epochCache) bool { return c.TruncateFromStart(offset) }); err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	l.producers.OnLogStartOffset(offset)
	l.publishUnstable()
	return nil
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
	if l.usable() != nil {
		return 0, nil
	}
	start := l.logStartOffset.Load()
	n, err := l.deleteWhile("log start offset", func(_, next *segment) bool {
		return next != nil && next.baseOffset <= start
	})
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
// it, which is nil for the active segment. Requires: l.mu held.
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
	if n == len(segs) {
		if _, err := l.roll(l.logEndOffset.Load()); err != nil {
			return 0, err
		}
		segs = *l.segments.Load()
	}
	if err := l.advanceStart(segs[n].baseOffset); err != nil {
		return 0, err
	}
	l.setSegments(slices.Clone(segs[n:]))
	if err := l.removeSegments(segs[:n], true); err != nil {
		l.dir.fail(err)
		return 0, storageError(err)
	}
	l.logger.Info("deleted old log segments", "partition", l.tp.String(), "reason", reason,
		"segments", n, "logStartOffset", l.logStartOffset.Load())
	return n, nil
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
