package commitlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/epoch"
	"github.com/ottla/ottla/log/index"
	"github.com/ottla/ottla/log/producer"
)

// checkpointed is what the checkpoint files of a log dir say of one log; -1 where they don't.
type checkpointed struct {
	recoveryPoint, logStart, highWatermark, cleaned int64
	// lost says that there are no recovery points, where there should be.
	lost bool
}

// load reads the partition's directory. After a clean stop only ends are read; otherwise everything
// from the recovery point on is checked, and what is torn is cut off. It changes nothing that a
// second run wouldn't do again, so it may be interrupted anywhere.
// Requires: l not shared.
func (l *Log) load(ctx context.Context, c checkpointed, clean bool) error {
	f, err := tidy(l.fs, l.path)
	if err != nil {
		return err
	}
	l.snapshots = f.snapshots
	segs, err := l.openSegments(f)
	if err != nil {
		return err
	}
	entries, err := readEpochs(l.fs, l.path)
	var corrupt *CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	l.epochs.cache = epoch.NewCache(entries)
	l.epochsWritten = entries
	rebuildEpochs := entries == nil && len(segs) > 0
	if corrupt != nil {
		l.logger.Warn("rebuilding leader epochs", "partition", l.tp.String(), "error", err)
	}

	start := max(c.logStart, 0)
	if len(segs) > 0 {
		start = max(start, segs[0].baseOffset)
	}
	l.logStartOffset.Store(start)
	end := start
	if len(segs) > 0 {
		l.setSegments(segs)
		if end, err = l.loadSegments(ctx, f, c, clean); err != nil {
			return err
		}
		segs = *l.segments.Load()
	}
	if len(segs) == 0 || end < start {
		if segs, err = l.startEmpty(segs, start); err != nil {
			return err
		}
		end = start
	}
	if l.producers == nil || l.producers.MapEndOffset() != end {
		if err := l.loadProducers(end); err != nil {
			return err
		}
	}
	if err := l.loadEpochs(rebuildEpochs && f.recoveredFrom > start, start, end); err != nil {
		return err
	}
	// From here on no damage is found that sets the log aside; its files may change.
	active := segs[len(segs)-1]
	cfg := l.settings.Load()
	if err := active.openActive(l.segmentOptions(&cfg.Config).preallocate); err != nil {
		return err
	}
	if active.created.IsZero() {
		active.created = l.modTime(active)
	}
	l.drawJitter(cfg)
	l.logEndOffset.Store(end)
	l.tail.reset(active, end)
	if err := l.dropSnapshots(func(o int64) bool { return o > end }); err != nil {
		return err
	}
	if err := l.dropSnapshots(l.straySnapshot); err != nil {
		return err
	}
	l.highWatermark.Store(max(start, min(c.highWatermark, end)))
	l.recoveryPoint.Store(end)
	if !clean {
		l.recoveryPoint.Store(min(max(c.recoveryPoint, 0), end))
		l.namesUnsynced = true // As far as we know: not every crash is one of the machine.
	}
	l.inherited.Store(l.namesUnsynced)
	if l.owes() != nil {
		l.recoveryPoint.Store(min(l.recoveryPoint.Load(), l.owedFrom))
	}
	if c.cleaned <= end {
		l.cleaned.Store(c.cleaned) // Otherwise what it speaks of was lost, and all is dirty.
	}
	l.lastFlush.Store(l.clk.Now().UnixMilli())
	l.producers.OnHighWatermark(l.highWatermark.Load())
	l.publishUnstable()
	return nil
}

// openSegments opens all segments; those whose indexes can't be used get new ones.
func (l *Log) openSegments(f *found) ([]*segment, error) {
	cfg := l.settings.Load()
	o := l.segmentOptions(&cfg.Config)
	segs := make([]*segment, 0, len(f.bases))
	for _, base := range f.bases {
		o.txnIndex = f.txnIndexed[base]
		s, err := openSegment(o, base)
		if errors.Is(err, index.ErrCorrupt) {
			l.logger.Warn("rebuilding indexes", "partition", l.tp.String(), "error", err)
			f.indexed[base] = false
			s, err = l.openReset(o, base)
		}
		if err != nil {
			for _, s := range segs {
				s.discard()
			}
			return nil, err
		}
		s.size.Store(f.sizes[base])
		if p := s.offsets.Last(); s.offsets.Entries() > 0 && p.FilePosition >= f.sizes[base] {
			f.indexed[base] = false
		}
		segs = append(segs, s)
	}
	return segs, nil
}

