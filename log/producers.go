package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/producer"
)

// loadProducers builds the producer state as it is at end: from the newest snapshot that is not
// beyond, and the batches after it. Requires: l.mu held, or l not shared; l.segments set.
func (l *Log) loadProducers(end int64) error {
	if err := l.loadProducersAt(*l.segments.Load(), end); err != nil {
		return err
	}
	// Transactions that ended below it were replayed as if they might still be lost.
	l.producers.OnHighWatermark(l.highWatermark.Load())
	l.publishUnstable()
	return nil
}

// loadProducersAt is loadProducers over the given segments. Without a snapshot it begins with the first
// batch that is left, even below the log's start: a running log remembers it too, though its records are
// deleted, and a later stop mustn't know more or less of a producer than an earlier one. (Kafka begins
// at the log's start, and so forgets producers at an unclean stop.) Requires: l.mu held, or l not shared.
func (l *Log) loadProducersAt(segs []*segment, end int64) error {
	if l.producers == nil {
		l.producers = l.newProducers()
	}
	from := min(segs[0].baseOffset, end)
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

// producersAt is the producer state as it was at an offset; the one there is stays. Requires: l.mu held, or l not shared.
func (l *Log) producersAt(offset int64) (*producer.State, error) {
	kept := l.producers
	defer func() { l.producers = kept }()
	l.producers = nil
	err := l.loadProducersAt(*l.segments.Load(), offset)
	return l.producers, err
}

// withProducersAt runs do with the producer state as it was at an offset, and puts back the one there is.
// Requires: l not shared.
func (l *Log) withProducersAt(segs []*segment, offset int64, do func() error) error {
	kept := l.producers
	l.producers = nil
	err := l.loadProducersAt(segs, offset)
	if err == nil {
		err = do()
	}
	l.producers = kept
	return err
}

// replayScanned takes a batch into the producer state but not into the index of transactions,
// which has it already.
func (l *Log) replayScanned(s *segment, file vfs.File, h *batch.Header, pos int64) error {
	return l.replayAt(s, false, file, h, pos)
}

// replayAt takes the batch at pos of s into the producer state unless that has it, and with indexed into the
// index of transactions. Only control batches are read whole: of the others the head says everything. A
// batch of a transaction is believed only with the right checksum, even if it was flushed: a damaged one
// would change the fate of others, which are sound.
func (l *Log) replayAt(s *segment, indexed bool, file vfs.File, h *batch.Header, pos int64) error {
	if h.LastOffset() < l.producers.MapEndOffset() {
		return nil
	}
	b := batch.Batch{Header: *h}
	if h.Attributes.IsControl() || h.Attributes.IsTransactional() {
		if err := checkAt(file, h, pos); errors.Is(err, errRead) {
			return s.corrupt(pos, err)
		} else if err != nil {
			return damaged(s, pos, err)
		}
	}
	if h.Attributes.IsControl() {
		var err error
		if b, err = readBatch(file, h, pos); errors.Is(err, errRead) {
			return s.corrupt(pos, err)
		} else if err != nil {
			return damaged(s, pos, err)
		}
	}
	into := s
	if !indexed {
		into = nil
	}
	if err := l.replay(into, &b); err != nil {
		return damaged(s, pos, err) // An index that is made anew writes nothing that could fail.
	}
	return nil
}

// damaged says what is wrong with the batch at pos of s.
func damaged(s *segment, pos int64, err error) error {
	return &CorruptError{Path: s.log.Path(), Position: pos, Reason: err.Error()}
}

// checkAt compares the checksum of the batch at pos.
func checkAt(file vfs.File, h *batch.Header, pos int64) error {
	sc := newScanner(file, pos, pos+int64(h.SizeBytes()))
	defer sc.close()
	return sc.checkCRC(h, pos)
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
