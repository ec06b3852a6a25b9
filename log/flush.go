package commitlog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ottla/ottla/internal/vfs"
)

// Flush makes everything appended so far durable. After an error the directory is offline: what
// the page cache holds can't be trusted any more. Where a full disk takes the records' bytes but not
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
	if l.recoveryPoint.Load() >= offset {
		return nil
	}
	return l.flushLocked()
}

// flushRecords returns once the records below offset are durable, which is all that flush.messages promises: a crash
// loses none of them. Indexes, producer snapshots and epochs may not be durable yet, so the recovery point stays, and
// recovery makes them anew; checkpointing brings them after. This is one sync where a flush takes three. Callers share
// a sync as those of flushTo do.
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
	active, end := l.active(), l.logEndOffset.Load()
	// Since the last flush there was a roll, or a file was made: its name must be durable, too.
	more := l.namesUnsynced || l.rolledFrom != NoLimit || len(l.unsynced) > 0 || l.durable() < active.baseOffset
	l.mu.Unlock()
	if more {
		return l.flushLocked()
	}
	if err := active.flushLog(); err != nil {
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

// durable is the offset below which all records are known to be on the disk.
func (l *Log) durable() int64 { return max(l.recoveryPoint.Load(), l.recordsDurable.Load()) }

// flushLocked flushes all there is. Requires: l.flushing held, l.mu not.
func (l *Log) flushLocked() error {
	l.mu.Lock()
	if err := l.usable(); err != nil {
		l.mu.Unlock()
		return err
	}
	end, from := l.logEndOffset.Load(), l.recoveryPoint.Load()
	epochsErr := l.flushEpochs(end)
	if epochsErr != nil && !vfs.NoRoom(epochsErr) {
		l.mu.Unlock()
		l.dir.fail(epochsErr)
		return storageError(epochsErr)
	}
	segs := *l.segments.Load()
	path, names := l.path, l.namesUnsynced
	snapshots := l.unsynced
	rolledFrom := l.rolledFrom
	l.namesUnsynced, l.unsynced, l.rolledFrom = false, nil, NoLimit
	l.mu.Unlock()

	records := from < end || rolledFrom != NoLimit
	active := segs[len(segs)-1]
	if records {
		// With a segment that ends at from: if it was rolled since, its end and its indexes have changed.
		segs = segs[floorSegment(segs, min(from-1, rolledFrom)):]
	} else { // No records, but perhaps index entries and files.
		segs = segs[len(segs)-1:]
	}
	noRoom, err := l.syncAll(segs, records, path, names, snapshots)
	if err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	if noRoom == nil {
		noRoom = epochsErr
	}
	if noRoom != nil {
		_ = l.dir.ranOut(noRoom)
		l.indexesOwed.Store(true)
		l.mu.Lock()
		l.rolledFrom = min(l.rolledFrom, rolledFrom)
		l.mu.Unlock()
		return nil
	}
	l.mu.Lock()
	if segs[len(segs)-1].trimmed {
		end-- // Rolled meanwhile, perhaps after its sync: the next flush must come back to it.
	}
	l.recoveryPoint.Store(max(l.recoveryPoint.Load(), end))
	if l.active() == active && l.logEndOffset.Load() == end {
		active.log.Unpin() // Nothing was written since.
	}
	l.mu.Unlock()
	l.indexesOwed.Store(false)
	l.lastFlush.Store(l.clk.Now().UnixMilli())
	return nil
}

// syncAll makes segments, snapshots and names durable, and lets the files of all segments but the last
// close. Without records only indexes are flushed. Segments that retention removes meanwhile don't
// matter. noRoom says that there is none for some of the indexes: their entries wait, their files stay
// open, and all else is durable.
func (l *Log) syncAll(segs []*segment, records bool, path string, names bool, snapshots []int64) (noRoom, err error) {
	for i, s := range segs {
		err := s.flushIndexes()
		unwritten := vfs.NoRoom(err)
		if unwritten {
			noRoom, err = err, nil
		}
		if records && err == nil {
			err = s.flushLog()
		}
		if err == nil && !unwritten && i < len(segs)-1 {
			err = s.seal()
		}
		if err != nil && !s.removed.Load() {
			return nil, err
		}
	}
	for _, offset := range snapshots {
		err := syncFile(l.fs, path+"/"+segmentName(offset)+snapshotSuffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // Removed with its segment.
			return nil, err
		}
	}
	if !names {
		return noRoom, nil
	}
	if err := l.fs.SyncDir(path); err != nil {
		return nil, fmt.Errorf("sync %s: %w", path, err)
	}
	return noRoom, nil
}

// flushDue says that flush.ms has passed since the last flush and there is something to flush.
func (l *Log) flushDue(nowMs int64) bool {
	interval := l.settings.Load().FlushInterval.Milliseconds()
	return interval > 0 && l.recoveryPoint.Load() < l.logEndOffset.Load() && nowMs-l.lastFlush.Load() >= interval
}
