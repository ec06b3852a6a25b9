package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
)

// ErrCorrupt says that a file doesn't hold what its format demands; it must be rebuilt.
var ErrCorrupt = errors.New("index file is corrupt")

// ErrFull says that an index has reached its bound; the caller rolls the segment before that.
var ErrFull = errors.New("index is full")

// tailEntries is how many entries wait in memory before they are written.
const tailEntries = 128

// blockEntries is how many entries a search reads at once.
const blockEntries = 256

// table is a file of entries of equal size, sorted by their first field.
type table struct {
	fs         vfs.FS
	entrySize  int
	maxEntries int

	mu sync.RWMutex // guards what follows
	// path is the file's name; it may not exist yet while no entry has been written.
	path string
	// file is nil while the table is sealed; searches open it for as long as they need.
	file vfs.File
	// n is the number of entries. Invariant: written <= n <= maxEntries, and the entries from
	// written on are in tail.
	n, written int
	tail       []byte
	// last is a copy of the newest entry, all zero if n == 0.
	last [12]byte
	// unsynced says that the file has changed since its last sync.
	unsynced bool
}

// block is a piece of the file that a search has read. Pooled, since it must live on the heap.
type block struct {
	from, to int
	buf      [blockEntries * 12]byte
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// open reads how many entries there are. A missing file is empty.
func (t *table) open(fs vfs.FS, path string, entrySize int, maxBytes int32) error {
	t.fs, t.path, t.entrySize = fs, path, entrySize
	t.maxEntries = int(maxBytes) / entrySize
	f, err := fs.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	t.file = f
	size, err := f.Size()
	if err != nil {
		return errors.Join(err, t.close())
	}
	if size%int64(entrySize) != 0 {
		return errors.Join(t.corrupt("its size of %d bytes is no multiple of %d", size, entrySize), t.close())
	}
	t.n = int(size / int64(entrySize))
	t.written = t.n
	if t.n == 0 {
		return nil
	}
	if _, err := f.ReadAt(t.last[:entrySize], size-int64(entrySize)); err != nil {
		return errors.Join(fmt.Errorf("read %s: %w", path, err), t.close())
	}
	return nil
}

func (t *table) corrupt(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", t.path, ErrCorrupt, fmt.Sprintf(format, args...))
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
		return fmt.Errorf("%s: %w", t.path, ErrFull)
	}
	if len(t.tail) >= tailEntries*t.entrySize {
		// What can't be written now waits for Flush, which reports it; maxEntries bounds it.
		_ = t.write()
	}
	t.tail = append(t.tail, entry...)
	t.n++
	copy(t.last[:], entry)
	return nil
}

// write moves the waiting entries to the file. A failure leaves them waiting. Requires: t.mu held.
func (t *table) write() error {
	if len(t.tail) == 0 {
		return nil
	}
	if err := t.reopen(); err != nil {
		return err
	}
	t.unsynced = true
	if _, err := t.file.WriteAt(t.tail, int64(t.written)*int64(t.entrySize)); err != nil {
		return fmt.Errorf("write %s: %w", t.path, err)
	}
	t.written = t.n
	t.tail = t.tail[:0]
	return nil
}

// reopen opens the file of a sealed table. Requires: t.mu held.
func (t *table) reopen() error {
	if t.file != nil {
		return nil
	}
	f, err := t.fs.OpenFile(t.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	t.file = f
	return nil
}

// entry reads entry i into b, reading the file if it must. Requires: t.mu held for reading,
// 0 <= i < t.n, and f open if the entry isn't in memory.
func (t *table) entry(f vfs.File, b *block, i int) ([]byte, error) {
	if i >= t.written {
		at := (i - t.written) * t.entrySize
		return t.tail[at : at+t.entrySize], nil
	}
	if i < b.from || i >= b.to {
		from := i - i%blockEntries
		to := min(from+blockEntries, t.written)
		b.from, b.to = 0, 0
		if _, err := f.ReadAt(b.buf[:(to-from)*t.entrySize], int64(from)*int64(t.entrySize)); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, t.corrupt("it ends before entry %d", to)
			}
			return nil, fmt.Errorf("read %s: %w", t.path, err)
		}
		b.from, b.to = from, to
	}
	at := (i - b.from) * t.entrySize
	return b.buf[at : at+t.entrySize], nil
}

