package commitlog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ottla/ottla/internal/vfs"
)

// Flush makes everything appended so far durable. After an error the directory is offline: what
// the page cache holds can't be trusted any more; but ErrNoDescriptors says that files couldn't be opened, and that the
// flush is owed: it is made up for in the background. Where a full disk takes the records' bytes but not
// the indexes' the records are durable all the same; the recovery point then stays, so that the
// indexes are written by a later flush or by recovery.
func (l *Log) Flush() error { return l.flushTo(l.logEndOffset.Load()) }

// flushTo returns once everything below offset is durable. Callers that wait for each other share
// one flush: whoever comes in first flushes for all that were appended by then.
func (l *Log) flushTo(offset int64) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.recoveryPoint.Load() >= offset && l.owes() == nil {
		return nil
	}
	return l.flushLocked()
}

// flushInherited makes durable what an earlier life of the log left, before anything is appended for which flush.messages
// is promised: that promise may need no file that isn't open.
func (l *Log) flushInherited() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if !l.inherited.Load() {
		return nil
	}
	return l.flushLocked()
}

// flushRecords returns once the records below offset are durable, which is all that flush.messages promises: a crash
// loses none of them. Indexes, producer snapshots and epochs may not be durable yet, so the recovery point stays, and
// recovery makes them anew; checkpointing brings them after. This is one sync where a flush takes three. Callers share
// a sync as those of flushTo do. Want of descriptors doesn't keep it from its promise. Requires: !l.inherited.
func (l *Log) flushRecords(offset int64) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.durable() >= offset {
		return nil
	}
	l.mu.Lock()
	// Since the last flush there was a roll, or a file was made: its name must be durable, too.
	more := l.namesUnsynced || l.rolledFrom != NoLimit || len(l.unsynced) > 0 || l.durable() < l.active().baseOffset
	l.mu.Unlock()
	if more {
		if err := l.flushLocked(); !IsScarce(err) {
			return err
		}
	}
	return l.syncRecords()
}

// syncRecords makes all records durable by what is open already: files with records that weren't synced are pinned, and the
// directory is held while a segment's name in it isn't durable. Requires: l.flushing held, !l.inherited.
func (l *Log) syncRecords() error {
	l.mu.Lock()
	active, end := l.active(), l.logEndOffset.Load()
	segs := *l.segments.Load()
	segs = segs[floorSegment(segs, l.durable()):]
	dir := l.names
	l.names = nil
	l.mu.Unlock()
	err := syncPinned(segs, dir)
	if err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recordsDurable.Store(end)
	if l.active() == active && l.logEndOffset.Load() == end {
		active.log.Unpin() // Nothing was written since.
	}
	return nil
}

// syncPinned syncs the files of segments that have writes that weren't, and the directory, which it closes; it may be nil.
func syncPinned(segs []*segment, dir vfs.Dir) error {
	if dir != nil {
		defer dir.Close()
	}
	for _, s := range segs {
		if err := s.flushPinned(); err != nil && !s.removed.Load() {
			return err
		}
	}
	if dir == nil {
		return nil
	}
	return dir.Sync()
}

// durable is the offset below which all records are known to be on the disk.
func (l *Log) durable() int64 { return max(l.recoveryPoint.Load(), l.recordsDurable.Load()) }

// unsynced is what a flush makes durable beside the segments.
type unsynced struct {
	// names says that there are new names, dir is l.names.
	names bool
	dir   vfs.Dir
	// snapshots are the offsets of producer snapshots, rolledFrom is l.rolledFrom.
	snapshots  []int64
	rolledFrom int64
}

// takeUnsynced hands what isn't durable to a flush. Requires: l.flushing and l.mu held.
func (l *Log) takeUnsynced() unsynced {
	u := unsynced{names: l.namesUnsynced, dir: l.names, snapshots: l.unsynced, rolledFrom: l.rolledFrom}
	l.namesUnsynced, l.names, l.unsynced, l.rolledFrom = false, nil, nil, NoLimit
	l.namesSyncing = u.names
	return u
}

// putBack takes back what a flush didn't make durable. Requires: l.flushing held.
func (l *Log) putBack(u unsynced) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.namesUnsynced, l.namesSyncing = l.namesUnsynced || u.names, false
	if l.names == nil && l.gone.Load() == nil {
		l.names = u.dir
	} else {
		u.close()
	}
	l.unsynced = append(u.snapshots, l.unsynced...) // Those that are gone by now don't matter.
	l.rolledFrom = min(l.rolledFrom, u.rolledFrom)
}

