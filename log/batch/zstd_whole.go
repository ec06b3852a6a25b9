package batch

import (
	"bytes"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"
)

const (
	// zstdMaxBlockBytes is the most that one block holds, whatever the window (RFC 8878, 3.1.1.2.4).
	zstdMaxBlockBytes  = 128 << 10
	zstdBlockHeadBytes = 3
	zstdChecksumBytes  = 4
)

// Types of zstd's blocks.
const (
	zstdBlockRaw = iota
	zstdBlockRLE
	zstdBlockCompressed
)

// zstdEmptyLast is the block that ends a frame whose writer had flushed everything before, as the Java client does.
var zstdEmptyLast = []byte{1, 0, 0}

// storedZstd finds the records in a frame of one raw block, and perhaps an empty last one. The content's checksum is checked
// if there is one, as zstd-jni does.
func storedZstd(src []byte) (records []byte, ok bool) {
	var h zstd.Header
	if h.Decode(src) != nil || !h.FirstBlock.OK || h.FirstBlock.Compressed || h.DictionaryID != 0 {
		return nil, false
	}
	start, size := h.HeaderSize+zstdBlockHeadBytes, h.FirstBlock.DecompressedSize
	end := start + size
	if size > zstdMaxBlockBytes || end > len(src) {
		return nil, false
	}
	sum := src[end:]
	if !h.FirstBlock.Last {
		var ended bool
		if sum, ended = bytes.CutPrefix(sum, zstdEmptyLast); !ended {
			return nil, false
		}
	}
	tail := 0
	if h.HasCheckSum {
		tail = zstdChecksumBytes
	}
	switch {
	case len(sum) != tail || h.HasFCS && h.FrameContentSize != uint64(size):
		return nil, false
	case headWindowBytes(&h) < uint64(size) || headWindowBytes(&h) > zstdWindowBytes:
		return nil, false
	}
	records = src[start:end]
	return records, tail == 0 || binary.LittleEndian.Uint32(sum) == uint32(xxhash.Sum64(records))
}

// zstdBound is the most that can come out of src, by the heads of its first frame and that one's blocks; or more than
// wholeBytes if that isn't clear.
func zstdBound(src []byte) int {
	const unclear = wholeBytes + 1
	var h zstd.Header
	if h.Decode(src) != nil || h.Skippable || h.DictionaryID != 0 || headWindowBytes(&h) > zstdWindowBytes {
		return unclear
	}
	if h.HasFCS {
		return int(min(h.FrameContentSize, unclear))
	}
	bound := 0
	for blocks := src[h.HeaderSize:]; len(blocks) >= zstdBlockHeadBytes && bound <= wholeBytes; {
		head := int(blocks[0]) | int(blocks[1])<<8 | int(blocks[2])<<16
		last, kind, size := head&1 != 0, head>>1&3, head>>3
		takes := size
		switch kind {
		case zstdBlockRaw:
			bound += size
		case zstdBlockRLE:
			bound += size
			takes = 1
		case zstdBlockCompressed:
			bound += int(min(h.WindowSize, zstdMaxBlockBytes))
		default:
			return unclear
		}
		if last {
			return bound
		}
		blocks = blocks[zstdBlockHeadBytes:]
		blocks = blocks[min(takes, len(blocks)):]
	}
	return unclear
}

// wholeZstd decompresses all frames of src, if they fit buf, and returns the size of what came out.
func (c *Codecs) wholeZstd(buf *wholeBuffer, src []byte) (n int, ok bool) {
	dec, ok := c.zstdWholes.Get().(*zstd.Decoder)
	if !ok {
		var err error
		if dec, err = newZstdDecoder(zstdWindowBytes, zstd.WithDecodeAllCapLimit(true)); err != nil {
			return 0, false
		}
	}
	out, err := dec.DecodeAll(src, buf[:0])
	c.zstdWholes.Put(dec)
	// What grew out of buf lies elsewhere.
	return len(out), err == nil && len(out) <= len(buf) && (len(out) == 0 || &out[0] == &buf[0])
}
