package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/log/files"
)

// ErrCorrupt says that a file doesn't hold what its format demands; it must be rebuilt.
var ErrCorrupt = errors.New("index file is corrupt")

// ErrFull says that an index has reached its bound; the caller rolls the segment before that.
var ErrFull = errors.New("index is full")

// tailEntries is how many entries wait in memory before they are written.
const tailEntries = 128

// table is a file of entries of equal size, sorted by their first field.
type table struct {
	backing
	entrySize  int
	maxEntries int

	mu sync.RWMutex // guards what follows, and backing
	// n is the number of entries. Invariant: written <= n <= maxEntries, and the entries from
	// written on are in tail.
	n, written int
	tail       []byte
	// last is a copy of the newest entry, all zero if n == 0.
	last [12]byte

	// hot is the block that the last search ended in; nil while the file is closed, and after a truncation.
	hot atomic.Pointer[block]
}

// open reads how many entries there are. A missing file is empty.
func (t *table) open(pool *files.Pool, path string, entrySize int, maxBytes int32) error {
	t.entrySize = entrySize
	t.maxEntries = int(maxBytes) / entrySize
	t.file.Init(pool, path, func() { t.hot.Store(nil) })
	f, err := t.file.HoldFlag(os.O_CREATE)
	if err != nil {
		return err
	}
	defer t.file.Release()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if size%int64(entrySize) != 0 {
		return t.corrupt("its size of %d bytes is no multiple of %d", size, entrySize)
	}
	t.n = int(size / int64(entrySize))
	t.written = t.n
	if t.n == 0 {
		return nil
	}
	if _, err := f.ReadAt(t.last[:entrySize], size-int64(entrySize)); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func (t *table) corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", t.file.Path(), ErrCorrupt, fmt.Sprintf(format, args...))
}

// key is the field that entries are sorted by.
func (t *table) key(entry []byte) int64 {
	if t.entrySize == offsetEntrySize {
		return int64(binary.BigEndian.Uint32(entry))
	}
	return int64(binary.BigEndian.Uint64(entry))
}

// append adds an entry at the end. Requires: t.mu held.
func (t *table) append(entry []byte) error {
	if t.n >= t.maxEntries {
		return fmt.Errorf("%s: %w", t.file.Path(), ErrFull)
	}
	if len(t.tail) >= tailEntries*t.entrySize && !t.building {
		// What can't be written now waits for Flush, which reports it; maxEntries bounds it.
		_ = t.write()
	}
	t.tail = append(t.tail, entry...)
	t.n++
	copy(t.last[:], entry)
	return nil
}

// write moves the waiting entries to the file, and cuts what lies behind them. A failure leaves them
// waiting. Requires: t.mu held.
func (t *table) write() error {
	if len(t.tail) == 0 && !t.longer {
		return nil
	}
	f, err := t.change(os.O_CREATE)
	if err != nil {
		return err
	}
	if t.longer {
		if err := t.cut(f, int64(t.written)*int64(t.entrySize)); err != nil {
			return err
		}
	}
	if len(t.tail) == 0 {
		return nil
	}
	if _, err := f.WriteAt(t.tail, int64(t.written)*int64(t.entrySize)); err != nil {
		return fmt.Errorf("write %s: %w", t.file.Path(), err)
	}
	t.written = t.n
	t.tail = t.tail[:0]
	return nil
}

// truncate keeps the first n entries. Requires: t.mu held.
func (t *table) truncate(n int) error {
	if n >= t.n {
		return nil
	}
	if n < t.written {
		f, err := t.change(os.O_CREATE)
		if err != nil {
			return err
		}
		if err := t.cut(f, int64(n)*int64(t.entrySize)); err != nil {
			return err
		}
		t.hot.Store(nil)
		t.written, t.tail = n, t.tail[:0]
	} else {
		t.tail = t.tail[:(n-t.written)*t.entrySize]
	}
	t.n = n
	t.last = [12]byte{}
	if n == 0 {
		return nil
	}
	_, err := t.entry(n-1, t.last[:])
	return err
}

// Reset empties the index, for one that is made anew: what is appended from now on waits in memory, and the file
// stays as it is, until Settle. (A recovery that fails has changed nothing. And the file is cut with the next write
// only, since the index often gets the entries that it had.)
func (t *table) Reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hot.Store(nil)
	t.longer = t.longer || t.written > 0
	t.n, t.written, t.tail, t.last, t.building = 0, 0, t.tail[:0], [12]byte{}, true
	return nil
}

// Settle says that the index is made: many entries are written, few go on waiting as they do otherwise.
func (t *table) Settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.building = false
	if len(t.tail) >= tailEntries*t.entrySize && t.write() == nil {
		t.tail = nil // Its room was that of all entries.
	}
}

// Entries is the number of entries.
func (t *table) Entries() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.n
}

// Flush writes the waiting entries and makes the file durable.
func (t *table) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.write(); err != nil {
		return err
	}
	return t.sync(os.O_CREATE)
}

// FlushBegun is Flush if some entries have been written since the last one; otherwise all of them go on
// waiting in memory.
func (t *table) FlushBegun() error {
	t.mu.RLock()
	begun := t.unsynced
	t.mu.RUnlock()
	if !begun {
		return nil
	}
	return t.Flush()
}

// Seal says that no more entries come: those that wait are written, and their room is given up.
func (t *table) Seal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.write(); err != nil {
		return err
	}
	t.tail = nil
	return nil
}

// Discard closes the file and forgets what waits, for an index that is about to be removed.
func (t *table) Discard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n, t.tail, t.unsynced, t.longer = t.written, nil, false, false
	t.file.Retire()
}

// SizeBytes is the length of the file once all entries are written.
func (t *table) SizeBytes() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return int64(t.n) * int64(t.entrySize)
}
