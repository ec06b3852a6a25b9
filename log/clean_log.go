package commitlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/clean"
	"github.com/ottla/ottla/log/index"
)

// maxCleanBatchBytes bounds the records of a compressed batch that a compaction unpacks.
const maxCleanBatchBytes = 1 << 31

// cleaning is one compaction of one log.
type cleaning struct {
	l   *Log
	ctx context.Context
	// memoryBytes is for the offset map, bufferBytes for one buffer of reads or writes.
	memoryBytes int64
	bufferBytes int
	loadFactor  float64
	// secret is random, of this compaction only.
	secret [16]byte
	// pause accounts for bytes read or written, and waits if they were too many.
	pause func(ctx context.Context, n int) error

	// What the log was at the beginning.
	segs        []*segment
	plan        clean.Plan
	policy      clean.Policy
	view        clean.Log
	truncations int
	now         time.Time

	reader cleanReader
	stats  clean.Stats
	// written and before are the sizes of what segments became and were, in bytes.
	written, before int64
}

// cleanPlan measures what a compaction would do now.
func (l *Log) cleanPlan(now time.Time) (clean.Plan, error) {
	c := cleaning{l: l, now: now}
	err := c.look()
	return c.plan, err
}

// look takes down what the log is.
func (c *cleaning) look() error {
	l := c.l
	cfg := l.settings.Load()
	c.policy = clean.Policy{
		MinDirtyRatio: cfg.MinCleanableDirtyRatio,
		MinLagMs:      cfg.MinCompactionLagMs, MaxLagMs: cfg.MaxCompactionLagMs,
		SegmentBytes: int64(cfg.SegmentBytes), IndexBytes: int64(cfg.SegmentIndexBytes),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	c.truncations = l.truncations
	c.view = clean.Log{
		LogStartOffset: l.logStartOffset.Load(), LogEndOffset: l.logEndOffset.Load(),
		LastStableOffset: l.LastStableOffset(), Checkpoint: l.cleaned.Load(),
	}
	c.segs = *l.segments.Load()
	c.view.Segments = make([]clean.Segment, len(c.segs))
	for i, s := range c.segs {
		v := &c.view.Segments[i]
		*v = clean.Segment{
			BaseOffset: s.baseOffset, SizeBytes: s.size.Load(),
			IndexBytes: s.offsets.SizeBytes(), TimeIndexBytes: s.times.SizeBytes(),
		}
		v.LargestTimestampMs, _ = s.maxTimestamp()
		if c.policy.MaxLagMs != NoLimit && s.baseOffset >= c.view.Checkpoint {
			var err error
			if v.FirstTimestampMs, err = s.firstTimestamp(); err != nil {
				return err
			}
		}
	}
	c.plan = clean.Measure(&c.view, &c.policy, c.now.UnixMilli())
	return nil
}

// superseded says that what was looked at isn't so any more. Requires: l.mu held.
func (c *cleaning) superseded() bool {
	return c.truncations != c.l.truncations || c.l.mayNotCompact() != nil
}

// mayNotCompact is why the log isn't to be compacted now.
func (l *Log) mayNotCompact() error {
	if err := l.usable(); err != nil {
		return err
	}
	if !l.settings.Load().Compact || l.future.Load() != nil {
		return errSuperseded
	}
	return nil
}

// tick is called with each piece that was read or written.
func (c *cleaning) tick(n int) error {
	if c.l.mayNotCompact() != nil {
		return errSuperseded
	}
	return c.pause(c.ctx, n)
}

// run compacts the log. errSuperseded and errors of the context mean that it was interrupted; it
// begins from where it was the next time. (Kafka: Cleaner.doClean.)
func (c *cleaning) run() error {
	if err := c.look(); err != nil {
		return err
	}
	err := c.compact()
	if err == nil || c.ctx.Err() != nil {
		return err
	}
	// A truncation under our hands looks like corruption, and the files that retention removes aren't found.
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.superseded() || isNotExist(err) && !errors.Is(err, errWriteCleaned) && c.removed() {
		return errSuperseded
	}
	return err
}

// removed says that some of the segments that were looked at are gone.
func (c *cleaning) removed() bool {
	return slices.ContainsFunc(c.segs, func(s *segment) bool { return s.removed.Load() })
}

func (c *cleaning) compact() error {
	if c.plan.FirstDirtyOffset >= c.plan.FirstUncleanableOffset {
		return nil
	}
	c.reader = cleanReader{buf: make([]byte, max(c.bufferBytes, 1<<12)), tick: c.tick}
	offsets, err := c.fill()
	if err != nil {
		return err
	}
	end := offsets.Latest() + 1
	// What is replaced must be durable, and known to be: a recovery would take the gaps for losses. So must the
	// markers behind it: a commit that is lost would leave neither the old record of a key nor a new one.
	if err := c.l.flushTo(c.view.LogEndOffset); err != nil {
		return err
	}
	if c.l.RecoveryPoint() < c.plan.FirstUncleanableOffset {
		return cmp.Or(c.l.whyOwed(), errSuperseded)
	}
	if err := c.l.host.checkpointRecoveryPoints(c.l.dir); err != nil {
		return c.l.dir.trouble(err)
	}
	f := &clean.Filter{
		Map: offsets, Codecs: c.l.codecs, Limits: c.limits(), Txns: clean.NewTransactions(),
		NowMs: c.now.UnixMilli(), DeleteRetentionMs: c.l.settings.Load().DeleteRetentionMs,
		RoundEnd: c.plan.FirstUncleanableOffset,
	}
	for _, g := range clean.Group(c.view.Segments, end, c.plan.FirstUncleanableOffset, &c.policy) {
		if err := c.group(f, g[0], g[1]); err != nil {
			return err
		}
	}
	c.stats = f.Stats
	return c.checkpoint(end)
}

func (c *cleaning) limits() batch.ReadLimits {
	body := c.l.settings.Load().MaxDecompressedBytes
	if body <= 0 {
		body = batch.MaxRecordBodyBytes
	}
	return batch.ReadLimits{TotalBytes: maxCleanBatchBytes, RecordBodyBytes: body}
}

// fill reads the dirty part, or as much as there is memory for.
func (c *cleaning) fill() (*clean.OffsetMap, error) {
	from, to := c.plan.FirstDirtyOffset, c.plan.FirstUncleanableOffset
	f := clean.Filler{
		Map:    clean.NewOffsetMap(c.memoryBytes, c.loadFactor, from, to, c.secret),
		Codecs: c.l.codecs, Limits: c.limits(), From: from, Txns: clean.NewTransactions(),
	}
	first := floorSegment(c.segs, from)
	aborted, err := c.aborted(first, from, to)
	if err != nil {
		return nil, err
	}
	f.Txns.Expect(aborted)
	for i := first; c.segs[i].baseOffset < to; i++ {
		full := false
		err := c.batches(i, from, func(b *batch.Batch) (err error) {
			if full, err = f.Add(b); full {
				return io.EOF
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if full {
			break
		}
		f.Map.Extend(c.segs[i+1].baseOffset - 1) // A gap at the end of the segment is no loss.
	}
	return f.Map, nil
}

// aborted collects the aborted transactions that overlap [from, to), from segment i on.
func (c *cleaning) aborted(i int, from, to int64) ([]clean.AbortedTxn, error) {
	var found []index.AbortedTxn
	for _, s := range c.segs[i:] {
		var complete bool
		var err error
		if found, complete, err = s.txns.Collect(found, from, to); err != nil {
			return nil, err
		}
		if complete {
			break
		}
	}
	out := make([]clean.AbortedTxn, 0, len(found))
	for _, t := range found {
		out = append(out, clean.AbortedTxn(t))
	}
	return out, nil
}

// batches reads the batches of segment i from the one that reaches an offset; io.EOF of visit ends it.
func (c *cleaning) batches(i int, from int64, visit func(*batch.Batch) error) error {
	s := c.segs[i]
	file, err := s.log.Hold()
	if err != nil {
		return err
	}
	defer s.log.Release()
	at, err := s.offsets.Lookup(from)
	if err != nil {
		return err
	}
	return c.read(s, file, at.FilePosition, c.segs[i+1].baseOffset, visit)
}

func (c *cleaning) read(s *segment, file vfs.File, position, limit int64, visit func(*batch.Batch) error) error {
	c.reader.open(s, file, position, limit)
	for {
		at := c.reader.pos
		b, err := c.reader.batch()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch err := visit(&b); {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errWriteCleaned):
			return err
		case err != nil && c.ctx.Err() == nil && !errors.Is(err, errSuperseded):
			return &CorruptError{Path: s.log.Path(), Position: at, Reason: err.Error()}
		case err != nil:
			return err
		}
	}
}

// errWriteCleaned marks a failure to write a compacted segment: nothing is wrong with what is there.
var errWriteCleaned = errors.New("can't write the compacted segment")

// group makes one segment of the segments [from, to). (Kafka: Cleaner.cleanSegments.)
func (c *cleaning) group(f *clean.Filter, from, to int) error {
	old := slices.Clone(c.segs[from:to])
	out, err := c.l.newCleanedSegment(old[0].baseOffset, c.bufferBytes)
	if err != nil {
		return fmt.Errorf("%w: %w", errWriteCleaned, err)
	}
	changed, err := c.filter(f, out, from, to)
	if err == nil && (changed || to-from > 1) {
		if err = out.finish(); err != nil {
			err = fmt.Errorf("%w: %w", errWriteCleaned, err)
		} else if err = c.l.swap(c, out, old); err == nil {
			c.written += out.size.Load()
			return nil
		}
	} else if err == nil {
		c.written += old[0].size.Load() // It stays as it is.
	}
	if c.l.usable() != nil {
		out.discard()
		return errors.Join(err, c.l.usable())
	}
	if derr := c.l.dropCleaned(out); derr != nil {
		return errors.Join(err, fmt.Errorf("%w: %w", errWriteCleaned, derr))
	}
	return err
}

// filter writes what is left of the segments [from, to) into out.
func (c *cleaning) filter(f *clean.Filter, out *cleanedSegment, from, to int) (changed bool, err error) {
	f.Aborted = func(t clean.AbortedTxn) error {
		if err := out.keepAborted(t); err != nil {
			return fmt.Errorf("%w: %w", errWriteCleaned, err)
		}
		return nil
	}
	f.LastRecords = c.l.lastRecords()
	legacyHorizon := c.legacyHorizon()
	for i := from; i < to; i++ {
		c.before += c.segs[i].size.Load()
		next := c.segs[i+1].baseOffset
		aborted, err := c.aborted(i, c.segs[i].baseOffset, next)
		if err != nil {
			return false, err
		}
		f.Txns.Expect(aborted)
		f.KeepLegacyTombstones = c.l.modTime(c.segs[i]).UnixMilli() > legacyHorizon
		err = c.batches(i, c.segs[i].baseOffset, func(b *batch.Batch) error {
			unchanged, n, err := out.add(f, b)
			changed = changed || !unchanged
			if err == nil && n > 0 {
				err = c.tick(n)
			}
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return changed, nil
}

// lastRecords are the ends of all producers that the log remembers.
func (l *Log) lastRecords() map[int64]clean.LastRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.producers.LastRecords()
	out := make(map[int64]clean.LastRecord, len(all))
	for id, r := range all {
		out[id] = clean.LastRecord{LastDataOffset: r.DataOffset, ProducerEpoch: r.ProducerEpoch}
	}
	return out
}

// legacyHorizon is the time (ms) up to which segments were written whose old-format tombstones may go:
// delete.retention.ms before the last clean segment was written.
func (c *cleaning) legacyHorizon() int64 {
	if c.segs[0].baseOffset >= c.plan.FirstDirtyOffset {
		return 0
	}
	s := c.segs[floorSegment(c.segs, c.plan.FirstDirtyOffset-1)]
	return c.l.modTime(s).UnixMilli() - c.l.settings.Load().DeleteRetentionMs
}

// resetCleaned moves a checkpoint that lies before the log's start or beyond its end to offset.
func (l *Log) resetCleaned(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.cleaned.Load()
	if l.usable() != nil || was >= l.logStartOffset.Load() && was <= l.logEndOffset.Load() {
		return
	}
	if !l.settings.Load().Delete || was > l.logEndOffset.Load() {
		l.logger.Warn("what was compacted isn't inside the log; all of it counts as dirty", "partition", l.tp.String(),
			"logStartOffset", l.logStartOffset.Load(), "logEndOffset", l.logEndOffset.Load(), "checkpoint", was)
	}
	l.cleaned.Store(offset)
	if err := l.host.checkpointCleaned(l.dir); err != nil {
		_ = l.dir.trouble(err) // It was logged; the next start does the same again.
	}
}

// checkpoint notes how far the log is compacted.
func (c *cleaning) checkpoint(end int64) error {
	l := c.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.superseded() {
		return errSuperseded
	}
	was := l.cleaned.Load()
	l.cleaned.Store(end)
	if err := l.host.checkpointCleaned(l.dir); err != nil {
		l.cleaned.Store(was) // Without room or a descriptor for the file it is compacted again.
		return l.dir.trouble(err)
	}
	return nil
}
