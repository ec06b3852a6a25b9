package commitlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/producer"
)

// copyBegin is where a copy of a log begins: at the batch that has the log's start, with what the producers
// have done before it, which the batches that are left may not tell.
type copyBegin struct {
	offset    int64
	producers *producer.State
}

// copyBegin finds out where a copy of l begins.
func (l *Log) copyBegin() (copyBegin, error) {
	var start, offset int64
	var segs []*segment
	var snapshots []int64
	for {
		l.mu.Lock()
		if err := l.usable(); err != nil {
			l.mu.Unlock()
			return copyBegin{}, err
		}
		start, segs, snapshots = l.logStartOffset.Load(), *l.segments.Load(), slices.Clone(l.snapshots)
		l.mu.Unlock()
		var err error
		if offset, err = l.batchStart(start); err == nil {
			break
		}
		if !errors.Is(err, kerr.OffsetOutOfRange) || l.logStartOffset.Load() == start {
			return copyBegin{}, err
		}
		// The start has moved on meanwhile.
	}
	state := l.newProducers()
	from := min(segs[0].baseOffset, offset)
	state.TruncateFullyAndStartAt(from)
	for _, at := range slices.Backward(snapshots) {
		if at > offset {
			continue
		}
		b, err := readFile(l.fs, l.snapshotPath(at))
		if err == nil {
			err = state.LoadSnapshot(b, at, l.clk.Now().UnixMilli())
		}
		if err == nil {
			from = at
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, producer.ErrCorruptSnapshot) {
			return copyBegin{}, storageError(err)
		}
	}
	err := l.scanSegments(segs, from, offset, func(_ *segment, file vfs.File, h *batch.Header, pos int64) error {
		b := batch.Batch{Header: *h}
		if !b.HasProducerID() || h.LastOffset() < state.MapEndOffset() {
			return nil
		}
		if h.Attributes.IsControl() {
			var err error
			if b, err = readBatch(file, h, pos); err != nil {
				return err
			}
		}
		_, _, err := state.Replay(&b)
		return err
	})
	if err != nil {
		return copyBegin{}, storageError(fmt.Errorf("producer state of %s at offset %d: %w", l.tp, offset, err))
	}
	state.SetMapEndOffset(offset)
	return copyBegin{offset: offset, producers: state}, nil
}

// batchStart is the base offset of the batch that has an offset; the offset itself if it isn't inside one.
func (l *Log) batchStart(offset int64) (int64, error) {
	info, err := l.Read(ReadOptions{Offset: offset, MaxBytes: 0, MinOneBatch: true, UpperBound: NoLimit})
	if err != nil || info.Records == nil {
		return offset, err
	}
	defer info.Records.Release()
	b := make([]byte, info.Records.Len())
	if err := readFull(info.Records, b); err != nil {
		return 0, storageError(err)
	}
	first, _, err := batch.Parse(b)
	if err != nil {
		return 0, storageError(fmt.Errorf("batch of %s at offset %d: %w", l.tp, offset, err))
	}
	if first.Magic < batch.MagicV2 {
		return offset, nil // A follower takes these by their last offset.
	}
	return min(offset, first.BaseOffset), nil
}

// readFull reads the whole of a slice.
func readFull(s *Slice, b []byte) error {
	n, err := s.ReadAt(b, s.Position())
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// beginWith hands the producers to a future log that has no records.
func (l *Log) beginWith(b copyBegin) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.producers = b.producers
	l.publishUnstable()
	if err := l.dropSnapshots(func(int64) bool { return true }); err != nil {
		return err
	}
	return l.takeSnapshot()
}

// CopyToFuture does one step of a move: it copies what follows in the future log, about len(buf) bytes, which is
// more only for a larger batch. It returns how many bytes it copied, and whether the future log has reached
// the end that the log had when the step began. One goroutine at a time calls it for a log.
func (l *Log) CopyToFuture(buf []byte) (n int, atEnd bool, err error) {
	l.copying.Lock()
	defer l.copying.Unlock()
	f := l.future.Load()
	if f == nil {
		return 0, false, errNoMove
	}
	if err := l.usable(); err != nil {
		return 0, false, err
	}
	end := l.logEndOffset.Load()
	if n, err = l.copyTo(f, buf); err != nil {
		return 0, false, err
	}
	return n, f.logEndOffset.Load() >= end, nil
}