// search copies the entry with the largest key that is at most key into dst and returns its
// number; -1 if there is none.
func (t *table) search(key int64, dst []byte) (int, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.n == 0 {
		return -1, nil
	}
	if t.key(t.last[:]) <= key {
		copy(dst, t.last[:t.entrySize])
		return t.n - 1, nil
	}
	f, done, err := t.reader(t.written > 0)
	if err != nil {
		return -1, err
	}
	defer done()
	b := blocks.Get().(*block)
	b.from, b.to = 0, 0
	defer blocks.Put(b)
	lo, hi := -1, t.n-1 // The entry at hi is too large, the one at lo isn't.
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		e, err := t.entry(f, b, mid)
		if err != nil {
			return -1, err
		}
		if t.key(e) <= key {
			lo = mid
			copy(dst, e)
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// at copies entry i into dst. Requires: 0 <= i.
func (t *table) at(i int, dst []byte) (bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i >= t.n {
		return false, nil
	}
	f, done, err := t.reader(i < t.written)
	if err != nil {
		return false, err
	}
	defer done()
	b := blocks.Get().(*block)
	b.from, b.to = 0, 0
	defer blocks.Put(b)
	e, err := t.entry(f, b, i)
	if err != nil {
		return false, err
	}
	copy(dst, e)
	return true, nil
}

// noop closes nothing.
func noop() {}

// reader returns the file for a search: that of an unsealed table, or one that is opened for the
// occasion. Requires: t.mu held for reading.
func (t *table) reader(need bool) (vfs.File, func(), error) {
	if !need || t.file != nil {
		return t.file, noop, nil
	}
	f, err := t.fs.OpenFile(t.path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

// truncate keeps the first n entries. Requires: t.mu held.
func (t *table) truncate(n int) error {
	if n >= t.n {
		return nil
	}
	if n < t.written {
		if err := t.reopen(); err != nil {
			return err
		}
		t.unsynced = true
		if err := t.file.Truncate(int64(n) * int64(t.entrySize)); err != nil {
			return fmt.Errorf("truncate %s: %w", t.path, err)
		}
		t.written = n
		t.tail = t.tail[:0]
	} else {
		t.tail = t.tail[:(n-t.written)*t.entrySize]
	}
	t.n = n
	t.last = [12]byte{}
	if n == 0 {
		return nil
	}
	b := blocks.Get().(*block)
	b.from, b.to = 0, 0
	defer blocks.Put(b)
	f, done, err := t.reader(n <= t.written)
	if err != nil {
		return err
	}
	defer done()
	e, err := t.entry(f, b, n-1)
	if err != nil {
		return err
	}
	copy(t.last[:], e)
	return nil
}

// Reset empties the index.
func (t *table) Reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.truncate(0)
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
	if !t.unsynced {
		return nil
	}
	if err := t.reopen(); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", t.path, err)
	}
	t.unsynced = false
	return nil
}

// Seal closes the file until it is needed again. Entries that wait are written first.
func (t *table) Seal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.write(); err != nil {
		return err
	}
	t.tail = nil
	return t.close()
}

// Discard closes the file and forgets what waits, for an index that is about to be removed.
func (t *table) Discard() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n, t.tail, t.unsynced = t.written, nil, false
	return t.close()
}

// close closes the file if it is open. Requires: t.mu held, or t not shared yet.
func (t *table) close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// Rename gives the file another name. A file that doesn't exist is none to rename.
func (t *table) Rename(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.fs.Rename(t.path, path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	t.path = path
	return nil
}

// SetPath tells that the file has another name already, because its directory was renamed.
func (t *table) SetPath(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.path = path
}

// Path is the file's name.
func (t *table) Path() string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.path
}

// SizeBytes is the length of the file once all entries are written.
func (t *table) SizeBytes() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return int64(t.n) * int64(t.entrySize)
}
