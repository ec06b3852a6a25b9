package commitlog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/vfs"
)

// errSuperseded ends a compaction whose segments were truncated, deleted or closed meanwhile, or whose
// topic isn't compacted any more. Nothing is wrong then.
var errSuperseded = fmt.Errorf("the log has changed under its compaction")

// swap puts a compacted segment in the place of those it was made of, so that a crash leaves either. The
// steps, of which each is durable before the next one:
//
//	.cleaned names        so that each rename leaves one name or the other
//	.cleaned -> .swap     before it, recovery removes .cleaned files; after it, recovery ends the swap
//	old -> .deleted       recovery removes what the .swap file covers, and .deleted files
//	.swap -> final name   the .log file before its indexes
//
// Readers find the new segment before the third step; the old ones' files stay readable for those who
// began before, and are removed later. (Kafka: LocalLog.replaceSegments.)
//
// Appends don't wait for the syncs, which l.mu isn't held over: a roll only adds names behind those that are exchanged,
// and its sync makes durable what is done of a step, which may be lost or not anyway. Whatever else changes names
// waits: truncation, deletion of the log and its moves for l.flushing, retention and DeleteRecords for endSwap.
func (l *Log) swap(c *cleaning, s *cleanedSegment, old []*segment) error {
	l.flushing.Lock() // Keeps out truncation, deletion of the log, and flushes.
	defer l.flushing.Unlock()
	if err := l.mayReplace(c, old); err != nil {
		return err
	}
	dir, err := l.fs.OpenDir(l.path) // Nothing is to be opened once it has begun.
	if err != nil {
		return l.dir.trouble(err)
	}
	defer dir.Close()
	if done, err := l.swapFiles(dir, s, old); err != nil {
		l.dir.fail(err)
		return storageError(err)
	} else if !done {
		return errSuperseded
	}
	l.reading.Lock()   // No reader is still looking for the old files.
	l.reading.Unlock() //nolint:staticcheck // An empty section is the point.
	names := make([]string, 0, 4*len(old))
	for _, o := range old {
		for _, f := range o.files() {
			names = append(names, f.name)
		}
	}
	l.host.removeAfter(l.settings.Load().FileDeleteDelay, func() {
		if err := l.removeFiles(names); err != nil && l.dir.offline() == nil && l.gone.Load() == nil {
			l.logger.Warn("can't remove compacted segments", "partition", l.tp.String(), "error", err)
		}
	})
	return nil
}

// mayReplace says whether the old segments are still what was compacted.
func (l *Log) mayReplace(c *cleaning, old []*segment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.superseded() || l.indexOf(old) < 0 {
		return errSuperseded
	}
	return nil
}

// indexOf is where a run of segments stands among the log's, -1 if it doesn't. Requires: l.mu held.
func (l *Log) indexOf(run []*segment) int {
	segs := *l.segments.Load()
	i := slices.Index(segs, run[0])
	if i < 0 || i+len(run) >= len(segs) || !slices.Equal(segs[i:i+len(run)], run) {
		return -1
	}
	return i
}

// swapFiles does the steps; false says that retention was quicker. Requires: l.flushing held, which also
// keeps l.path.
func (l *Log) swapFiles(dir vfs.Dir, s *cleanedSegment, old []*segment) (bool, error) {
	if err := dir.Sync(); err != nil {
		return false, err
	}
	if err := renameSuffix(s.segment, cleanedSuffix, swapSuffix); err != nil {
		return false, err
	}
	if err := dir.Sync(); err != nil {
		return false, err
	}
	if !l.beginSwap(s, old) {
		return false, l.abandonSwap(dir, s.segment)
	}
	defer l.endSwap()
	if err := l.retireReplaced(dir, s.end, old); err != nil {
		return false, err
	}
	if err := s.log.Rename(strings.TrimSuffix(s.log.Path(), swapSuffix)); err != nil {
		return false, err
	}
	if err := dir.Sync(); err != nil {
		return false, err
	}
	if err := renameSuffix(s.segment, swapSuffix, ""); err != nil {
		return false, err
	}
	if err := l.dropReplaced(old); err != nil {
		return false, err
	}
	return true, dir.Sync()
}

// beginSwap has readers find the new segment; false says that retention was quicker. From now on until endSwap
// retention waits. Requires: l.flushing held.
func (l *Log) beginSwap(s *cleanedSegment, old []*segment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.indexOf(old)
	if i < 0 {
		return false
	}
	l.setSegments(slices.Replace(slices.Clone(*l.segments.Load()), i, i+len(old), s.segment))
	l.swapping = true
	return true
}

func (l *Log) endSwap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swapping = false
	l.swapped.Broadcast()
}

// awaitSwap returns once no segment's files are being exchanged: those of the new one have several names until then,
// and those of the old ones mustn't come back. It gives l.mu up meanwhile. Requires: l.mu held.
func (l *Log) awaitSwap() {
	for l.swapping {
		l.swapped.Wait()
	}
}

// dropReplaced removes the snapshots of segments that were replaced.
func (l *Log) dropReplaced(old []*segment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropSnapshots(func(offset int64) bool {
		return slices.ContainsFunc(old[1:], func(o *segment) bool { return o.baseOffset == offset })
	})
}

// retireReplaced renames the old segments to .deleted. Those from end on, where the new segment ends, wouldn't
// be removed by a recovery: a crash must not bring back a record and not the tombstone after it, so each of
// their names is durable before the next one goes, oldest first. Requires: the swap has begun.
func (l *Log) retireReplaced(dir vfs.Dir, end int64, old []*segment) error {
	for _, o := range old {
		o.removed.Store(true)
		for _, f := range o.files() {
			if err := f.rename(f.name + deletedSuffix); err != nil {
				return fmt.Errorf("delete %s: %w", f.name, err)
			}
		}
		o.discard()
		if o.baseOffset >= end {
			if err := dir.Sync(); err != nil {
				return err
			}
		}
	}
	return dir.Sync()
}

// abandonSwap removes a segment that is still a .swap, durably. Requires: l.flushing held.
func (l *Log) abandonSwap(dir vfs.Dir, s *segment) error {
	s.discard()
	for _, f := range s.files() {
		if err := removeIfThere(l.fs, f.name); err != nil {
			return err
		}
	}
	return dir.Sync()
}

// renameSuffix gives all files of a segment another suffix.
func renameSuffix(s *segment, from, to string) error {
	for _, f := range s.files() {
		base, ok := strings.CutSuffix(f.name, from)
		if !ok {
			continue
		}
		if err := f.rename(base + to); err != nil {
			return fmt.Errorf("rename %s: %w", f.name, err)
		}
	}
	return nil
}
