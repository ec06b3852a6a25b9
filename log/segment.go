package commitlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/files"
	"github.com/ottla/ottla/log/index"
)

// The files of a segment, all named by its base offset.
const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	txnIndexSuffix  = ".txnindex"
	snapshotSuffix  = ".snapshot"
	deletedSuffix   = ".deleted"
	cleanedSuffix   = ".cleaned"
	swapSuffix      = ".swap"
)

// segmentName is the file name of an offset, without suffix: twenty digits.
func segmentName(offset int64) string { return fmt.Sprintf("%020d", offset) }

// parseSegmentName reads the offset out of a file name that ends in suffix.
func parseSegmentName(name, suffix string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	offset, err := strconv.ParseUint(digits, 10, 63) // Takes no sign.
	return int64(offset), err == nil
}

// segment is one piece of a log: a .log file and its indexes.
//
// Appends, truncation and removal need the log's mutex. Lookups need nothing: size and maximum are
// published after the bytes and entries that they cover.
type segment struct {
	baseOffset int64
	// log is pinned while it has writes that weren't flushed.
	log     files.File
	offsets *index.Offset
	times   *index.Time
	txns    *index.Txn

	// size is the file's length in bytes, as far as it holds batches.
	size atomic.Int64
	// removed says that the files are going away; what fails on them then doesn't matter.
	removed atomic.Bool

	// The rest but max is guarded by Log.mu.

	created time.Time
	// bytesSinceEntry is how many bytes follow the last index entry.
	bytesSinceEntry int
	// trimmed says that reserved room was cut off when the segment was rolled.
	trimmed bool
	// rollingTimestamp is the first batch's largest timestamp (ms), -1 while unknown: age is
	// counted from it.
	rollingTimestamp int64
	// full says that an index takes no further entry.
	full bool
	// reserved is up to where blocks of the disk are reserved, 0 if none are, or cantReserve.
	reserved int64

	max struct {
		sync.Mutex
		// timestampMs is the largest timestamp, -1 if there is none; offset is the last offset of
		// the first batch that has it.
		timestampMs, offset int64
	}
}

// segmentOptions are what a segment takes from the log's configuration.
type segmentOptions struct {
	pool          *files.Pool
	dir           string
	maxIndexBytes int32
	preallocate   int64
	// suffix is appended to the names of all files; empty but for a segment that isn't in service yet.
	suffix string
	// txnIndex says that there may be an index of transactions.
	txnIndex bool
}

// openSegment opens or creates the files of a segment. index.ErrCorrupt says that an index must be
// rebuilt, see openSegmentReset.
func openSegment(o segmentOptions, baseOffset int64) (*segment, error) {
	base := path.Join(o.dir, segmentName(baseOffset))
	s := &segment{baseOffset: baseOffset, rollingTimestamp: -1}
	s.log.Init(o.pool, base+logSuffix+o.suffix, nil)
	s.max.timestampMs, s.max.offset = -1, baseOffset
	if s.txns = index.NewTxnWithout(o.pool, base+txnIndexSuffix+o.suffix); o.txnIndex {
		s.txns = index.NewTxn(o.pool, base+txnIndexSuffix+o.suffix)
		if err := s.txns.Check(); err != nil {
			s.txns.Discard()
			return nil, err
		}
	}
	var err error
	if s.offsets, err = index.OpenOffset(o.pool, base+indexSuffix+o.suffix, baseOffset, o.maxIndexBytes); err != nil {
		s.txns.Discard()
		return nil, err
	}
	if s.times, err = index.OpenTime(o.pool, base+timeIndexSuffix+o.suffix, baseOffset, o.maxIndexBytes); err != nil {
		s.txns.Discard()
		s.offsets.Discard()
		return nil, err
	}
	return s, nil
}

