package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
)

// The framing of xerial's snappy-java, which Kafka's clients write: a head of 16 bytes
// (magic, version 1, compatible with 1), then blocks, each an int32 length and that many bytes
// of raw snappy. Without the magic all bytes are one raw block, which some clients send.
const (
	xerialMagic      = "\x82SNAPPY\x00"
	xerialHeadBytes  = 16
	xerialVersion    = 1
	xerialBlockBytes = 32 << 10

	// snappyMaxRatio bounds what a raw block can hold: its densest element, a copy, makes 64
	// bytes out of 3.
	snappyMaxRatio = 22
)

var (
	errSnappyBlock   = errors.New("batch: snappy block length beyond the data")
	errSnappySize    = errors.New("batch: snappy block claims more than it can hold")
	errSnappyVersion = errors.New("batch: snappy stream of an incompatible version")
	errSnappyEmpty   = errors.New("batch: empty snappy stream")
)

// snappyReader reads xerial's framing or one raw block.
type snappyReader struct {
	src     []byte
	block   []byte // decompressed
	pos     int    // consumed of block
	started bool
	framed  bool
}

func (c *Codecs) openSnappy(src []byte) decompressor {
	r, ok := c.snapReaders.Get().(*snappyReader)
	if !ok {
		r = new(snappyReader)
	}
	*r = snappyReader{src: src, block: r.block[:0]}
	return r
}

// Read implements io.Reader.
func (r *snappyReader) Read(p []byte) (int, error) {
	for r.pos == len(r.block) {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block[r.pos:])
	r.pos += n
	return n, nil
}

// next decompresses the next block.
func (r *snappyReader) next() error {
	raw, _, err := r.take()
	if err != nil {
		return err
	}
	r.pos = 0
	r.block, err = s2.Decode(r.block[:cap(r.block)], raw)
	if err != nil {
		r.block = r.block[:0]
		return decompressError(err)
	}
	return nil
}

// take consumes the next raw block, which says that it holds size bytes; io.EOF says that there is none.
func (r *snappyReader) take() (raw []byte, size int, err error) {
	if raw, err = r.takeRaw(); err != nil {
		return nil, 0, err
	}
	if size, err = snappy.DecodedLen(raw); err != nil {
		return nil, 0, decompressError(err)
	}
	if int64(size) > int64(len(raw))*snappyMaxRatio {
		return nil, 0, decompressError(errSnappySize)
	}
	return raw, size, nil
}

func (r *snappyReader) takeRaw() ([]byte, error) {
	if !r.started {
		r.started = true
		if len(r.src) == 0 {
			return nil, decompressError(errSnappyEmpty)
		}
		r.framed = bytes.HasPrefix(r.src, []byte(xerialMagic)) && len(r.src) >= xerialHeadBytes
		if !r.framed {
			raw := r.src
			r.src = nil
			return raw, nil
		}
		if binary.BigEndian.Uint32(r.src[12:]) < xerialVersion {
			return nil, decompressError(errSnappyVersion)
		}
		r.src = r.src[xerialHeadBytes:]
	}
	// Streams may be concatenated, heads and all.
	for r.framed && len(r.src) >= xerialHeadBytes && bytes.HasPrefix(r.src, []byte(xerialMagic)) {
		r.src = r.src[xerialHeadBytes:]
	}
	if !r.framed || len(r.src) < 4 {
		return nil, io.EOF
	}
	size := binary.BigEndian.Uint32(r.src)
	if uint64(size) > uint64(len(r.src)-4) {
		return nil, decompressError(errSnappyBlock)
	}
	raw := r.src[4 : 4+size]
	r.src = r.src[4+size:]
	return raw, nil
}

func (r *snappyReader) release(c *Codecs) {
	r.src = nil
	if cap(r.block) <= maxScratchBytes {
		c.snapReaders.Put(r)
	}
}

func (c *Codecs) compressSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	for len(src) > 0 {
		block := src[:min(len(src), xerialBlockBytes)]
		src = src[len(block):]
		at := len(dst)
		dst = binary.BigEndian.AppendUint32(dst, 0)
		bound := snappy.MaxEncodedLen(len(block))
		dst = append(dst, make([]byte, bound)...)
		encoded := s2.EncodeSnappy(dst[at+4:at+4+bound], block)
		binary.BigEndian.PutUint32(dst[at:], uint32(len(encoded)))
		dst = dst[:at+4+len(encoded)]
	}
	return dst
}
