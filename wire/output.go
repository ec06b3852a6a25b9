package wire

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ottla/ottla/internal/buf"
)

// outItem is a piece of a reply that waits to be sent: bytes, or a range of a file.
type outItem struct {
	bytes []byte
	// owner is the memory of bytes if that is pooled.
	owner *buf.Buf
	file  FileRange
	// position and left are what of the file is still to be sent, in bytes.
	position int64
	left     int
}

func (i *outItem) size() int {
	if i.file != nil {
		return i.left
	}
	return len(i.bytes)
}

// release gives up what the item holds.
func (i *outItem) release() {
	if i.owner != nil {
		i.owner.Release()
	}
	if i.file != nil {
		i.file.Release()
	}
	*i = outItem{}
}

// outQueue is the replies of a connection that are not sent yet, oldest first. It isn't locked.
type outQueue struct {
	items []outItem
	// room is where items begin: an answer of usual form needs no memory of its own.
	room [outRoom]outItem
	// unsent is the sum of the items' sizes, in bytes.
	unsent int
}

const outRoom = 3

func (q *outQueue) empty() bool { return len(q.items) == 0 }

// push takes a reply.
func (q *outQueue) push(r *reply) {
	if r.head != nil {
		q.add(outItem{bytes: r.head.Bytes(), owner: r.head})
	}
	for _, c := range r.chunks {
		if c.File != nil {
			q.add(outItem{file: c.File, position: c.File.Position(), left: c.File.Len()})
		} else {
			q.add(outItem{bytes: c.Bytes})
		}
	}
	*r = reply{closeReason: r.closeReason}
}

func (q *outQueue) add(i outItem) {
	if i.size() == 0 {
		i.release()
		return
	}
	if len(q.items) == 0 {
		q.items = q.room[:0]
	}
	q.items = append(q.items, i)
	q.unsent += i.size()
}

// buffers collects the bytes at the head of the queue, up to len(dst) pieces, and says whether
// anything follows them.
func (q *outQueue) buffers(dst [][]byte) (bufs [][]byte, more bool) {
	bufs = dst[:0]
	for i := range q.items {
		if q.items[i].file != nil || len(bufs) == cap(dst) {
			return bufs, true
		}
		bufs = append(bufs, q.items[i].bytes)
	}
	return bufs, false
}

// sent takes n bytes off the head of the queue.
func (q *outQueue) sent(n int) {
	q.unsent -= n
	for n > 0 {
		i := &q.items[0]
		if size := i.size(); n < size {
			if i.file != nil {
				i.position += int64(n)
				i.left -= n
			} else {
				i.bytes = i.bytes[n:]
			}
			return
		} else {
			n -= size
		}
		q.pop()
	}
}

// pop releases the first item and removes it.
func (q *outQueue) pop() {
	q.items[0].release()
	q.items = q.items[1:]
	if len(q.items) == 0 {
		q.items = nil // An idle connection holds no memory.
	}
}

// replace puts bytes that were read from the file at index i in its place. Requires: b holds its
// next bytes.
func (q *outQueue) replace(i int, b *buf.Buf) {
	item := &q.items[i]
	if n := len(b.Bytes()); n < item.left {
		item.position += int64(n)
		item.left -= n
		q.items = slices.Insert(q.items, i, outItem{bytes: b.Bytes(), owner: b})
		return
	}
	item.file.Release()
	*item = outItem{bytes: b.Bytes(), owner: b}
}

// clear releases everything.
func (q *outQueue) clear() {
	for i := range q.items {
		q.items[i].release()
	}
	q.items, q.unsent = nil, 0
}

// readPiece reads the next bytes of a file that waits to be sent, at most limit, into pooled memory.
func readPiece(pool *buf.Pool, i *outItem, limit int) (*buf.Buf, error) {
	b := pool.Get(min(i.left, limit))
	n, err := i.file.ReadAt(b.Bytes(), i.position)
	if n == len(b.Bytes()) {
		return b, nil
	}
	b.Release()
	if err == nil || errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %d bytes at position %d are not there", io.ErrUnexpectedEOF, i.left, i.position)
	}
	return nil, err
}
