package index

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
)

// blockEntries is how many entries a search reads at once.
const blockEntries = 256

// block is a piece of the file that a search has read: the entries [from, to). The one that a search ends
// in stays in memory for the next, as long as its file is open; it is never changed then.
type block struct {
	from, to int
	buf      []byte
}

// scratch are blocks for searches that are under way.
var scratch = sync.Pool{New: func() any { return &block{buf: make([]byte, 0, blockEntries*12)} }}

// load reads the block that has entry i. Requires: t.mu held for reading, 0 <= i < t.written.
func (t *table) load(f vfs.File, b *block, i int) error {
	from := i - i%blockEntries
	to := min(from+blockEntries, t.written)
	b.from, b.to, b.buf = 0, 0, b.buf[:(to-from)*t.entrySize]
	if _, err := f.ReadAt(b.buf, int64(from)*int64(t.entrySize)); err != nil {
		if errors.Is(err, io.EOF) {
			return t.corrupt("it ends before entry %d", to)
		}
		return fmt.Errorf("read %s: %w", t.file.Path(), err)
	}
	b.from, b.to = from, to
	return nil
}

// get is entry i of a block. Requires: b.from <= i < b.to.
func (t *table) get(b *block, i int) []byte {
	at := (i - b.from) * t.entrySize
	return b.buf[at : at+t.entrySize]
}

// keep makes a copy of b the block that the next search looks into first. Requires: t.mu held, for reading at
// least, and the file held: its closing drops the block.
func (t *table) keep(b *block) {
	t.hot.Store(&block{from: b.from, to: b.to, buf: append([]byte(nil), b.buf...)})
}

// bounds of a search: the entry at hi is too large, the one at lo isn't; -1 stands before the first.
type bounds struct{ lo, hi int }

// narrow looks for key among the entries of a block.
func (t *table) narrow(s *bounds, b *block, key int64) {
	from, to := max(b.from, s.lo), min(b.to, s.hi+1)
	switch {
	case from >= to:
	case t.key(t.get(b, from)) > key:
		s.hi = min(s.hi, from)
	case t.key(t.get(b, to-1)) <= key:
		s.lo = max(s.lo, to-1)
	default:
		s.lo, s.hi = from, to-1
		for s.hi-s.lo > 1 {
			mid := int(uint(s.lo+s.hi) >> 1)
			if t.key(t.get(b, mid)) <= key {
				s.lo = mid
			} else {
				s.hi = mid
			}
		}
	}
}

// search copies the entry with the largest key that is at most key into dst and returns its
// number; -1 if there is none.
//
// Who reads a log in order finds the next entry in the block of the last one, or in the one after it; who
// begins to read often begins near the end. Those are looked at before the rest is halved.
func (t *table) search(key int64, dst []byte) (int, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	i, s, found := t.searchMemory(key, dst)
	if found {
		return i, nil
	}
	return t.searchFile(s, key, dst)
}

// trySearch is search as far as that needs no file and no waiting for one; false if it does.
func (t *table) trySearch(key int64, dst []byte) (int, bool) {
	if !t.mu.TryRLock() {
		return -1, false
	}
	defer t.mu.RUnlock()
	i, _, found := t.searchMemory(key, dst)
	return i, found
}

// searchMemory looks among the entries that are in memory; if that isn't enough s tells what it has found out.
// Requires: t.mu held for reading.
func (t *table) searchMemory(key int64, dst []byte) (i int, s bounds, found bool) {
	if t.n == 0 {
		return -1, s, true
	}
	if t.key(t.last[:]) <= key {
		copy(dst, t.last[:t.entrySize])
		return t.n - 1, s, true
	}
	s = bounds{lo: -1, hi: t.n - 1}
	tail := block{from: t.written, to: t.n, buf: t.tail}
	t.narrow(&s, &tail, key)
	if s.lo >= t.written {
		copy(dst, t.get(&tail, s.lo))
		return s.lo, s, true
	}
	hot := t.hot.Load()
	if hot != nil {
		t.narrow(&s, hot, key)
		if s.hi-s.lo == 1 && s.lo >= hot.from && s.lo < hot.to {
			copy(dst, t.get(hot, s.lo))
			return s.lo, s, true
		}
	}
	return -1, s, s.hi == 0
}

// searchFile is search where the entry lies in a block that isn't in memory. Requires: t.mu held for
// reading.
func (t *table) searchFile(s bounds, key int64, dst []byte) (int, error) {
	f, err := t.file.Hold()
	if err != nil {
		return -1, err
	}
	defer t.file.Release()
	b := scratch.Get().(*block)
	defer scratch.Put(b)
	b.from, b.to = 0, 0
	at := min(s.hi, t.written) - 1 // In the last block.
	if s.lo >= 0 {
		at = min(at, s.lo+1) // In the block after the hot one.
	}
	for s.hi-s.lo > 1 || s.lo >= 0 && (s.lo < b.from || s.lo >= b.to) {
		if s.hi-s.lo == 1 {
			at = s.lo // The last of its block, and the first of the next one is too large.
		}
		if err := t.load(f, b, at); err != nil {
			return -1, err
		}
		t.narrow(&s, b, key)
		at = int(uint(s.lo+s.hi) >> 1)
	}
	if s.lo < 0 {
		if b.from == 0 && b.to > 0 {
			t.keep(b)
		}
		return -1, nil
	}
	copy(dst, t.get(b, s.lo))
	t.keep(b)
	return s.lo, nil
}

// at copies entry i into dst. Requires: 0 <= i.
func (t *table) at(i int, dst []byte) (bool, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.entry(i, dst)
}

// entry is at for those who hold the lock. Requires: t.mu held.
func (t *table) entry(i int, dst []byte) (bool, error) {
	if i >= t.n {
		return false, nil
	}
	if i >= t.written {
		at := (i - t.written) * t.entrySize
		copy(dst, t.tail[at:at+t.entrySize])
		return true, nil
	}
	if hot := t.hot.Load(); hot != nil && hot.from <= i && i < hot.to {
		copy(dst, t.get(hot, i))
		return true, nil
	}
	f, err := t.file.Hold()
	if err != nil {
		return false, err
	}
	defer t.file.Release()
	b := scratch.Get().(*block)
	defer scratch.Put(b)
	if err := t.load(f, b, i); err != nil {
		return false, err
	}
	copy(dst, t.get(b, i))
	t.keep(b)
	return true, nil
}
