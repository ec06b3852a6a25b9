package commitlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/index"
)

// Read finds the batches from an offset on, inside one segment. It returns no records where there
// are none below the upper bound; OFFSET_OUT_OF_RANGE outside of [logStartOffset, logEndOffset].
func (l *Log) Read(o ReadOptions) (ReadInfo, error) {
	if err := l.usable(); err != nil {
		return ReadInfo{}, err
	}
	if !o.Cached {
		l.reading.RLock()
	} else if !l.reading.TryRLock() {
		return ReadInfo{}, vfs.ErrNotCached
	}
	defer l.reading.RUnlock()
	for {
		info, gone, err := l.readOnce(o)
		if !gone {
			return info, err
		}
	}
}

// readOnce is Read with the segments that there are now; gone says that one of them was replaced and its file
// removed meanwhile, so that others have what was looked for. Requires: l.reading held.
func (l *Log) readOnce(o ReadOptions) (info ReadInfo, gone bool, err error) {
	// The start is read before the segments: what it admits is still among them, or a retry of the
	// check below tells that it isn't.
	start := l.logStartOffset.Load()
	v := l.tail.view(o.Offset, o.UpperBound)
	list := l.segments.Load() // After the view, so that they have the segment that it tells of.
	segs := *list
	if o.Offset < start || o.Offset > v.end {
		return ReadInfo{}, false, outOfRange(o.Offset, start, v.end)
	}
	o.UpperBound = min(o.UpperBound, v.end)
	for i := floorSegment(segs, o.Offset); i < len(segs) && o.Offset < o.UpperBound; i++ {
		if segs[i].baseOffset >= o.UpperBound {
			break
		}
		info, found, err := l.readSegment(segs, i, &v, o)
		switch {
		case err == nil && found:
			return info, false, nil
		case err == nil:
			continue // A gap at the end of the segment.
		case o.Offset < l.logStartOffset.Load() && errors.Is(err, fs.ErrNotExist):
			return ReadInfo{}, false, outOfRange(o.Offset, l.logStartOffset.Load(), v.end)
		case errors.Is(err, vfs.ErrNotCached):
			return ReadInfo{}, false, vfs.ErrNotCached
		case l.stale(list, err):
			return ReadInfo{}, true, nil
		default:
			return ReadInfo{}, false, storageError(fmt.Errorf("read %s at offset %d: %w", l.tp, o.Offset, err))
		}
	}
	return ReadInfo{}, false, nil
}

// stale says that an error comes of a segment that was replaced or removed since list was loaded: the segments
// that there are now have what was looked for, or it is gone.
func (l *Log) stale(list *[]*segment, err error) bool {
	return errors.Is(err, fs.ErrNotExist) && l.segments.Load() != list
}

// readSegment finds the range in segment i; false if it has nothing from the offset on.
// Requires: l.reading held.
func (l *Log) readSegment(segs []*segment, i int, v *tailView, o ReadOptions) (ReadInfo, bool, error) {
	s := segs[i]
	look := lookup{s, o.Cached}
	file, err := look.hold()
	if err != nil {
		return ReadInfo{}, false, err
	}
	keep := false
	defer func() {
		if !keep {
			s.log.Release()
		}
	}()
	position, end := int64(unknown), s.size.Load()
	bounded := i == len(segs)-1 || o.UpperBound < segs[i+1].baseOffset
	if s == v.seg {
		position, end = v.offsetAt, v.size
		bounded = o.UpperBound < v.end
		if bounded && v.upperAt != unknown {
			end, bounded = v.upperAt, false
		}
	}
	first, known := batchAt{position: position}, false
	if position == unknown {
		if first, known, err = look.locate(file, o.Offset, end); err != nil || !known {
			return ReadInfo{}, false, err
		}
	}
	if bounded {
		upper, found, err := look.locate(file, o.UpperBound, end)
		if err != nil {
			return ReadInfo{}, false, err
		}
		if found {
			end = upper.position
		}
	}
	if first.position >= end {
		return ReadInfo{}, true, nil // The batch that has the offset reaches the bound.
	}
	n := end - first.position
	if limit := int64(max(o.MaxBytes, 0)); n > limit {
		if !known {
			if first, known, err = look.find(file, o.Offset, first.position, end); err != nil || !known {
				return ReadInfo{}, false, err
			}
		}
		size := int64(first.SizeBytes())
		switch {
		case size <= limit:
			n = limit
		case o.MinOneBatch:
			n = size
		default:
			return ReadInfo{FirstBatchIncomplete: true}, true, nil
		}
	}
	if o.Aborted && o.Cached {
		return ReadInfo{}, false, vfs.ErrNotCached // The indexes of transactions are files.
	}
	info := ReadInfo{Records: newSlice(&s.log, file, first.position, int(n))}
	if o.Aborted {
		if info.Aborted, err = l.aborted(segs, i, info.Records, o); err != nil {
			return ReadInfo{}, false, err
		}
	}
	keep = true
	return info, true, nil
}

// lookup finds batches of a segment: in its files, or only as far as they are in memory.
type lookup struct {
	s      *segment
	cached bool
}

func (l lookup) hold() (vfs.File, error) {
	if !l.cached {
		return l.s.log.Hold()
	}
	if f, ok := l.s.log.TryHold(); ok {
		return f, nil
	}
	return nil, vfs.ErrNotCached
}

func (l lookup) locate(file vfs.File, offset, end int64) (batchAt, bool, error) {
	if l.cached {
		return l.s.locateCached(file, offset, end)
	}
	return l.s.locate(file, offset, end)
}

func (l lookup) find(file vfs.File, offset, from, end int64) (batchAt, bool, error) {
	if l.cached {
		return l.s.findCached(file, offset, from, end)
	}
	return l.s.find(file, offset, from, end)
}

// aborted collects the aborted transactions that overlap the range of a read in segment i.
func (l *Log) aborted(segs []*segment, i int, r *Slice, o ReadOptions) ([]AbortedTransaction, error) {
	upper := o.UpperBound
	if i+1 < len(segs) {
		upper = min(upper, segs[i+1].baseOffset)
	}
	from, err := segs[i].offsets.Lookup(o.Offset)
	if err != nil {
		return nil, err
	}
	if p, ok, err := segs[i].offsets.UpperBound(from, r.position+int64(r.n)); err != nil {
		return nil, err
	} else if ok {
		upper = min(upper, p.Offset)
	}
	var found []index.AbortedTxn
	for _, s := range segs[i:] {
		var complete bool
		if found, complete, err = s.txns.Collect(found, o.Offset, upper); err != nil {
			return nil, err
		}
		if complete {
			break
		}
	}
	out := make([]AbortedTransaction, 0, len(found))
	for _, t := range found {
		out = append(out, AbortedTransaction{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset})
	}
	slices.SortFunc(out, func(a, b AbortedTransaction) int {
		return cmp.Or(cmp.Compare(a.FirstOffset, b.FirstOffset), cmp.Compare(a.ProducerID, b.ProducerID))
	})
	return out, nil
}
