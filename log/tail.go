package commitlog

import "sync"

// tailSize is how many appends the tail remembers.
const tailSize = 32

// tail remembers where the last appends begin, so that readers at the end of the log need neither
// the index nor a look at the file, and tells end offset and end position together.
type tail struct {
	mu sync.Mutex // guards all; held for a few instructions
	// seg is the active segment; end is its end offset, size its end position in bytes.
	seg  *segment
	end  int64
	size int64
	// marks are the last appends to seg in a ring; n counts all of them.
	marks [tailSize]mark
	n     int
}

// mark says that a batch with the base offset offset starts at position.
type mark struct{ offset, position int64 }

// unknown stands for a position that the tail doesn't know.
const unknown = -1

// reset starts over with another segment, or after a truncation.
func (t *tail) reset(seg *segment, end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seg, t.end, t.size, t.n = seg, end, seg.size.Load(), 0
}

// add notes an append of [offset, end) at position, which ends at size.
func (t *tail) add(offset, position, end, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks[t.n%tailSize] = mark{offset, position}
	t.n++
	t.end, t.size = end, size
}

// tailView is what a read needs to know of the tail.
type tailView struct {
	seg       *segment
	end, size int64
	// offsetAt and upperAt are the positions of the two offsets asked for, or unknown.
	offsetAt, upperAt int64
}

// view looks up two offsets; upper is capped by the end.
func (t *tail) view(offset, upper int64) tailView {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := tailView{seg: t.seg, end: t.end, size: t.size, offsetAt: unknown, upperAt: unknown}
	if upper >= t.end {
		v.upperAt = t.size
	}
	for i := t.n - 1; i >= 0 && i >= t.n-tailSize; i-- {
		m := t.marks[i%tailSize]
		if m.offset == offset {
			v.offsetAt = m.position
		}
		if m.offset == upper {
			v.upperAt = m.position
		}
		if m.offset <= offset {
			break
		}
	}
	return v
}
