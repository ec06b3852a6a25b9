package commitlog

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/validate"
)

// maybeRoll starts a new segment if the active one can't or shouldn't take the records.
// Requires: l.mu held.
func (l *Log) maybeRoll(cfg *settings, res *validate.Result) (bool, error) {
	seg := l.active()
	due, err := l.shouldRoll(cfg, seg, res)
	if err != nil {
		return false, l.dir.trouble(err)
	}
	if !due {
		return false, nil
	}
	base := l.logEndOffset.Load()
	if res.LastOffset-base > math.MaxInt32 {
		base = res.FirstOffset // A gap that relative offsets can't span.
	}
	return l.roll(base)
}

// shouldRoll decides by size, age, full indexes and the reach of relative offsets, as Kafka's
// LogSegment does. Requires: l.mu held.
func (l *Log) shouldRoll(cfg *settings, seg *segment, res *validate.Result) (bool, error) {
	size := seg.size.Load()
	if size > int64(cfg.SegmentBytes)-int64(len(res.Records)) && size > 0 {
		return true, nil
	}
	if res.LastOffset-seg.baseOffset > math.MaxInt32 {
		return true, nil
	}
	if size == 0 {
		return false, nil
	}
	if seg.full {
		return true, nil
	}
	first, err := seg.firstTimestamp()
	if err != nil {
		return false, err
	}
	waitedMs := l.clk.Now().Sub(seg.created).Milliseconds()
	if first >= 0 {
		waitedMs = res.MaxTimestamp - first
	}
	age := cfg.SegmentAge.Milliseconds()
	if cfg.Compact && cfg.MaxCompactionLagMs > 0 {
		age = min(age, cfg.MaxCompactionLagMs) // The active segment is never compacted.
	}
	return waitedMs > age-l.jitter.Milliseconds(), nil
}

// roll makes a new active segment at baseOffset. It reports false if the active one is that already.
// The old one is flushed later, in the background. Requires: l.mu held.
func (l *Log) roll(baseOffset int64) (bool, error) {
	old := l.active()
	if old.size.Load() == 0 && old.baseOffset == baseOffset {
		return false, nil
	}
	if err := l.rollFiles(old, baseOffset); err != nil {
		return false, l.dir.trouble(err)
	}
	l.logger.Info("rolled a new log segment", "partition", l.tp.String(), "baseOffset", baseOffset)
	return true, nil
}

// rollFiles makes the files of a new segment. Without room or descriptors for them the old one stays the active one.
// Requires: l.mu held.
func (l *Log) rollFiles(old *segment, baseOffset int64) error {
	if err := l.holdNames(); err != nil {
		return err
	}
	defer func() {
		if !l.namesUnsynced {
			l.closeNames() // There is no new segment.
		}
	}()
	if l.namesUnsynced || l.namesSyncing {
		// At most one name may be at risk: a crash mustn't lose a segment and keep its successor.
		if err := l.syncNames(l.path, l.names); err != nil {
			return err
		}
	}
	if err := l.trim(old); err != nil {
		return err
	}
	l.producers.SetMapEndOffset(baseOffset)
	cfg := l.settings.Load()
	err := l.takeSnapshot()
	var seg *segment
	if err == nil {
		seg, err = l.createActive(&cfg.Config, baseOffset)
	}
	if err != nil {
		l.producers.SetMapEndOffset(l.logEndOffset.Load())
		return err
	}
	l.namesUnsynced = true
	l.rolledFrom = min(l.rolledFrom, old.baseOffset)
	l.drawJitter(cfg)
	l.setSegments(append(slices.Clone(*l.segments.Load()), seg))
	l.tail.reset(seg, l.logEndOffset.Load())
	return nil
}

// holdNames opens the partition's directory, if it isn't open, until the names in it are durable. Requires: l.mu held.
func (l *Log) holdNames() error {
	if l.names != nil {
		return nil
	}
	dir, err := l.fs.OpenDir(l.path)
	if err != nil {
		return err
	}
	l.names = dir
	return nil
}

// trim ends the appends to a segment. Room that was reserved behind its batches must not come back with a
// crash once recovery begins beyond the segment. Requires: l.mu held.
func (l *Log) trim(old *segment) error {
	file, err := old.log.Hold()
	if err != nil {
		return err
	}
	defer old.log.Release()
	size, err := file.Size()
	if err != nil {
		return err
	}
	if err := old.becomeInactive(); err != nil || size == old.size.Load() {
		return err
	}
	old.trimmed = true
	if l.recoveryPoint.Load() < l.logEndOffset.Load() {
		return nil // The next flush syncs it.
	}
	return old.flushLog()
}

// createActive makes an empty segment; without room or descriptors for it nothing is left of it. Requires: l.mu and
// l.names held.
func (l *Log) createActive(c *Config, baseOffset int64) (*segment, error) {
	o := l.segmentOptions(c)
	seg, err := createSegment(o, baseOffset, l.clk.Now())
	if err == nil || !vfs.Scarce(err) {
		return seg, err
	}
	if rerr := o.remove(baseOffset); rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	// Durably: the old segment may grow beyond the name of a file that came back.
	return nil, errors.Join(err, l.syncNames(l.path, l.names))
}

// drawJitter chooses the next segment's jitter. Requires: l.mu held, or l not shared.
func (l *Log) drawJitter(cfg *settings) {
	l.jitter = 0
	if limit := min(cfg.SegmentJitter, cfg.SegmentAge); limit > 0 {
		l.jitter = time.Duration(l.host.jitter(int64(limit)))
	}
}

// snapshotPath is the file of the producer state at offset. Requires: l.mu held, or l not shared.
func (l *Log) snapshotPath(offset int64) string {
	return path.Join(l.path, segmentName(offset)+snapshotSuffix)
}

// takeSnapshot writes the producer state, which becomes durable with the next flush. The file
// carries a checksum, so a torn one is recognised. Requires: l.mu held, or l not shared.
func (l *Log) takeSnapshot() error {
	offset := l.producers.MapEndOffset()
	if n := len(l.snapshots); n > 0 && l.snapshots[n-1] >= offset {
		return nil
	}
	f, err := l.fs.OpenFile(l.snapshotPath(offset), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(l.producers.AppendSnapshot(nil), 0); err != nil {
		err = fmt.Errorf("write %s: %w", l.snapshotPath(offset), err)
		if vfs.NoRoom(err) {
			err = errors.Join(err, l.fs.Remove(l.snapshotPath(offset)))
		}
		return err
	}
	l.snapshots = append(l.snapshots, offset)
	l.unsynced = append(l.unsynced, offset)
	l.namesUnsynced = true
	return nil
}

// syncFile makes a closed file durable.
func syncFile(fs vfs.FS, name string) error {
	f, err := fs.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

// dropSnapshots removes the snapshots for which drop says so. Requires: l.mu held, or l not shared.
func (l *Log) dropSnapshots(drop func(offset int64) bool) error {
	kept := make([]int64, 0, len(l.snapshots))
	for _, offset := range l.snapshots {
		if !drop(offset) {
			kept = append(kept, offset)
			continue
		}
		if err := removeIfThere(l.fs, l.snapshotPath(offset)); err != nil {
			return err
		}
	}
	l.snapshots = kept
	l.unsynced = slices.DeleteFunc(l.unsynced, drop)
	return nil
}
