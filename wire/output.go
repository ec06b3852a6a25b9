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

// errLater ends sending where a worker has to go on, since more patience is needed: a file would have to be read from the
// device, say.
var errLater = errors.New("needs more patience")

func (q *outQueue) empty() bool { return len(q.items) == 0 }

// push takes a reply.
func (q *outQueue) push(r *reply) {
	if r.head != nil {
		bytes := r.head.Bytes()
		from := 0
		if r.cut.file != nil {
			q.add(outItem{bytes: bytes[:r.cut.at]})
			q.addFile(r.cut.file)
			from = r.cut.at
		}
		for _, c := range r.cuts {
			q.add(outItem{bytes: bytes[from:c.at]})
			q.addFile(c.file)
			from = c.at
		}
		q.add(outItem{bytes: bytes[from:]})
		q.own(r.head)
	}
	*r = reply{closeReason: r.closeReason}
}

func (q *outQueue) addFile(f FileRange) {
	q.add(outItem{file: f, position: f.Position(), left: f.Len()})
}

// own has the last piece of bytes release the memory that they and those before it are in. There is one: a
// reply begins with its size.
func (q *outQueue) own(b *buf.Buf) {
	for i := len(q.items) - 1; i >= 0; i-- {
		if q.items[i].file == nil {
			q.items[i].owner = b
			return
		}
	}
	panic("wire: a reply without bytes")
}

func (q *outQueue) add(i outItem) {
	if i.size() == 0 {
		i.release()
		return
	}
	if n := len(q.items); n == cap(q.items) && n < outRoom {
		// Also where pieces were sent and those behind them reach the room's end.
		copy(q.room[:], q.items)
		clear(q.room[n:])
		q.items = q.room[:n]
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

// readCachedPiece is readPiece of what is in memory, else errLater.
func readCachedPiece(pool *buf.Pool, i *outItem, limit int) (*buf.Buf, error) {
	file, ok := i.file.(CachedRange)
	if !ok {
		return nil, errLater
	}
	b := pool.Get(min(i.left, limit))
	if file.ReadCached(b.Bytes(), i.position) != nil {
		b.Release()
		return nil, errLater
	}
	return b, nil
}
