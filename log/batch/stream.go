package batch

import (
	"errors"
	"io"
)

// streamBufferBytes is the size of a stream's window onto decompressed data.
const streamBufferBytes = 32 << 10

// stream is a growing window onto the records of a batch: onto the bytes themselves if they
// are plain, onto a buffer that is refilled from a decompressor if not.
type stream struct {
	// buf[pos:end] is what was read and not consumed.
	buf      []byte
	pos, end int
	// src is nil for plain bytes.
	src io.Reader
	// eof is set once src has ended; err is why, if not orderly.
	eof bool
	err error
	// left is how many more bytes src may yield.
	left int64
}

// need reports whether n unread bytes are at hand, after reading more if it must.
func (s *stream) need(n int) bool {
	for s.end-s.pos < n {
		if s.src == nil || s.eof {
			return false
		}
		s.makeRoom(n)
		s.read()
	}
	return true
}

// makeRoom makes sure that the window can take in more. It grows by doubling, after what was
// read, so that a length alone allocates nothing.
func (s *stream) makeRoom(n int) {
	if s.end < len(s.buf) {
		return
	}
	if s.pos > 0 && s.pos >= len(s.buf)/2 {
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
		return
	}
	grown := make([]byte, min(2*len(s.buf), max(n, len(s.buf)+streamBufferBytes)))
	s.end = copy(grown, s.buf[s.pos:s.end])
	s.buf, s.pos = grown, 0
}

// read fills the window's free space once. Requires: free space, not eof.
func (s *stream) read() {
	n, err := s.src.Read(s.buf[s.end:])
	s.end += n
	s.left -= int64(n)
	if s.left < 0 {
		err = corrupt("decompressed records exceed the limit")
	}
	if err == nil {
		return
	}
	s.eof = true
	if !errors.Is(err, io.EOF) {
		s.err = err
	}
}

// skip consumes n bytes without keeping them.
func (s *stream) skip(n int) bool {
	for {
		have := s.end - s.pos
		if n <= have {
			s.pos += n
			return true
		}
		n -= have
		s.pos = s.end
		if s.src == nil || s.eof {
			return false
		}
		s.pos, s.end = 0, 0
		s.read()
	}
}

// varint consumes an int32; ok is false at the end of data or for one that is too long.
func (s *stream) varint() (v int32, ok bool) {
	v, n := getVarint(s.buf[s.pos:s.end])
	if n == 0 && s.src != nil {
		s.need(maxVarintBytes)
		v, n = getVarint(s.buf[s.pos:s.end])
	}
	if n <= 0 {
		return 0, false
	}
	s.pos += n
	return v, true
}

// varlong consumes an int64, as varint does.
func (s *stream) varlong() (v int64, ok bool) {
	v, n := getVarlong(s.buf[s.pos:s.end])
	if n == 0 && s.src != nil {
		s.need(maxVarlongBytes)
		v, n = getVarlong(s.buf[s.pos:s.end])
	}
	if n <= 0 {
		return 0, false
	}
	s.pos += n
	return v, true
}

// ended reports whether nothing is left.
func (s *stream) ended() bool { return !s.need(1) }
