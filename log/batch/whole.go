package batch

import (
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"
)

const (
	// wholeBytes bounds the decompressed records that are read in one go, into a pooled buffer.
	wholeBytes = 256 << 10
	// wholeGuessBytes is the largest compressed size with which it is tried where only decompressing tells the size.
	wholeGuessBytes = wholeBytes / 4
)

// wholeBuffer is what pools keep, by pointer so that nothing is allocated when it comes back.
type wholeBuffer [wholeBytes]byte

// openWhole makes r read the records of src from memory as it reads plain ones, if they lie in src as they are, or are
// few enough to be decompressed in one go. That is nearly every batch of a producer, and a stream costs more to
// set up than such a batch to decompress. It reports false, having changed nothing, if the records are too many
// or if anything is wrong with src: the stream decides then, so that what is refused, and why,
// doesn't depend on the way.
func (r *RecordReader) openWhole(c *Codecs, codec Codec, src []byte) bool {
	records, ok := stored(codec, src)
	var buf *wholeBuffer
	if !ok {
		if buf, records, ok = c.whole(codec, src); !ok {
			return false
		}
	}
	if int64(len(records)) > r.limits.TotalBytes {
		c.putWhole(buf)
		return false
	}
	r.whole = buf
	r.s = stream{buf: records, end: len(records)}
	return true
}

// stored finds records that the compressor left as they were, since they don't shrink. They are part of src.
func stored(codec Codec, src []byte) (records []byte, ok bool) {
	switch codec {
	case LZ4:
		return storedLZ4(src)
	case Zstd:
		return storedZstd(src)
	}
	return nil, false
}

// whole decompresses src into a buffer that the caller gives back with putWhole.
func (c *Codecs) whole(codec Codec, src []byte) (buf *wholeBuffer, records []byte, ok bool) {
	if !mayBeWhole(codec, src) {
		return nil, nil, false
	}
	buf, ok = c.wholes.Get().(*wholeBuffer)
	if !ok {
		buf = new(wholeBuffer)
	}
	var n int
	switch codec {
	case Snappy:
		n, ok = wholeSnappy(buf, src)
	case LZ4:
		n, ok = wholeLZ4(buf, src)
	default:
		n, ok = c.wholeZstd(buf, src)
	}
	if !ok {
		c.putWhole(buf)
		return nil, nil, false
	}
	return buf, buf[:n], true
}

// mayBeWhole tells whether it is worth trying to decompress src in one go.
func mayBeWhole(codec Codec, src []byte) bool {
	switch codec {
	case Snappy, LZ4:
		return len(src) <= wholeGuessBytes
	case Zstd:
		return zstdBound(src) <= wholeBytes
	}
	return false // Inflating is what takes time with gzip.
}

// putWhole takes a buffer back; nil is none.
func (c *Codecs) putWhole(buf *wholeBuffer) {
	if buf != nil {
		c.wholes.Put(buf)
	}
}

// storedLZ4 finds the records in a frame of one plain block.
func storedLZ4(src []byte) (records []byte, ok bool) {
	r := lz4Reader{src: src}
	if r.readHead(false) != nil {
		return nil, false
	}
	records, plain, err := r.take()
	if err != nil || !plain {
		return nil, false
	}
	_, _, err = r.take()
	return records, errors.Is(err, io.EOF)
}

// wholeLZ4 decompresses a frame and returns the size of what came out.
func wholeLZ4(buf *wholeBuffer, src []byte) (n int, ok bool) {
	r := lz4Reader{src: src}
	if r.readHead(false) != nil {
		return 0, false
	}
	for {
		data, plain, err := r.take()
		if err != nil {
			return n, errors.Is(err, io.EOF)
		}
		if plain {
			if len(data) > len(buf)-n {
				return n, false
			}
			n += copy(buf[n:], data)
			continue
		}
		size, err := lz4.UncompressBlock(data, buf[n:min(len(buf), n+r.maxBlock)])
		if err != nil {
			return n, false
		}
		n += size
	}
}

// wholeSnappy decompresses all blocks and returns the size of what came out.
func wholeSnappy(buf *wholeBuffer, src []byte) (n int, ok bool) {
	r := snappyReader{src: src}
	for {
		raw, size, err := r.take()
		if err != nil {
			return n, errors.Is(err, io.EOF)
		}
		if size > len(buf)-n {
			return n, false
		}
		if _, err := s2.Decode(buf[n:n:n+size], raw); err != nil {
			return n, false
		}
		n += size
	}
}
