package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/files"
)

const txnEntrySize = 34

// Txn is a .txnindex file: the aborted transactions whose marker lies in the segment, in the order
// of their markers. The file exists only if there is one. An entry is
//
//	 0  int16  version, 0
//	 2  int64  producer id
//	10  int64  first offset
//	18  int64  last offset: the marker's
//	26  int64  last stable offset when the marker was written
//
// Aborted transactions are few, so all entries are in memory once the file was read.
type Txn struct {
	backing

	mu      sync.Mutex // guards what follows, and backing
	loaded  bool
	entries []AbortedTxn
	// written is how many entries the file has; for want of room or descriptors the others wait for Flush.
	written int
	// discarded says that nothing is written any more.
	discarded bool
}

// AbortedTxn is one entry of a transaction index.
type AbortedTxn struct {
	ProducerID                                int64
	FirstOffset, LastOffset, LastStableOffset int64
}

// NewTxn returns the transaction index at path, which is read when it is first asked.
func NewTxn(pool *files.Pool, path string) *Txn {
	x := &Txn{}
	x.file.Init(pool, path, nil)
	return x
}

// NewTxnWithout is NewTxn where it is known that there is no file.
func NewTxnWithout(pool *files.Pool, path string) *Txn {
	x := NewTxn(pool, path)
	x.loaded = true
	return x
}

// load reads the file. Requires: x.mu held.
func (x *Txn) load() error {
	if x.loaded {
		return nil
	}
	f, err := x.file.Hold()
	if errors.Is(err, os.ErrNotExist) {
		x.loaded = true
		return nil
	}
	if err != nil {
		return err
	}
	defer x.file.Release()
	entries, err := readTxn(f, x.file.Path())
	if err != nil {
		return err
	}
	x.entries, x.written, x.loaded = entries, len(entries), true
	return nil
}

