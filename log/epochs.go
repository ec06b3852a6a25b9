package commitlog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/epoch"
)

// epochCheckpointFile keeps the leader epochs of a partition, in its directory.
const epochCheckpointFile = "leader-epoch-checkpoint"

// AssignEpoch notes that the leader epoch begins at startOffset: a new leader calls it with its log end
// offset before the first append. An epoch that is known already changes nothing. It becomes durable with
// the first record from startOffset on: a load forgets an epoch without records all the same.
func (l *Log) AssignEpoch(epoch int32, startOffset int64) error {
	if err := l.usable(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.assignEpoch(epoch, startOffset)
	return nil
}

// assignEpoch is AssignEpoch for those who hold the mutex. Requires: l.mu held.
func (l *Log) assignEpoch(epoch int32, startOffset int64) {
	l.epochs.Lock()
	defer l.epochs.Unlock()
	l.epochs.cache.Assign(epoch, startOffset)
}

// epochCache keeps the name epoch free for numbers.
type epochCache = epoch.Cache

// flushEpochs makes the epochs durable that records below end were written in, if they aren't yet. It comes
// before the recovery point moves to end: recovery finds the epochs of what lies beyond in the records.
// Requires: l.mu held, so that files are written in order.
func (l *Log) flushEpochs(end int64) error {
	l.epochs.RLock()
	entries := l.epochs.cache.Entries()
	l.epochs.RUnlock()
	if slices.Equal(epochsBelow(entries, end), epochsBelow(l.epochsWritten, end)) {
		return nil
	}
	return l.writeEpochs(entries)
}

// epochsBelow are the entries that begin below end.
func epochsBelow(entries []epoch.Entry, end int64) []epoch.Entry {
	n, _ := slices.BinarySearchFunc(entries, end, func(e epoch.Entry, end int64) int { return cmp.Compare(e.StartOffset, end) })
	return entries[:n]
}

// changeEpochs lets change work on the epochs and writes them, durably, if it reports that it did. Where there is
// no room or no descriptor to, the file is left as it is until the next flush: it has too much, and only at the log's
// ends, where the next start finds it out of place.
// Requires: l.mu held, so that files are written in order.
func (l *Log) changeEpochs(change func(*epochCache) bool) error {
	l.epochs.Lock()
	changed := change(l.epochs.cache)
	entries := l.epochs.cache.Entries()
	l.epochs.Unlock()
	if !changed {
		return nil
	}
	err := l.writeEpochs(entries)
	if vfs.Scarce(err) {
		_ = l.dir.trouble(err) // The next flush comes back to it.
		return nil
	}
	return err
}

// writeEpochs writes the file. Requires: l.mu held, or l not shared.
func (l *Log) writeEpochs(entries []epoch.Entry) error {
	if err := writeFileAtomic(l.fs, path.Join(l.path, epochCheckpointFile), epoch.AppendCheckpoint(nil, entries)); err != nil {
		return fmt.Errorf("write leader epochs of %s: %w", l.tp, err)
	}
	l.epochsWritten = entries
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