func (u *unsynced) close() {
	if u.dir != nil {
		_ = u.dir.Close() // Nothing is written through it.
	}
}

// flushLocked flushes all there is. Requires: l.flushing held, l.mu not.
func (l *Log) flushLocked() error {
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return err
	}
	end, from := l.logEndOffset.Load(), l.recoveryPoint.Load()
	epochsErr := l.flushEpochs(end)
	if epochsErr != nil && !vfs.Scarce(epochsErr) {
		l.mu.Unlock()
		l.dir.fail(epochsErr)
		return storageError(epochsErr)
	}
	segs, path := *l.segments.Load(), l.path
	u := l.takeUnsynced()
	l.mu.Unlock()

	records := from < end || u.rolledFrom != NoLimit
	active := segs[len(segs)-1]
	if records {
		// With a segment that ends at from: if it was rolled since, its end and its indexes have changed.
		segs = segs[floorSegment(segs, min(from-1, u.rolledFrom)):]
	} else { // No records, but perhaps index entries and files.
		segs = segs[len(segs)-1:]
	}
	unwritten, err := l.syncAll(segs, records, path, &u)
	if vfs.Scarce(err) {
		l.putBack(u)
		return l.putOff(err)
	}
	u.close()
	if err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	l.inherited.Store(false)
	if unwritten == nil {
		unwritten = epochsErr
	}
	if unwritten != nil {
		l.putBack(unsynced{rolledFrom: u.rolledFrom})
		_ = l.putOff(unwritten)
		return nil
	}
	l.flushed(segs, active, end)
	return nil
}

// putOff notes that a flush is owed, and returns what whoever asked for it sees. Requires: l.flushing held.
func (l *Log) putOff(cause error) error {
	l.owe(cause) // First, see watchDescriptors.
	return l.dir.trouble(cause)
}

// flushed notes that all below end is durable; segs are the segments that were synced. Requires: l.flushing held.
func (l *Log) flushed(segs []*segment, active *segment, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if segs[len(segs)-1].trimmed {
		end-- // Rolled meanwhile, perhaps after its sync: the next flush must come back to it.
	}
	l.recoveryPoint.Store(max(l.recoveryPoint.Load(), end))
	if l.active() == active && l.logEndOffset.Load() == end {
		active.log.Unpin() // Nothing was written since.
	}
	l.namesSyncing = false
	l.owed.Store(nil)
	l.lastFlush.Store(l.clk.Now().UnixMilli())
}

// syncAll makes segments, snapshots and names durable, and then lets the files of all segments but the last
// close. Without records only indexes are flushed. Segments that retention removes meanwhile don't
// matter. unwritten says that there is no room, or no descriptor, for some of the indexes: their entries wait, the files
// of their segments stay open, and all else is durable.
func (l *Log) syncAll(segs []*segment, records bool, path string, u *unsynced) (unwritten, err error) {
	var whole []*segment // Of those that may close.
	for i, s := range segs {
		err := s.flushIndexes()
		if vfs.Scarce(err) {
			unwritten, err = err, nil
		} else if i < len(segs)-1 {
			whole = append(whole, s)
		}
		if records && err == nil {
			err = s.flushLog()
		}
		if err != nil && !s.removed.Load() {
			return nil, err
		}
	}
	if err := l.syncSnapshots(path, u.snapshots); err != nil {
		return nil, err
	}
	if u.names {
		if err := l.syncNames(path, u.dir); err != nil {
			return nil, err
		}
	}
	for _, s := range whole {
		if err := s.seal(); err != nil && !s.removed.Load() {
			return nil, err
		}
	}
	return unwritten, nil
}

func (l *Log) syncSnapshots(path string, offsets []int64) error {
	for _, offset := range offsets {
		err := syncFile(l.fs, path+"/"+segmentName(offset)+snapshotSuffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // Removed with its segment.
			return err
		}
	}
	return nil
}

// syncNames makes the names in the partition's directory durable, by way of dir if that isn't nil.
func (l *Log) syncNames(path string, dir vfs.Dir) error {
	var err error
	if dir != nil {
		err = dir.Sync()
	} else {
		err = l.fs.SyncDir(path)
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}

// flushDue says that flush.ms has passed since the last flush and there is something to flush.
func (l *Log) flushDue(nowMs int64) bool {
	interval := l.settings.Load().FlushInterval.Milliseconds()
	return interval > 0 && l.recoveryPoint.Load() < l.logEndOffset.Load() && nowMs-l.lastFlush.Load() >= interval
}
