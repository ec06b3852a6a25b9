package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// loadProducers builds the producer state as it is at end: from the newest snapshot that is not
// beyond, and the batches after it. Requires: l.mu held, or l not shared; l.segments set.
func (l *Log) loadProducers(end int64) error {
	if err := l.loadProducersAt(*l.segments.Load(), end); err != nil {
		return err
	}
	l.publishUnstable()
	return nil
}

// loadProducersAt is loadProducers over the given segments. Requires: l.mu held, or l not shared.
func (l *Log) loadProducersAt(segs []*segment, end int64) error {
	l.producers = l.newProducers()
	from := min(max(l.logStartOffset.Load(), segs[0].baseOffset), end)
	l.producers.TruncateFullyAndStartAt(from)
	for i := len(l.snapshots) - 1; i >= 0; i-- {
		offset := l.snapshots[i]
		if offset > end {
			continue
		}
		b, err := readFile(l.fs, l.snapshotPath(offset))
		if err != nil {
			return err
		}
		if err := l.producers.LoadSnapshot(b, offset, l.clk.Now().UnixMilli()); err != nil {
			l.logger.Warn("removing a producer snapshot", "partition", l.tp.String(), "offset", offset, "error", err)
			l.producers.TruncateFullyAndStartAt(from)
			if err := l.dropSnapshots(func(o int64) bool { return o == offset }); err != nil {
				return err
			}
			continue
		}
		from = offset
		break
	}
	if err := l.scanSegments(segs, from, end, l.replayScanned); err != nil {
		return fmt.Errorf("load producer state: %w", err)
	}
	l.producers.SetMapEndOffset(end)
	return nil
}

// replayScanned takes a batch into the producer state but not into the index of transactions,
// which has it already.
func (l *Log) replayScanned(_ *segment, file vfs.File, h *batch.Header, pos int64) error {
	return l.replayAt(nil, file, h, pos)
}

// replayAt takes the batch at pos into the producer state unless that has it. Only control batches
// are read whole: of the others the head says everything.
func (l *Log) replayAt(s *segment, file vfs.File, h *batch.Header, pos int64) error {
	if h.LastOffset() < l.producers.MapEndOffset() {
		return nil
	}
	b := batch.Batch{Header: *h}
	if h.Attributes.IsControl() {
		var err error
		if b, err = readBatch(file, h, pos); err != nil {
			return err
		}
	}
	return l.replay(s, &b)
}

// scanAll visits all batches that overlap [from, to).
func (l *Log) scanAll(from, to int64, visit func(*segment, vfs.File, *batch.Header, int64) error) error {
	return l.scanSegments(*l.segments.Load(), from, to, visit)
}

// scanSegments visits the batches of segs that overlap [from, to), in order.
func (l *Log) scanSegments(segs []*segment, from, to int64, visit func(*segment, vfs.File, *batch.Header, int64) error) error {
	for _, s := range segs[floorSegment(segs, from):] {
		if s.baseOffset >= to || from >= to {
			return nil
		}
		if err := l.scanSegment(s, from, to, visit); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) scanSegment(s *segment, from, to int64, visit func(*segment, vfs.File, *batch.Header, int64) error) error {
	f, err := s.log.Hold()
	if err != nil {
		return err
	}
	defer s.log.Release()
	at, err := s.offsets.Lookup(from)
	if err != nil {
		return err
	}
	sc := newScanner(f, at.FilePosition, s.size.Load())
	defer sc.close()
	for {
		h, pos, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.corrupt(pos, err)
		case h.BaseOffset >= to:
			return nil
		case h.LastOffset() < from:
			continue
		}
		if err := visit(s, f, &h, pos); err != nil {
			return err
		}
	}
}
