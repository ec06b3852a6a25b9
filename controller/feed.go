package controller

import "sync"

// Bounds of what is kept for observers. One that needs older entries gets a snapshot.
const (
	feedEntries = 4096
	feedBytes   = 8 << 20
)

// feedEntry is a committed entry of the raft log.
type feedEntry struct {
	// index is the entry's in the raft log.
	index uint64
	// base and last are the offsets of the image before and after it.
	base, last int64
	epoch      int32
	// data is the entry as raft has it; not to be changed.
	data []byte
}

// feed keeps the newest committed entries for those who follow. Raft's state machine appends.
type feed struct {
	mu struct {
		sync.Mutex
		// entries are contiguous: each one's base is the last of the one before.
		entries []feedEntry
		bytes   int
		// moved is closed and replaced when entries change.
		moved chan struct{}
	}
}

func newFeed() *feed {
	f := &feed{}
	f.mu.moved = make(chan struct{})
	return f
}

func (f *feed) append(e feedEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.entries = append(f.mu.entries, e)
	f.mu.bytes += len(e.data)
	drop := 0
	for drop < len(f.mu.entries)-1 && (len(f.mu.entries)-drop > feedEntries || f.mu.bytes > feedBytes) {
		f.mu.bytes -= len(f.mu.entries[drop].data)
		f.mu.entries[drop].data = nil
		drop++
	}
	f.mu.entries = f.mu.entries[drop:]
	f.wake()
}

// reset forgets all: the image has jumped.
func (f *feed) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.entries, f.mu.bytes = nil, 0
	f.wake()
}

// wake tells waiters. Requires: mu held.
func (f *feed) wake() {
	close(f.mu.moved)
	f.mu.moved = make(chan struct{})
}

// after returns entries, up to a number of bytes but at least one, that follow the image at an offset. There are
// none yet if the list is empty and ok; moved is closed when that may have changed. Not ok: they are
// gone, or the offset lies within an entry.
func (f *feed) after(offset int64, maxBytes int) (list []feedEntry, moved <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.mu.entries
	moved = f.mu.moved
	if len(all) == 0 || offset >= all[len(all)-1].last {
		return nil, moved, true
	}
	lo, hi := 0, len(all)
	for lo < hi { // the first entry that starts at the offset or after
		if mid := (lo + hi) / 2; all[mid].base < offset {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(all) || all[lo].base != offset {
		return nil, moved, false
	}
	for _, e := range all[lo:] {
		if maxBytes -= len(e.data); maxBytes < 0 && len(list) > 0 {
			break
		}
		list = append(list, e)
	}
	return list, moved, true
}

// offsetAt is the metadata offset of a log that ends at a raft index; older than what is kept, it is
// that of the oldest entry's base.
func (f *feed) offsetAt(index uint64, newest int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.mu.entries
	if len(all) == 0 || index >= all[len(all)-1].index {
		return newest
	}
	at := all[0].base
	for _, e := range all {
		if e.index > index {
			break
		}
		at = e.last
	}
	return at
}