// createSegment makes a new, empty segment. What a crash left under its name is emptied.
func createSegment(o segmentOptions, baseOffset int64, now time.Time) (*segment, error) {
	for _, suffix := range []string{indexSuffix, timeIndexSuffix, txnIndexSuffix} {
		if err := removeIfThere(o.pool.FS(), path.Join(o.dir, segmentName(baseOffset)+suffix+o.suffix)); err != nil {
			return nil, err
		}
	}
	s, err := openSegment(o, baseOffset)
	if err != nil {
		return nil, err
	}
	s.created = now
	if err := s.openActive(o.preallocate); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// remove removes what was made of a segment that couldn't be made whole.
func (o *segmentOptions) remove(baseOffset int64) error {
	for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix} {
		if err := removeIfThere(o.pool.FS(), path.Join(o.dir, segmentName(baseOffset)+suffix+o.suffix)); err != nil {
			return err
		}
	}
	return nil
}

// openActive readies the file for appending, made if need be: cut to its batches, with room reserved.
func (s *segment) openActive(preallocate int64) error {
	s.noteFull()
	f, err := s.log.HoldFlag(os.O_CREATE)
	if err != nil {
		return err
	}
	defer s.log.Release()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if size > s.size.Load() {
		if err := f.Truncate(s.size.Load()); err != nil {
			return err
		}
	} else {
		_ = f.Unreserve() // What a process left that was killed; it is only blocks.
	}
	if preallocate > 0 {
		return f.Preallocate(0, preallocate)
	}
	return nil
}

// discard closes everything, as soon as no reader holds it, without writing what waits.
func (s *segment) discard() {
	s.log.Retire()
	s.offsets.Discard()
	s.times.Discard()
	s.txns.Discard()
}

// setMax notes a timestamp if it is the largest so far. Requires: Log.mu held, or s not shared.
func (s *segment) setMax(timestampMs, offset int64) {
	s.max.Lock()
	defer s.max.Unlock()
	if timestampMs > s.max.timestampMs {
		s.max.timestampMs, s.max.offset = timestampMs, offset
	}
}

// maxTimestamp is the largest timestamp and the offset of the batch that has it.
func (s *segment) maxTimestamp() (timestampMs, offset int64) {
	s.max.Lock()
	defer s.max.Unlock()
	return s.max.timestampMs, s.max.offset
}

// noteFull looks whether an index is full. Requires: Log.mu held, or s not shared.
func (s *segment) noteFull() { s.full = s.offsets.IsFull() || s.times.IsFull() }

// indexBatch accounts for a batch that was written at position, and adds index entries if enough
// bytes lie behind the last ones. Requires: Log.mu held, or s not shared.
func (s *segment) indexBatch(h *batch.Header, position int64, intervalBytes int32) error {
	if s.rollingTimestamp < 0 && position == 0 {
		s.rollingTimestamp = h.MaxTimestamp
	}
	s.setMax(h.MaxTimestamp, h.LastOffset())
	if s.bytesSinceEntry > int(intervalBytes) {
		// An append of many batches may fill an index; the rest of it stays without entries.
		if err := s.offsets.Append(h.LastOffset(), position); err != nil && !errors.Is(err, index.ErrFull) {
			return err
		}
		if err := s.times.MaybeAppend(s.maxTimestamp()); err != nil && !errors.Is(err, index.ErrFull) {
			return err
		}
		s.bytesSinceEntry = 0
		s.noteFull()
	}
	s.bytesSinceEntry += h.SizeBytes()
	return nil
}

// becomeInactive ends the appends to s: the largest timestamp gets an entry and reserved room goes.
// The files stay open until they are flushed. Requires: Log.mu held.
func (s *segment) becomeInactive() error {
	if err := s.times.MaybeAppend(s.maxTimestamp()); err != nil && !errors.Is(err, index.ErrFull) {
		return err
	}
	s.noteFull() // It stays the active one if there is no room for the next.
	f, err := s.log.Hold()
	if err != nil {
		return err
	}
	defer s.log.Release()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if size == s.size.Load() {
		s.unreserve(f)
		return nil
	}
	s.reserved = 0
	return f.Truncate(s.size.Load())
}

// flush makes bytes and indexes durable.
func (s *segment) flush() error {
	if err := s.flushLog(); err != nil {
		return err
	}
	return s.flushIndexes()
}

