package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
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
	fs vfs.FS

	mu      sync.Mutex // guards what follows
	path    string
	loaded  bool
	entries []AbortedTxn
	// written is how many entries the file has; on a full disk the others wait for Flush.
	written  int
	unsynced bool
}

// AbortedTxn is one entry of a transaction index.
type AbortedTxn struct {
	ProducerID                                int64
	FirstOffset, LastOffset, LastStableOffset int64
}

// NewTxn returns the transaction index at path, which is read when it is first asked.
func NewTxn(fs vfs.FS, path string) *Txn { return &Txn{fs: fs, path: path} }

// NewTxnWithout is NewTxn where it is known that there is no file.
func NewTxnWithout(fs vfs.FS, path string) *Txn { return &Txn{fs: fs, path: path, loaded: true} }

// load reads the file. Requires: x.mu held.
func (x *Txn) load() error {
	if x.loaded {
		return nil
	}
	f, err := x.fs.OpenFile(x.path, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		x.loaded = true
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	const maxBytes = 1 << 30
	if size%txnEntrySize != 0 || size > maxBytes {
		return fmt.Errorf("%s: %w: size %d", x.path, ErrCorrupt, size)
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && size > 0 {
		return fmt.Errorf("read %s: %w", x.path, err)
	}
	entries, err := parseTxn(b)
	if err != nil {
		return fmt.Errorf("%s: %w", x.path, err)
	}
	x.entries, x.written, x.loaded = entries, len(entries), true
	return nil
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
// writes it. What a full disk doesn't take waits for Flush.
func (x *Txn) Append(t AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.load(); err != nil {
		return err
	}
	if n := len(x.entries); n > 0 && x.entries[n-1].LastOffset >= t.LastOffset {
		return fmt.Errorf("%s: last offset %d after %d", x.path, t.LastOffset, x.entries[n-1].LastOffset)
	}
	x.entries = append(x.entries, t)
	if err := x.write(); err != nil && !vfs.NoRoom(err) {
		x.entries = x.entries[:len(x.entries)-1]
		return err
	}
	return nil
}

// write moves the waiting entries to the file. A failure leaves them waiting. Requires: x.mu held.
func (x *Txn) write() error {
	if x.written == len(x.entries) {
		return nil
	}
	b := make([]byte, 0, (len(x.entries)-x.written)*txnEntrySize)
	for _, t := range x.entries[x.written:] {
		b = appendTxn(b, t)
	}
	x.unsynced = true
	err := x.with(func(f vfs.File) error {
		_, err := f.WriteAt(b, int64(x.written)*txnEntrySize)
		return err
	})
	if err != nil {
		return err
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

// with opens the file for the length of f. Requires: x.mu held.
func (x *Txn) with(do func(vfs.File) error) error {
	f, err := x.fs.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = do(f)
	return errors.Join(err, f.Close())
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

// Reset empties the index, whatever is in the file.
func (x *Txn) Reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, err := x.fs.Stat(x.path); errors.Is(err, os.ErrNotExist) {
		x.entries, x.written, x.loaded = nil, 0, true
		return nil
	}
	x.entries, x.written = make([]AbortedTxn, 1), 1 // Whatever it is, it goes.
	return x.truncate(0)
}

// truncate keeps the first n entries. Requires: x.mu held.
func (x *Txn) truncate(n int) error {
	if n >= len(x.entries) {
		return nil
	}
	if n < x.written {
		if err := x.with(func(f vfs.File) error { return f.Truncate(int64(n) * txnEntrySize) }); err != nil {
			return err
		}
		x.written, x.unsynced = n, true
	}
	x.entries, x.loaded = x.entries[:n], true
	return nil
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
	if !x.unsynced {
		return nil
	}
	if err := x.with(vfs.File.Sync); err != nil {
		return err
	}
	x.unsynced = false
	return nil
}

// Rename gives the file another name. A file that doesn't exist is none to rename.
func (x *Txn) Rename(path string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.fs.Rename(x.path, path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	x.path = path
	return nil
}

// SetPath tells that the file has another name already, because its directory was renamed.
func (x *Txn) SetPath(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.path = path
}

// Path is the file's name.
func (x *Txn) Path() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.path
}