// readTxn reads and decodes a whole file.
func readTxn(f vfs.File, path string) ([]AbortedTxn, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	const maxBytes = 1 << 30
	if size%txnEntrySize != 0 || size > maxBytes {
		return nil, fmt.Errorf("%s: %w: size %d", path, ErrCorrupt, size)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	entries, err := parseTxn(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// parseTxn decodes a whole file.
func parseTxn(b []byte) ([]AbortedTxn, error) {
	out := make([]AbortedTxn, 0, len(b)/txnEntrySize)
	for ; len(b) >= txnEntrySize; b = b[txnEntrySize:] {
		if v := binary.BigEndian.Uint16(b); v != 0 {
			return nil, fmt.Errorf("%w: position %d: entry version %d", ErrCorrupt, len(out)*txnEntrySize, v)
		}
		t := AbortedTxn{
			ProducerID:       int64(binary.BigEndian.Uint64(b[2:])),
			FirstOffset:      int64(binary.BigEndian.Uint64(b[10:])),
			LastOffset:       int64(binary.BigEndian.Uint64(b[18:])),
			LastStableOffset: int64(binary.BigEndian.Uint64(b[26:])),
		}
		if t.FirstOffset < 0 || t.LastOffset < t.FirstOffset ||
			len(out) > 0 && t.LastOffset <= out[len(out)-1].LastOffset {
			return nil, fmt.Errorf("%w: position %d: transaction [%d, %d] of producer %d out of order",
				ErrCorrupt, len(out)*txnEntrySize, t.FirstOffset, t.LastOffset, t.ProducerID)
		}
		out = append(out, t)
	}
	if len(b) != 0 {
		return nil, fmt.Errorf("%w: %d bytes after the last entry", ErrCorrupt, len(b))
	}
	return out, nil
}

// Append adds a transaction, whose last offset must be larger than that of the one before, and
// writes it. What can't be written for want of room or descriptors waits for Flush.
func (x *Txn) Append(t AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.load(); err != nil {
		return err
	}
	if n := len(x.entries); n > 0 && x.entries[n-1].LastOffset >= t.LastOffset {
		return fmt.Errorf("%s: last offset %d after %d", x.file.Path(), t.LastOffset, x.entries[n-1].LastOffset)
	}
	x.entries = append(x.entries, t)
	if x.building {
		return nil
	}
	if err := x.write(); err != nil && !vfs.Scarce(err) {
		x.entries = x.entries[:len(x.entries)-1]
		return err
	}
	return nil
}

// write moves the waiting entries to the file, and cuts what lies behind them. A failure leaves them
// waiting. Requires: x.mu held.
func (x *Txn) write() error {
	waiting := x.entries[x.written:]
	if x.discarded || len(waiting) == 0 && !x.longer {
		return nil
	}
	flag := os.O_CREATE
	if len(waiting) == 0 {
		flag = 0
	}
	f, err := x.change(flag)
	if flag == 0 && errors.Is(err, os.ErrNotExist) {
		x.longer = false // Nothing to cut.
		return nil
	}
	if err != nil {
		return err
	}
	if x.longer {
		if err := x.cut(f, int64(x.written)*txnEntrySize); err != nil {
			return err
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	b := make([]byte, 0, len(waiting)*txnEntrySize)
	for _, t := range waiting {
		b = appendTxn(b, t)
	}
	if _, err := f.WriteAt(b, int64(x.written)*txnEntrySize); err != nil {
		return fmt.Errorf("write %s: %w", x.file.Path(), err)
	}
	x.written = len(x.entries)
	return nil
}

// appendTxn encodes an entry.
func appendTxn(b []byte, t AbortedTxn) []byte {
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(t.ProducerID))
	b = binary.BigEndian.AppendUint64(b, uint64(t.FirstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(t.LastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(t.LastStableOffset))
}

// Collect appends to dst the transactions that overlap [from, upperBound). complete says that no
// later segment can have another one.
func (x *Txn) Collect(dst []AbortedTxn, from, upperBound int64) (out []AbortedTxn, complete bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.load(); err != nil {
		return dst, false, err
	}
	for _, t := range x.entries {
		if t.LastOffset >= from && t.FirstOffset < upperBound {
			dst = append(dst, t)
		}
		if t.LastStableOffset >= upperBound {
			return dst, true, nil
		}
	}
	return dst, false, nil
}

// TruncateTo removes the transactions that end at target or later.
func (x *Txn) TruncateTo(target int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.load(); err != nil {
		return err
	}
	n := len(x.entries)
	for n > 0 && x.entries[n-1].LastOffset >= target {
		n--
	}
	return x.truncate(n)
}

// truncate keeps the first n entries. Requires: x.mu held.
func (x *Txn) truncate(n int) error {
	if n < x.written {
		f, err := x.change(0)
		if err != nil {
			return err
		}
		if err := x.cut(f, int64(n)*txnEntrySize); err != nil {
			return err
		}
		x.written = n
	}
	x.entries = x.entries[:n]
	return nil
}

// Reset empties the index, whatever is in the file, for one that is made anew: what is appended from now on waits
// in memory, and the file stays as it is, until Settle. (Both at once: a recovery that fails has changed nothing.)
func (x *Txn) Reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.longer = x.longer || !x.loaded || x.written > 0
	x.entries, x.written, x.loaded, x.building = nil, 0, true, true
	return nil
}

// Settle says that the index is made: the next append or flush writes it.
func (x *Txn) Settle() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.building = false
}

// Check reads the file and returns ErrCorrupt if it must be rebuilt.
func (x *Txn) Check() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.load()
}

// Flush writes what waits and makes the file durable.
func (x *Txn) Flush() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.write(); err != nil {
		return err
	}
	return x.sync(0)
}

// Discard closes the file, for an index that is about to be removed, or whose log is closed: what waits isn't
// written any more. Those who still ask are answered.
func (x *Txn) Discard() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.discarded, x.unsynced = true, false
	x.file.Retire()
}