// openReset removes a segment's indexes and opens it with empty ones.
func (l *Log) openReset(o segmentOptions, base int64) (*segment, error) {
	for _, suffix := range []string{indexSuffix, timeIndexSuffix, txnIndexSuffix} {
		if err := removeIfThere(l.fs, path.Join(l.path, segmentName(base)+suffix)); err != nil {
			return nil, err
		}
	}
	o.txnIndex = false
	return openSegment(o, base)
}

// loadSegments recovers the segments that need it, loads the others' ends, and returns the log's end
// offset. Torn segments are cut, and those after them removed. Requires: at least one segment.
//
// After a power loss a segment may have lost its end while a later one kept its bytes. Such a hole is
// taken for that only beyond a recovery point that is known, and unless batches are missing inside
// the segments too: a compacted log is full of holes.
func (l *Log) loadSegments(ctx context.Context, f *found, c checkpointed, clean bool) (int64, error) {
	segs := *l.segments.Load()
	recoveryPoint, compacted := c.recoveryPoint, l.settings.Load().Compact
	unclean, replayed := len(segs), len(segs)
	if !clean {
		unclean = floorSegment(segs, max(recoveryPoint, 0))
		replayed = unclean
		if i := unclean - 1; i >= 0 && segs[unclean].baseOffset >= recoveryPoint {
			if rolled, err := justRolled(segs[i], segs[unclean].baseOffset); err != nil {
				return 0, err
			} else if rolled {
				unclean = i
			}
		}
		f.recoveredFrom = segs[unclean].baseOffset
		if recoveryPoint >= 0 {
			// What the file says of them is older than the records, which are walked now.
			l.epochs.cache.TruncateFromEnd(max(recoveryPoint, f.recoveredFrom))
		}
	}
	end := segs[0].baseOffset
	for i, s := range segs {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		last := i == len(segs)-1
		if i == replayed {
			// From here on batches are taken into the producer state, by which the indexes of transactions are
			// written again. The segments before are in order by now.
			if err := l.loadProducersAt(segs, s.baseOffset); err != nil {
				return 0, err
			}
		}
		if i > replayed && s.baseOffset != end && !compacted && !c.lost {
			return end, l.dropFrom(i, fmt.Sprintf("offset %d follows %d", s.baseOffset, end))
		}
		var torn, gaps bool
		var err error
		recovered := i >= unclean || !f.indexed[s.baseOffset]
		if recovered {
			verifyFrom := max(recoveryPoint, 0)
			if clean {
				verifyFrom = s.baseOffset
			}
			again := func() (err error) {
				end, torn, gaps, err = l.recoverSegment(ctx, s, verifyFrom, last)
				return err
			}
			if i < replayed {
				err = l.withProducersAt(segs, s.baseOffset, again)
			} else {
				err = again()
			}
			compacted = compacted || gaps
		} else if last {
			end, torn, err = l.loadActive(ctx, s)
		} else {
			end, err = segs[i+1].baseOffset, l.loadInactive(s)
		}
		if err != nil {
			return 0, err
		}
		// What follows the last batch may be reserved room that was cut off, but not durably.
		if torn && !last && end != segs[i+1].baseOffset {
			return end, l.dropFrom(i+1, fmt.Sprintf("segment %d is torn at offset %d", s.baseOffset, end))
		}
		if recovered && !last {
			err = s.becomeInactive()
		}
		if err == nil && recovered {
			err = s.keepIndexes(i < replayed)
		}
		if err := l.oweIndexes(s, err); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// dropFrom removes segment i and all after it. Requires: l not shared.
func (l *Log) dropFrom(i int, reason string) error {
	segs := *l.segments.Load()
	l.logger.Warn("dropping segments after an unclean stop", "partition", l.tp.String(),
		"firstDropped", segs[i].baseOffset, "segments", len(segs)-i, "reason", reason)
	l.setSegments(slices.Clone(segs[:i]))
	return l.removeNewest(segs[i:])
}

// removeNewest removes the segments at the end of a log, the last one first, so that a crash leaves no hole. Requires: l not
// shared.
func (l *Log) removeNewest(gone []*segment) error {
	dir, err := l.fs.OpenDir(l.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	gone = slices.Clone(gone)
	slices.Reverse(gone)
	return l.removeSegments(dir, gone, false)
}

// startEmpty replaces whatever there is by one empty segment at offset.
func (l *Log) startEmpty(segs []*segment, offset int64) ([]*segment, error) {
	if len(segs) > 0 {
		l.logger.Warn("the log ends before its start offset; starting over", "partition", l.tp.String(),
			"logStartOffset", offset)
		if err := l.removeNewest(segs); err != nil {
			return nil, err
		}
	}
	cfg := l.settings.Load()
	s, err := createSegment(l.segmentOptions(&cfg.Config), offset, l.clk.Now())
	if err != nil {
		return nil, err
	}
	l.namesUnsynced = true
	l.producers = nil
	l.setSegments([]*segment{s})
	return []*segment{s}, nil
}

// loadInactive takes the largest timestamp of a segment from its time index, whose last entry was
// written when the segment was rolled.
func (l *Log) loadInactive(s *segment) error {
	if s.times.Entries() == 0 {
		return s.loadMax()
	}
	t := s.times.Last()
	s.setMax(t.TimestampMs, t.Offset)
	return nil
}

// loadActive finds the end of the last segment by reading on from the last index entry. If that
// doesn't lead to the end of the file, the segment is recovered after all.
func (l *Log) loadActive(ctx context.Context, s *segment) (end int64, torn bool, err error) {
	f, err := s.log.Hold()
	if err != nil {
		return 0, false, err
	}
	defer s.log.Release()
	from := s.offsets.Last()
	sc := newScanner(f, from.FilePosition, s.size.Load())
	defer sc.close()
	end = s.baseOffset
	for {
		h, _, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			s.bytesSinceEntry = int(s.size.Load() - from.FilePosition)
			return end, false, s.loadMax()
		case errors.Is(err, errTornBatch):
			l.logger.Warn("recovering a segment despite a clean stop", "partition", l.tp.String(), "error", err)
			if err := l.loadProducersAt(*l.segments.Load(), s.baseOffset); err != nil {
				return 0, false, err
			}
			end, torn, _, err := l.recoverSegment(ctx, s, s.baseOffset, true)
			if err == nil {
				err = s.keepIndexes(true)
			}
			return end, torn, err
		case err != nil:
			return 0, false, s.corrupt(sc.pos, err)
		}
		end = h.LastOffset() + 1
	}
}

// recoverSegment walks all batches of a segment and makes its indexes anew, not durably. Batches that reach
// verifyFrom are checked whole; the first that isn't right ends the segment. They are taken into leader
// epochs and producer state, by which the index of transactions is written. It returns the end offset,
// whether the segment was cut, and whether offsets are missing inside it.
// Requires: l.producers is the state where the segment begins.
func (l *Log) recoverSegment(ctx context.Context, s *segment, verifyFrom int64, last bool) (end int64, torn, gaps bool, err error) {
	size := s.size.Load()
	l.logger.Debug("recovering segment", "partition", l.tp.String(), "baseOffset", s.baseOffset, "bytes", size)
	if err := errors.Join(s.offsets.Reset(), s.times.Reset(), s.txns.Reset()); err != nil {
		return 0, false, false, err
	}
	s.max.timestampMs, s.max.offset = -1, s.baseOffset
	s.bytesSinceEntry, s.rollingTimestamp = 0, -1
	f, err := s.log.Hold()
	if err != nil {
		return 0, false, false, err
	}
	defer s.log.Release()
	interval := l.settings.Load().IndexIntervalBytes
	sc := &scanner{file: f, end: size, window: make([]byte, recoveryWindow)}
	end, valid := s.baseOffset, int64(0)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return 0, false, false, ctx.Err()
		}
		from := sc.pos
		h, pos, err := sc.next()
		if err == nil {
			err = l.checkBatch(s, sc, &h, pos, end, verifyFrom)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errTornBatch) {
			l.logger.Warn("cutting a torn segment", "partition", l.tp.String(), "baseOffset", s.baseOffset,
				"position", valid, "bytesLost", size-valid, "reason", err)
			torn = true
			break
		}
		if err != nil {
			return 0, false, false, s.corrupt(pos, err)
		}
		l.recovered(sc.pos - from)
		if err := s.indexBatch(&h, pos, interval); err != nil {
			return 0, false, false, err
		}
		if err := l.replayRecovered(s, f, &h, pos); err != nil {
			return 0, false, false, err
		}
		gaps = gaps || valid > 0 && h.BaseOffset > end || h.NumRecords >= 0 && h.NumRecords <= h.LastOffsetDelta
		end, valid = h.LastOffset()+1, sc.pos
	}
	s.size.Store(valid)
	if torn {
		if err := f.Truncate(valid); err != nil {
			return 0, false, false, err
		}
		if err := f.Sync(); err != nil {
			return 0, false, false, err
		}
	}
	s.settleIndexes()
	if !last {
		err = s.times.MaybeAppend(s.maxTimestamp())
	}
	return end, torn, gaps, l.oweIndexes(s, err)
}

