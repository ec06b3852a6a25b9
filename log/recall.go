package commitlog

import (
	"errors"
	"slices"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/producer"
)

// maxRecallBytes is how far back a producer's older batches are looked for.
const maxRecallBytes = 16 << 20

// check decides whether a batch may be appended. A producer may have five batches in flight, and sends all of them
// again if it wasn't told of them; but of a producer that came from a snapshot only the last batch is known. Before
// an older one is refused, which makes clients write all of them once more, it is looked for in the log: once,
// since the memory is complete then. (Kafka refuses them.) Requires: l.mu held.
func (l *Log) check(b *batch.Batch, o producer.CheckOptions) (producer.Decision, error) {
	d, err := l.producers.Check(b, o)
	if err == nil || o.Origin != producer.OriginClient {
		return d, err
	}
	oldest, ok := l.producers.Incomplete(b)
	if !ok {
		return d, err
	}
	before, readErr := l.batchesBefore(b, oldest)
	if readErr != nil {
		l.logger.Warn("can't look for a producer's older batches", "partition", l.tp.String(), "producerId", b.ProducerID, "error", readErr)
		return d, storageError(readErr)
	}
	l.producers.Recall(b.ProducerID, before)
	return l.producers.Check(b, o)
}

// batchesBefore are the batches of b's producer and epoch, oldest first, that lie right before the oldest one that
// is remembered: those whose sequence numbers lead up to it without a gap. Damaged ones end the search, since they
// are no proof of anything. Requires: l.mu held.
func (l *Log) batchesBefore(b *batch.Batch, oldest producer.Oldest) ([]producer.BatchMetadata, error) {
	segs := *l.segments.Load()
	r := recall{producerID: b.ProducerID, producerEpoch: b.ProducerEpoch, next: oldest.BatchMetadata, missing: oldest.Missing}
	end := r.next.FirstOffset()
	for searched := int64(0); !r.done && end > segs[0].baseOffset && searched < maxRecallBytes; {
		begin, size, err := l.visitBefore(segs[floorSegment(segs, end-1)], end, r.visit)
		if isCorrupt(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		end, searched = begin, searched+size
	}
	slices.Reverse(r.found)
	return r.found, nil
}

// recall looks for a producer's batches, from the newest on.
type recall struct {
	producerID    int64
	producerEpoch int16
	// next is the oldest batch so far, missing how many are wanted before it.
	next    producer.BatchMetadata
	missing int
	found   []producer.BatchMetadata // newest first
	done    bool
}

// visit takes the batch at pos. It is done at one that doesn't lead up to the next, or is damaged.
func (r *recall) visit(f vfs.File, h *batch.Header, pos int64) error {
	if r.done || h.ProducerID != r.producerID || h.Attributes.IsControl() {
		return nil
	}
	m := producer.Metadata(h)
	r.done = h.ProducerEpoch != r.producerEpoch || batch.IncrementSequence(m.LastSequence, 1) != r.next.FirstSequence()
	if r.done {
		return nil
	}
	if err := checkAt(f, h, pos); errors.Is(err, errRead) {
		return err
	} else if err != nil {
		r.done = true
		return nil
	}
	r.found, r.next = append(r.found, m), m
	r.done = len(r.found) == r.missing
	return nil
}

// visitBefore visits the batches from an index entry before an offset up to the offset, in reverse order, and
// returns the offset where they begin, which is less than the given one, and their size. Requires: the segment
// begins before offset.
func (l *Log) visitBefore(s *segment, offset int64, visit func(vfs.File, *batch.Header, int64) error) (begin, sizeBytes int64, err error) {
	f, err := s.log.Hold()
	if err != nil {
		return 0, 0, err
	}
	defer s.log.Release()
	from, err := s.offsets.Lookup(offset - 1)
	if err != nil {
		return 0, 0, err
	}
	var found []batchAt
	err = l.scanSegment(s, from.Offset, offset, func(_ *segment, _ vfs.File, h *batch.Header, pos int64) error {
		found = append(found, batchAt{Header: *h, position: pos})
		return nil
	})
	if err != nil || len(found) == 0 {
		return s.baseOffset, 0, err
	}
	for i := len(found) - 1; i >= 0; i-- {
		if err := visit(f, &found[i].Header, found[i].position); err != nil {
			return 0, 0, err
		}
		sizeBytes += int64(found[i].SizeBytes())
	}
	return min(found[0].BaseOffset, offset-1), sizeBytes, nil
}
