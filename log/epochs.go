package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/epoch"
)

// epochCheckpointFile keeps the leader epochs of a partition, in its directory.
const epochCheckpointFile = "leader-epoch-checkpoint"

// AssignEpoch notes, durably before anything is appended, that the leader epoch begins at startOffset: a new leader calls it with
// its log end offset before the first append. An epoch that is known already changes nothing.
func (l *Log) AssignEpoch(epoch int32, startOffset int64) error {
	if err := l.usable(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.changeEpochs(func(c *epochCache) bool { return c.Assign(epoch, startOffset) }); err != nil {
		l.dir.fail(err)
		return storageError(err)
	}
	return nil
}

// epochCache keeps the name epoch free for numbers.
type epochCache = epoch.Cache

// changeEpochs lets change work on the epochs and writes them if it reports that it did. Where there is no
// room to, the write is owed to the next change or append: until then the file may lack what was assigned
// and have what was cut, all of it at the log's ends, where the next start finds it out of place.
// Requires: l.mu held, so that files are written in order, or l not shared.
func (l *Log) changeEpochs(change func(*epochCache) bool) error {
	l.epochs.Lock()
	changed := change(l.epochs.cache)
	l.epochs.Unlock()
	if !changed {
		return nil
	}
	err := l.writeEpochs(l.epochs.cache)
	if vfs.NoRoom(err) {
		l.epochsOwed = true
		_ = l.dir.ranOut(err) // The next append is refused if it is still so.
		return nil
	}
	return err
}

// tryEpochs changes the epochs only if they could be written. Requires: l.mu held.
func (l *Log) tryEpochs(change func(*epochCache)) error {
	next := epoch.NewCache(l.epochs.cache.Entries())
	change(next)
	if err := l.writeEpochs(next); err != nil {
		return err
	}
	l.epochs.Lock()
	l.epochs.cache = next
	l.epochs.Unlock()
	return nil
}

// writeEpochs replaces the checkpoint. Requires: as changeEpochs.
func (l *Log) writeEpochs(c *epochCache) error {
	if err := writeFileAtomic(l.fs, path.Join(l.path, epochCheckpointFile), epoch.AppendCheckpoint(nil, c.Entries())); err != nil {
		return fmt.Errorf("write leader epochs of %s: %w", l.tp, err)
	}
	l.epochsOwed = false
	return nil
}

// EpochForOffset is the leader epoch that the record at offset was written in, -1 if unknown.
func (l *Log) EpochForOffset(offset int64) int32 {
	l.epochs.RLock()
	defer l.epochs.RUnlock()
	return l.epochs.cache.ForOffset(offset)
}

// EpochEndOffset answers OffsetForLeaderEpoch; see epoch.Cache.EndOffset.
func (l *Log) EpochEndOffset(epoch int32) EpochEnd {
	l.epochs.RLock()
	defer l.epochs.RUnlock()
	e, offset := l.epochs.cache.EndOffset(epoch, l.logEndOffset.Load())
	return EpochEnd{LeaderEpoch: e, EndOffset: offset}
}

// readEpochs reads the checkpoint in a partition's directory. One that can't be parsed is an error;
// a missing one is empty.
func readEpochs(fs vfs.FS, dir string) ([]epoch.Entry, error) {
	name := path.Join(dir, epochCheckpointFile)
	b, err := readFile(fs, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := epoch.ParseCheckpoint(b)
	if err != nil {
		return nil, &CorruptError{Path: name, Reason: err.Error()}
	}
	return entries, nil
}