// recovered counts bytes of segments that a recovery has walked.
func (l *Log) recovered(n int64) {
	if l.progress != nil {
		l.progress.bytes.Add(n)
	}
}

// oweIndexes lets a segment go on whose index entries a full disk doesn't take: they wait in memory for the
// next flush, which goes back to the segment since the recovery point will not lie beyond it. Other errors are
// returned. Requires: l not shared.
func (l *Log) oweIndexes(s *segment, err error) error {
	if !vfs.NoRoom(err) {
		return err
	}
	if l.owes() == nil {
		l.owedFrom = s.baseOffset
	}
	l.owe(err)
	l.owedFrom = min(l.owedFrom, s.baseOffset)
	_ = l.dir.ranOut(err) // It was logged.
	return nil
}

// checkBatch says what is wrong with a batch that a recovery meets, as errTornBatch.
func (l *Log) checkBatch(s *segment, sc *scanner, h *batch.Header, pos, end, verifyFrom int64) error {
	first := h.BaseOffset
	if h.Magic < batch.MagicV2 {
		first = h.LastOffset() // The first offset of an old compressed batch isn't in its head.
	}
	if first < end || h.LastOffset() < first || h.LastOffset()-s.baseOffset > 1<<31-1 {
		return fmt.Errorf("%w: offsets %d to %d where %d comes next", errTornBatch, h.BaseOffset, h.LastOffset(), end)
	}
	if h.LastOffset() < verifyFrom {
		return nil
	}
	err := sc.checkCRC(h, pos)
	if err == nil || errors.Is(err, errRead) {
		return err
	}
	return fmt.Errorf("%w: %w", errTornBatch, err)
}

