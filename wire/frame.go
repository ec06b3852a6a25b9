package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/ottla/ottla/internal/buf"
)

const (
	// headBytes is what is read of a frame before memory is taken for it: its size, and the key and
	// version of its request, which say what the request may cost.
	headBytes = 8
	// firstFrameBytes is the most memory that is taken before more of a frame has arrived: a size
	// alone doesn't make the broker allocate what it announces. Producers' usual 1 MiB fits.
	firstFrameBytes = 2 << 20
)

// frameReader assembles one frame after the other: a four-byte size and as many bytes.
type frameReader struct {
	pool *buf.Pool
	// maxBytes is socket.request.max.bytes.
	maxBytes int

	// head is the frame's first bytes, headLen of them read.
	head    [headBytes]byte
	headLen int
	// body holds the first have of the want bytes after the size; nil until begin.
	body       *buf.Buf
	have, want int
}

// feedHead takes what is missing of the head from p and returns the rest of p. It fails as soon as
// the size is known to be wrong.
func (f *frameReader) feedHead(p []byte) ([]byte, error) {
	n := copy(f.head[f.headLen:], p)
	f.headLen += n
	if f.headLen < 4 {
		return p[n:], nil
	}
	size := int32(binary.BigEndian.Uint32(f.head[:]))
	switch {
	case size < 0:
		return nil, closeBecause(closeFrame, "the request's size is negative: %d", size)
	case size < minFrame:
		return nil, closeBecause(closeFrame, "the request's size is %d bytes, less than a header", size)
	case int64(size) > int64(f.maxBytes):
		return nil, closeBecause(closeFrame, "the request's size is %d bytes, more than socket.request.max.bytes (%d)", size, f.maxBytes)
	}
	f.want = int(size)
	return p[n:], nil
}

// headDone says whether the head is complete and the frame not begun.
func (f *frameReader) headDone() bool { return f.headLen == headBytes && f.body == nil }

// cost is what the frame takes of the memory budget. Requires: headDone.
func (f *frameReader) cost() int64 {
	return frameCost(int16(binary.BigEndian.Uint16(f.head[4:])), f.want)
}

// begin takes memory for the frame. Requires: headDone.
func (f *frameReader) begin() {
	f.body = f.pool.Get(min(f.want, firstFrameBytes))
	f.have = copy(f.body.Bytes(), f.head[4:])
}

// space is where the frame's next bytes go; never empty. Requires: begun and not full.
func (f *frameReader) space() []byte {
	if n := len(f.body.Bytes()); f.have == n {
		larger := f.pool.Get(min(f.want, 2*n))
		copy(larger.Bytes(), f.body.Bytes())
		f.body.Release()
		f.body = larger
	}
	return f.body.Bytes()[f.have:]
}

// filled says that n bytes of space were written.
func (f *frameReader) filled(n int) {
	f.have += n
	if f.have > f.want {
		panic(fmt.Sprintf("wire: frame of %d bytes filled with %d", f.want, f.have))
	}
}

// full says whether the frame is complete.
func (f *frameReader) full() bool { return f.body != nil && f.have == f.want }

// take returns the complete frame, which the caller owns, and makes ready for the next one.
func (f *frameReader) take() *buf.Buf {
	b := f.body
	f.body, f.have, f.want, f.headLen = nil, 0, 0, 0
	return b
}

// drop gives up the frame under construction.
func (f *frameReader) drop() {
	if f.body != nil {
		f.body.Release()
	}
	f.take()
}
