package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ottla/ottla/log/files"
)

const timeEntrySize = 12

// Time is a .timeindex file: it finds where to start looking for a timestamp.
type Time struct {
	table
	baseOffset int64
}

// Timestamp is an entry of a time index: no batch up to the one that ends with Offset has a
// timestamp (ms) larger than TimestampMs, and that one has it.
type Timestamp struct {
	TimestampMs int64
	Offset      int64
}

// OpenTime opens or creates the time index of the segment at baseOffset, which may grow to
// maxBytes. It returns ErrCorrupt if the file must be rebuilt.
func OpenTime(pool *files.Pool, path string, baseOffset int64, maxBytes int32) (*Time, error) {
	x := &Time{baseOffset: baseOffset}
	if err := x.open(pool, path, timeEntrySize, maxBytes); err != nil {
		x.file.Retire()
		return nil, err
	}
	if x.n > 1 && isZero(x.last[:timeEntrySize]) {
		x.file.Retire()
		return nil, x.corrupt("it ends with zeros")
	}
	return x, nil
}

func (x *Time) decode(e []byte) Timestamp {
	return Timestamp{
		TimestampMs: int64(binary.BigEndian.Uint64(e)),
		Offset:      x.baseOffset + int64(binary.BigEndian.Uint32(e[8:])),
	}
}

// MaybeAppend adds an entry unless the last one has that timestamp or a larger one already.
func (x *Time) MaybeAppend(timestampMs, offset int64) error {
	rel := offset - x.baseOffset
	if rel < 0 || rel > math.MaxInt32 {
		return fmt.Errorf("%s: offset %d doesn't fit the format", x.Path(), offset)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if timestampMs < 0 {
		return nil
	}
	if x.n > 0 && timestampMs <= x.decode(x.last[:]).TimestampMs {
		return nil
	}
	var e [timeEntrySize]byte
	binary.BigEndian.PutUint64(e[:], uint64(timestampMs))
	binary.BigEndian.PutUint32(e[8:], uint32(rel))
	return x.append(e[:])
}

// Lookup returns the last entry whose timestamp is at most target; {-1, base offset} if none is.
func (x *Time) Lookup(targetMs int64) (Timestamp, error) {
	var e [timeEntrySize]byte
	i, err := x.search(targetMs, e[:])
	if err != nil || i < 0 {
		return Timestamp{TimestampMs: -1, Offset: x.baseOffset}, err
	}
	return x.decode(e[:]), nil
}

// Last is the newest entry, {-1, base offset} if there is none.
func (x *Time) Last() Timestamp {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.n == 0 {
		return Timestamp{TimestampMs: -1, Offset: x.baseOffset}
	}
	return x.decode(x.last[:])
}

// IsFull says that only the entry which a roll adds would still fit.
func (x *Time) IsFull() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n >= x.maxEntries-1
}

// TruncateTo removes the entries with an offset of target or more.
func (x *Time) TruncateTo(target int64) error {
	var e [timeEntrySize]byte
	lo, hi := -1, x.Entries()
	for hi-lo > 1 { // Offsets grow with the timestamps, so they can be searched as well.
		mid := int(uint(lo+hi) >> 1)
		if _, err := x.at(mid, e[:]); err != nil {
			return err
		}
		if x.decode(e[:]).Offset < target {
			lo = mid
		} else {
			hi = mid
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.truncate(hi)
}

// Check reads the whole file and returns ErrCorrupt unless timestamps grow and offsets don't fall.
func (x *Time) Check() error {
	prev := Timestamp{TimestampMs: -1, Offset: x.baseOffset}
	var e [timeEntrySize]byte
	for i := range x.Entries() {
		if _, err := x.at(i, e[:]); err != nil {
			return err
		}
		p := x.decode(e[:])
		if p.TimestampMs <= prev.TimestampMs || p.Offset < prev.Offset {
			return x.corrupt("entry %d has timestamp %d, offset %d after timestamp %d, offset %d",
				i, p.TimestampMs, p.Offset, prev.TimestampMs, prev.Offset)
		}
		prev = p
	}
	return nil
}
