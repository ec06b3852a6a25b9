package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ottla/ottla/log/files"
)

const offsetEntrySize = 8

// Offset is an .index file: it finds where in a segment to start looking for an offset.
type Offset struct {
	table
	baseOffset int64
}

// Position is an entry of an offset index: the batch at FilePosition (bytes) ends with Offset.
type Position struct {
	Offset       int64
	FilePosition int64
}

// OpenOffset opens or creates the offset index of the segment at baseOffset, which may grow to
// maxBytes. It returns ErrCorrupt if the file must be rebuilt.
func OpenOffset(pool *files.Pool, path string, baseOffset int64, maxBytes int32) (*Offset, error) {
	x := &Offset{baseOffset: baseOffset}
	if err := x.open(pool, path, offsetEntrySize, maxBytes); err != nil {
		x.file.Retire()
		return nil, err
	}
	if x.n > 0 && isZero(x.last[:offsetEntrySize]) {
		x.file.Retire()
		return nil, x.corrupt("it ends with zeros")
	}
	return x, nil
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (x *Offset) decode(e []byte) Position {
	return Position{
		Offset:       x.baseOffset + int64(binary.BigEndian.Uint32(e)),
		FilePosition: int64(int32(binary.BigEndian.Uint32(e[4:]))),
	}
}

// Append adds an entry; its offset must be larger than the last one's.
func (x *Offset) Append(offset, filePosition int64) error {
	rel := offset - x.baseOffset
	if rel < 0 || rel > math.MaxInt32 || filePosition < 0 || filePosition > math.MaxInt32 {
		return fmt.Errorf("%s: offset %d at position %d doesn't fit the format", x.Path(), offset, filePosition)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.n > 0 && x.decode(x.last[:]).Offset >= offset {
		return fmt.Errorf("%s: offset %d after %d", x.Path(), offset, x.decode(x.last[:]).Offset)
	}
	var e [offsetEntrySize]byte
	binary.BigEndian.PutUint32(e[:], uint32(rel))
	binary.BigEndian.PutUint32(e[4:], uint32(filePosition))
	return x.append(e[:])
}

// Lookup returns the last entry whose offset is at most target; the segment's beginning if none is.
func (x *Offset) Lookup(target int64) (Position, error) {
	var e [offsetEntrySize]byte
	i, err := x.search(target-x.baseOffset, e[:])
	if err != nil || i < 0 {
		return Position{Offset: x.baseOffset}, err
	}
	return x.decode(e[:]), nil
}

// TryLookup is Lookup where that needs no look at the file; false if it does.
func (x *Offset) TryLookup(target int64) (Position, bool) {
	var e [offsetEntrySize]byte
	i, ok := x.trySearch(target-x.baseOffset, e[:])
	if !ok {
		return Position{}, false
	}
	if i < 0 {
		return Position{Offset: x.baseOffset}, true
	}
	return x.decode(e[:]), true
}

// UpperBound returns the first entry at or beyond filePosition, for the end of what a fetch
// returns; false if there is none.
func (x *Offset) UpperBound(from Position, filePosition int64) (Position, bool, error) {
	var e [offsetEntrySize]byte
	i, err := x.search(from.Offset-x.baseOffset, e[:])
	if err != nil {
		return Position{}, false, err
	}
	lo, hi := i, x.Entries()
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		ok, err := x.at(mid, e[:])
		if err != nil {
			return Position{}, false, err
		}
		if ok && x.decode(e[:]).FilePosition < filePosition {
			lo = mid
		} else {
			hi = mid
		}
	}
	ok, err := x.at(hi, e[:])
	if err != nil || !ok {
		return Position{}, false, err
	}
	return x.decode(e[:]), true, nil
}

// Last is the newest entry, the segment's beginning if there is none.
func (x *Offset) Last() Position {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.n == 0 {
		return Position{Offset: x.baseOffset}
	}
	return x.decode(x.last[:])
}

// IsFull says that the next entry wouldn't fit.
func (x *Offset) IsFull() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n >= x.maxEntries
}

// TruncateTo removes the entries with an offset of target or more.
func (x *Offset) TruncateTo(target int64) error {
	var e [offsetEntrySize]byte
	i, err := x.search(target-1-x.baseOffset, e[:])
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.truncate(i + 1)
}

// Check reads the whole file and returns ErrCorrupt unless offsets and positions grow, within a
// segment of logSizeBytes.
func (x *Offset) Check(logSizeBytes int64) error {
	prev := Position{Offset: x.baseOffset - 1, FilePosition: -1}
	var e [offsetEntrySize]byte
	for i := range x.Entries() {
		if _, err := x.at(i, e[:]); err != nil {
			return err
		}
		p := x.decode(e[:])
		if p.Offset <= prev.Offset || p.FilePosition <= prev.FilePosition || p.FilePosition >= logSizeBytes {
			return x.corrupt("entry %d has offset %d at position %d after offset %d at position %d",
				i, p.Offset, p.FilePosition, prev.Offset, prev.FilePosition)
		}
		prev = p
	}
	return nil
}