// flushIndexes makes the indexes durable, as far as they have changed.
func (s *segment) flushIndexes() error {
	return errors.Join(s.offsets.Flush(), s.times.Flush(), s.txns.Flush())
}

func (s *segment) flushLog() error {
	f, err := s.log.Hold()
	if err != nil {
		return err
	}
	defer s.log.Release()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.log.Path(), err)
	}
	return nil
}

// keepIndexes takes care of the indexes of a segment that was recovered. Where the recovery point lies beyond
// the segment they are made durable, for no later recovery looks at it. Otherwise the next flush does it, and
// entries may wait in memory; those of a long segment, of which some had to be written, don't.
func (s *segment) keepIndexes(durable bool) error {
	if durable {
		return errors.Join(s.flushIndexes(), s.offsets.Seal(), s.times.Seal())
	}
	return errors.Join(s.offsets.FlushBegun(), s.times.FlushBegun())
}

// settleIndexes ends the making anew of the indexes.
func (s *segment) settleIndexes() {
	s.offsets.Settle()
	s.times.Settle()
	s.txns.Settle()
}

// flushPinned is flushLog of a file that is pinned; others have nothing to flush.
func (s *segment) flushPinned() error {
	f, ok := s.log.HoldPinned()
	if !ok {
		return nil
	}
	defer s.log.Release()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", s.log.Path(), err)
	}
	return nil
}

// seal says that a flushed segment isn't written any more.
func (s *segment) seal() error {
	s.log.Unpin()
	return errors.Join(s.offsets.Seal(), s.times.Seal())
}

// batchAt is a batch of a segment.
type batchAt struct {
	batch.Header
	// position is where it starts in the file, in bytes.
	position int64
}

// find returns the first batch from the position from on whose last offset is offset or larger;
// false if there is none before end. file is the segment's.
func (s *segment) find(file vfs.File, offset, from, end int64) (batchAt, bool, error) {
	return s.findIn(newScanner(file, from, end), offset)
}

// findCached is find in what is in memory, else vfs.ErrNotCached.
func (s *segment) findCached(file vfs.File, offset, from, end int64) (batchAt, bool, error) {
	sc := newScanner(file, from, end)
	sc.cached = true
	return s.findIn(sc, offset)
}

// findIn takes the scanner.
func (s *segment) findIn(sc *scanner, offset int64) (batchAt, bool, error) {
	defer sc.close()
	for {
		h, pos, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			return batchAt{}, false, nil
		case err != nil:
			return batchAt{}, false, s.corrupt(pos, err)
		case h.LastOffset() >= offset:
			return batchAt{h, pos}, true, nil
		}
	}
}

// locate is find by way of the offset index. An entry that leads to something else than the batch that has its
// offset, or one before it, isn't believed: the index has no checksum.
func (s *segment) locate(file vfs.File, offset, end int64) (batchAt, bool, error) {
	p, err := s.offsets.Lookup(offset)
	if err != nil {
		return batchAt{}, false, err
	}
	at, found, err := s.find(file, offset, p.FilePosition, end)
	astray := p.FilePosition > end || found && at.position == p.FilePosition && at.BaseOffset > p.Offset
	if p.FilePosition > 0 && (astray || err != nil && isCorrupt(err)) {
		return s.find(file, offset, 0, end)
	}
	return at, found, err
}

// locateCached is locate in what is in memory, else vfs.ErrNotCached. It leaves it to locate to doubt the index.
func (s *segment) locateCached(file vfs.File, offset, end int64) (batchAt, bool, error) {
	p, ok := s.offsets.TryLookup(offset)
	if !ok {
		return batchAt{}, false, vfs.ErrNotCached
	}
	at, found, err := s.findCached(file, offset, p.FilePosition, end)
	if err != nil || p.FilePosition > end || found && at.position == p.FilePosition && at.BaseOffset > p.Offset {
		return batchAt{}, false, vfs.ErrNotCached
	}
	return at, found, nil
}