// replayRecovered takes a batch into leader epochs and producer state.
func (l *Log) replayRecovered(s *segment, file vfs.File, h *batch.Header, pos int64) error {
	if h.Magic >= batch.MagicV2 && h.LeaderEpoch > l.epochs.cache.Latest() {
		l.epochs.cache.Assign(h.LeaderEpoch, h.BaseOffset)
	}
	return l.replayAt(s, true, file, h, pos)
}

// loadEpochs brings the leader epochs in line with the log. Those that had to be rebuilt, for which all
// batches are read, are written; any others are with the first flush that has something new.
func (l *Log) loadEpochs(rebuild bool, start, end int64) error {
	c := l.epochs.cache
	if rebuild {
		c.Clear()
		err := l.scanAll(start, end, func(_ *segment, _ vfs.File, h *batch.Header, _ int64) error {
			if h.LeaderEpoch > c.Latest() {
				c.Assign(h.LeaderEpoch, h.BaseOffset)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.TruncateFromEnd(end)
	c.TruncateFromStart(start)
	if entries := c.Entries(); rebuild && len(entries) > 0 {
		return l.writeEpochs(entries)
	}
	return nil
}

// straySnapshot says that a snapshot belongs to no segment and isn't the newest.
func (l *Log) straySnapshot(offset int64) bool {
	if offset == l.snapshots[len(l.snapshots)-1] {
		return false
	}
	segs := *l.segments.Load()
	return segs[floorSegment(segs, offset)].baseOffset != offset
}

// newProducers is an empty producer state.
func (l *Log) newProducers() *producer.State {
	return producer.New(producer.Config{
		Topic: l.tp.topic, Partition: l.tp.partition,
		ExpirationMs: l.host.producerIDExpiration().Milliseconds(),
	})
}

// modTime is when a segment was last written, or now if the file system doesn't say.
func (l *Log) modTime(s *segment) time.Time {
	if info, err := l.fs.Stat(s.log.Path()); err == nil && !info.ModTime().IsZero() {
		return info.ModTime()
	}
	return l.clk.Now()
}
