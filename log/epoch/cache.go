// Package epoch knows where each leader epoch of a partition begins (KIP-101, KIP-279), and the
// leader-epoch-checkpoint file that keeps it.
//
// Cache is pure: the caller guards it and writes the file.
package epoch

import (
	"slices"
)

// Undefined stands for an unknown epoch or offset.
const Undefined = -1

// Entry says that Epoch begins at StartOffset.
type Entry struct {
	Epoch       int32
	StartOffset int64
}

// Cache holds the epochs of one log. The zero value is empty.
//
// Invariant: both epochs and start offsets of the entries grow.
type Cache struct{ entries []Entry }

// NewCache returns a cache of the entries in the order of a checkpoint; as Kafka does, each entry
// removes the ones before it that contradict it.
func NewCache(entries []Entry) *Cache {
	c := &Cache{}
	for _, e := range entries {
		c.Assign(e.Epoch, e.StartOffset)
	}
	return c
}

// Entries is a copy of all entries, oldest first.
func (c *Cache) Entries() []Entry { return slices.Clone(c.entries) }

// Latest is the newest epoch, Undefined if there is none.
func (c *Cache) Latest() int32 {
	if len(c.entries) == 0 {
		return Undefined
	}
	return c.entries[len(c.entries)-1].Epoch
}

// Assign notes that epoch begins at startOffset, and reports whether that changed anything.
// Entries that contradict it, because they are of the same or a later epoch or begin at or after
// startOffset, go. Negative arguments and what is known already change nothing.
func (c *Cache) Assign(epoch int32, startOffset int64) bool {
	if epoch < 0 || startOffset < 0 {
		return false
	}
	if n := len(c.entries); n > 0 {
		last := c.entries[n-1]
		if last.Epoch == epoch && last.StartOffset <= startOffset {
			return false
		}
	}
	for n := len(c.entries); n > 0; n-- {
		last := c.entries[n-1]
		if last.Epoch < epoch && last.StartOffset < startOffset {
			break
		}
		c.entries = c.entries[:n-1]
	}
	c.entries = append(c.entries, Entry{Epoch: epoch, StartOffset: startOffset})
	return true
}

// EndOffset answers OffsetForLeaderEpoch: the largest known epoch that is not above epoch, and
// where it ended (exclusive); logEndOffset for the current one. Undefined for an epoch that is
// newer than all. For an epoch that is older than all it is the epoch itself with the first
// known start, as Kafka answers, even for numbers that are no epochs; Undefined is none.
func (c *Cache) EndOffset(epoch int32, logEndOffset int64) (int32, int64) {
	if epoch == Undefined || len(c.entries) == 0 {
		return Undefined, Undefined
	}
	if epoch == c.Latest() {
		return epoch, logEndOffset
	}
	higher, _ := slices.BinarySearchFunc(c.entries, epoch+1, func(e Entry, t int32) int {
		return int(e.Epoch) - int(t)
	})
	switch {
	case higher == len(c.entries):
		return Undefined, Undefined
	case higher == 0:
		return epoch, c.entries[0].StartOffset
	default:
		return c.entries[higher-1].Epoch, c.entries[higher].StartOffset
	}
}

// ForOffset is the epoch that the record at offset was written in, Undefined if unknown.
func (c *Cache) ForOffset(offset int64) int32 {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].StartOffset <= offset {
			return c.entries[i].Epoch
		}
	}
	return Undefined
}

// TruncateFromEnd removes the epochs that begin at endOffset or later, and reports whether there
// were any.
func (c *Cache) TruncateFromEnd(endOffset int64) bool {
	n := len(c.entries)
	for len(c.entries) > 0 && c.entries[len(c.entries)-1].StartOffset >= endOffset {
		c.entries = c.entries[:len(c.entries)-1]
	}
	return len(c.entries) != n
}

// TruncateFromStart moves the beginning to startOffset: epochs that ended before it go, and the one
// that it lies in begins there. It reports whether anything changed.
func (c *Cache) TruncateFromStart(startOffset int64) bool {
	i := 0
	for i < len(c.entries) && c.entries[i].StartOffset <= startOffset {
		i++
	}
	if i == 0 || i == 1 && c.entries[0].StartOffset == startOffset {
		return false
	}
	c.entries = slices.Delete(c.entries, 0, i-1)
	c.entries[0].StartOffset = startOffset
	return true
}

// Clear removes everything.
func (c *Cache) Clear() { c.entries = nil }
