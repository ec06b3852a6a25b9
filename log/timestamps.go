package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// maxSearchBytes bounds what the records of one batch may decompress to in a search by time.
const maxSearchBytes = 1 << 30

// OffsetForTimestamp finds the first record, by offset, whose timestamp is timestampMs or later and
// that lies at or beyond logStartOffset; false if there is none. The caller compares the result with
// what its client may see. (Kafka: LogSegment.findOffsetByTimestamp.)
func (l *Log) OffsetForTimestamp(timestampMs int64) (TimestampOffset, bool, error) {
	return l.search(func(segs []*segment) (TimestampOffset, bool, error) { return l.searchByTime(segs, timestampMs) },
		fmt.Sprintf("timestamp %d", timestampMs))
}

// search runs a search over the segments, again while one of them was replaced meanwhile; what names it in errors.
func (l *Log) search(in func([]*segment) (TimestampOffset, bool, error), what string) (TimestampOffset, bool, error) {
	if err := l.usable(); err != nil {
		return TimestampOffset{}, false, err
	}
	l.reading.RLock()
	defer l.reading.RUnlock()
	for {
		list := l.segments.Load()
		t, found, err := in(*list)
		if err == nil {
			return t, found, nil
		}
		if !l.stale(list, err) {
			return TimestampOffset{}, false, storageError(fmt.Errorf("search %s for %s: %w", l.tp, what, err))
		}
	}
}

// searchByTime is OffsetForTimestamp in the segments of a list. Requires: l.reading held.
func (l *Log) searchByTime(segs []*segment, timestampMs int64) (TimestampOffset, bool, error) {
	start := l.logStartOffset.Load()
	for _, s := range segs {
		if largest, _ := s.maxTimestamp(); largest < timestampMs {
			continue
		}
		if t, found, err := l.searchSegment(s, timestampMs, start); err != nil || found {
			return t, found, err
		}
	}
	return TimestampOffset{}, false, nil
}

// searchSegment is OffsetForTimestamp in one segment. Requires: l.reading held.
func (l *Log) searchSegment(s *segment, timestampMs, start int64) (TimestampOffset, bool, error) {
	// The batches up to the entry's all have smaller timestamps, but its own may have this one.
	t, err := s.times.Lookup(timestampMs)
	if err != nil {
		return TimestampOffset{}, false, err
	}
	from, err := s.offsets.Lookup(max(t.Offset, start))
	if err != nil {
		return TimestampOffset{}, false, err
	}
	return l.searchBatches(s, from.FilePosition, func(h *batch.Header) bool {
		return h.MaxTimestamp >= timestampMs && h.LastOffset() >= start
	}, func(r *batch.Record) bool {
		return r.Timestamp >= timestampMs && r.Offset >= start
	})
}

// MaxTimestamp finds the first record that has the largest timestamp of the log; false if the log is
// empty or has no timestamps. As in Kafka the record may lie below logStartOffset, as long as its segment
// is there.
func (l *Log) MaxTimestamp() (TimestampOffset, bool, error) {
	return l.search(l.searchLargest, "its largest timestamp")
}

// searchLargest is MaxTimestamp in the segments of a list. Requires: l.reading held.
func (l *Log) searchLargest(segs []*segment) (TimestampOffset, bool, error) {
	var seg *segment
	largest, at := int64(-1), int64(0)
	for _, s := range segs {
		if ts, offset := s.maxTimestamp(); ts > largest {
			seg, largest, at = s, ts, offset
		}
	}
	if seg == nil {
		return TimestampOffset{}, false, nil
	}
	from, err := seg.offsets.Lookup(at)
	if err != nil {
		return TimestampOffset{}, false, err
	}
	return l.searchBatches(seg, from.FilePosition, func(h *batch.Header) bool {
		return h.MaxTimestamp >= largest
	}, func(r *batch.Record) bool {
		return r.Timestamp == largest
	})
}

// searchBatches returns the first record that match accepts of a batch that candidate accepts, from
// a file position on. Requires: l.reading held.
func (l *Log) searchBatches(s *segment, from int64, candidate func(*batch.Header) bool, match func(*batch.Record) bool) (TimestampOffset, bool, error) {
	file, err := s.log.Hold()
	if err != nil {
		return TimestampOffset{}, false, err
	}
	defer s.log.Release()
	sc := newScanner(file, from, s.size.Load())
	defer sc.close()
	for {
		h, pos, err := sc.next()
		if errors.Is(err, io.EOF) {
			return TimestampOffset{}, false, nil
		}
		if err != nil {
			return TimestampOffset{}, false, s.corrupt(pos, err)
		}
		if !candidate(&h) {
			continue
		}
		t, found, err := l.searchRecords(file, &h, pos, match)
		if err != nil || found {
			return t, found, err
		}
	}
}

// searchRecords returns the first record of a batch that match accepts.
func (l *Log) searchRecords(file vfs.File, h *batch.Header, pos int64, match func(*batch.Record) bool) (TimestampOffset, bool, error) {
	b, err := readBatch(file, h, pos)
	if err != nil {
		return TimestampOffset{}, false, err
	}
	rr, err := l.codecs.Records(&b, maxSearchBytes)
	if err != nil {
		return TimestampOffset{}, false, err
	}
	defer rr.Close()
	var r batch.Record
	for rr.Next(&r) {
		if match(&r) {
			return TimestampOffset{TimestampMs: r.Timestamp, Offset: r.Offset, LeaderEpoch: h.LeaderEpoch}, true, nil
		}
	}
	return TimestampOffset{}, false, rr.Err()
}