// corrupt says that the segment has something else than a batch at position.
func (s *segment) corrupt(position int64, err error) error {
	if !errors.Is(err, errTornBatch) {
		return fmt.Errorf("read %s at position %d: %w", s.log.Path(), position, err)
	}
	return &CorruptError{Path: s.log.Path(), Position: position, Reason: err.Error()}
}

// truncateTo removes the batches that reach offset and everything after them, and returns the end
// offset that remains: offset, or less if it lay inside a batch. Requires: Log.mu held, no reader.
func (s *segment) truncateTo(offset int64, now time.Time) (int64, error) {
	f, _, err := s.log.Pin(0)
	if err != nil {
		return 0, err
	}
	at, found, err := s.locate(f, offset, s.size.Load())
	if err != nil {
		return 0, err
	}
	end := offset
	if found {
		end = min(offset, at.BaseOffset)
	} else {
		at.position = s.size.Load()
	}
	if err := errors.Join(s.offsets.TruncateTo(offset), s.times.TruncateTo(offset), s.txns.TruncateTo(offset)); err != nil {
		return 0, err
	}
	if err := f.Truncate(at.position); err != nil {
		return 0, err
	}
	s.reserved = 0
	s.noteFull()
	s.size.Store(at.position)
	s.bytesSinceEntry = int(at.position - s.offsets.Last().FilePosition)
	if at.position == 0 {
		s.created, s.rollingTimestamp = now, -1
	}
	return end, s.loadMax()
}

// loadMax finds the largest timestamp again: that of the last time index entry, or of a batch after
// the last offset index entry. Requires: Log.mu held, or s not shared.
func (s *segment) loadMax() error {
	last := s.times.Last()
	s.max.Lock()
	s.max.timestampMs, s.max.offset = last.TimestampMs, last.Offset
	s.max.Unlock()
	from, err := s.offsets.Lookup(last.Offset)
	if err != nil || s.size.Load() == 0 {
		return err
	}
	f, err := s.log.Hold()
	if err != nil {
		return err
	}
	defer s.log.Release()
	sc := newScanner(f, from.FilePosition, s.size.Load())
	defer sc.close()
	for {
		h, pos, err := sc.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.corrupt(pos, err)
		}
		s.setMax(h.MaxTimestamp, h.LastOffset())
	}
}

// firstTimestamp is the first batch's largest timestamp, -1 if there is none. It is read from the
// file once. Requires: Log.mu held.
func (s *segment) firstTimestamp() (int64, error) {
	if s.rollingTimestamp >= 0 || s.size.Load() == 0 {
		return s.rollingTimestamp, nil
	}
	f, err := s.log.Hold()
	if err != nil {
		return -1, err
	}
	defer s.log.Release()
	b, found, err := s.find(f, 0, 0, s.size.Load())
	if err != nil || !found {
		return -1, err
	}
	s.rollingTimestamp = b.MaxTimestamp
	return s.rollingTimestamp, nil
}

// files are the four files, with the functions that rename them.
func (s *segment) files() []struct {
	name   string
	rename func(string) error
} {
	return []struct {
		name   string
		rename func(string) error
	}{
		{s.log.Path(), s.log.Rename},
		{s.offsets.Path(), s.offsets.Rename},
		{s.times.Path(), s.times.Rename},
		{s.txns.Path(), s.txns.Rename},
	}
}

// hold keeps all files open until release is called: what is done with them meanwhile needs no descriptor.
func (s *segment) hold() (release func(), err error) {
	var held []func()
	release = func() {
		for _, f := range held {
			f()
		}
	}
	if _, err := s.log.Hold(); err != nil {
		return nil, err
	}
	held = append(held, s.log.Release)
	for _, x := range []interface{ Hold() (func(), error) }{s.offsets, s.times, s.txns} {
		f, err := x.Hold()
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, f)
	}
	return release, nil
}

// setDir tells that the segment's directory has another name.
func (s *segment) setDir(dir string) {
	base := path.Join(dir, segmentName(s.baseOffset))
	s.log.SetPath(base + logSuffix)
	s.offsets.SetPath(base + indexSuffix)
	s.times.SetPath(base + timeIndexSuffix)
	s.txns.SetPath(base + txnIndexSuffix)
}