// copyTo makes the future log follow the start of l, and copies a piece. Requires: l.copying held.
func (l *Log) copyTo(f *Log, buf []byte) (int, error) {
	start := l.logStartOffset.Load()
	switch err := l.leadStart(f); {
	case errors.Is(err, kerr.OffsetOutOfRange) && l.logStartOffset.Load() > start:
		return 0, nil // As below.
	case err != nil:
		return 0, err
	}
	from, end := f.logEndOffset.Load(), l.logEndOffset.Load()
	if from >= end {
		return 0, nil
	}
	// At the beginning the first batch may start before what may be read.
	at := max(from, l.logStartOffset.Load())
	info, err := l.Read(ReadOptions{Offset: at, MaxBytes: len(buf), MinOneBatch: true, UpperBound: end})
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange) && l.logStartOffset.Load() > at:
		return 0, nil // The start has moved on meanwhile; the next step follows it.
	case err != nil:
		return 0, err
	case info.Records == nil:
		return 0, f.skipTo(end) // Compaction left a gap at the end.
	}
	defer info.Records.Release()
	if n := info.Records.Len(); n > len(buf) {
		buf = make([]byte, n)
	} else {
		buf = buf[:n]
	}
	if err := readFull(info.Records, buf); err != nil {
		return 0, storageError(fmt.Errorf("copy %s from offset %d: %w", l.tp, from, err))
	}
	whole, err := wholeBatches(buf)
	if err != nil {
		return 0, storageError(fmt.Errorf("copy %s from offset %d: %w", l.tp, from, err))
	}
	if _, err := f.Append(whole, AppendOptions{LeaderEpoch: math.MaxInt32, Origin: OriginReplication}); err != nil {
		return 0, fmt.Errorf("copy %s to %s: %w", l.tp, f.dir.path, err)
	}
	f.SetHighWatermark(l.highWatermark.Load())
	return len(whole), nil
}

// wholeBatches leaves out a last batch that isn't complete.
func wholeBatches(b []byte) ([]byte, error) {
	for rest := b; ; {
		if len(rest) == 0 {
			return b, nil
		}
		_, next, err := batch.Parse(rest)
		if errors.Is(err, batch.ErrTruncated) && len(rest) < len(b) {
			return b[:len(b)-len(rest)], nil
		}
		if err != nil {
			return nil, err
		}
		rest = next
	}
}

// leadStart makes the future log's start follow that of l. The copy begins again where l's start lies beyond all that
// was copied, and where the future log begins before a batch of l does or ends after l, which was then cut inside its
// first batch. Requires: l.copying held, l.mu not.
func (l *Log) leadStart(f *Log) error {
	start, end := l.logStartOffset.Load(), f.logEndOffset.Load()
	again := f.logStartOffset.Load() > start || end > l.logEndOffset.Load()
	if end <= start { // Else it has a batch, and so ends where one of l does.
		first, err := l.batchStart(start)
		if err != nil {
			return err
		}
		again = again || end != first
	}
	if again {
		b, err := l.copyBegin()
		if err != nil {
			return err
		}
		if err := f.TruncateFullyAndStartAt(b.offset); err != nil {
			return err
		}
		if err := f.beginWith(b); err != nil {
			return f.dir.trouble(err)
		}
		start = l.logStartOffset.Load()
	}
	if start <= f.logStartOffset.Load() || start > f.logEndOffset.Load() {
		return nil
	}
	f.SetHighWatermark(l.highWatermark.Load())
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	return f.followStart(min(start, f.highWatermark.Load()))
}

// followStart moves the start of a future log and drops what lies before it. Requires: f.mu held, and start is at
// most the high watermark.
func (f *Log) followStart(start int64) error {
	if err := f.advanceStart(start); err != nil {
		return err
	}
	_, err := f.deleteBelowStart()
	return err
}

// skipTo gives a future log an end without records up to it. What a crash loses of that is copied again.
func (f *Log) skipTo(end int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	if _, err := f.roll(end); err != nil {
		return err
	}
	f.logEndOffset.Store(end)
	f.tail.reset(f.active(), end)
	return nil
}

// diverge cuts a future log back to what it surely has in common with l, which may have lost its tail in a crash,
// or gone on without the future's directory: what came after that bears a later leader epoch (KIP-101).
func (f *Log) diverge(l *Log) error {
	for {
		end := f.logEndOffset.Load()
		to := min(end, l.logEndOffset.Load())
		latest := f.LatestEpoch()
		if latest >= 0 {
			if known := l.EpochEndOffset(latest); known.EndOffset >= 0 {
				to = min(to, known.EndOffset)
				if known.LeaderEpoch != latest {
					to = min(to, max(f.EpochEndOffset(known.LeaderEpoch).EndOffset, 0))
				}
			}
		}
		if to >= end {
			return nil
		}
		f.logger.Info("cutting a future log to where it agrees with the current one", "partition", f.tp.String(),
			"logEndOffset", end, "to", to)
		if err := f.TruncateTo(to); err != nil {
			return err
		}
	}
}
