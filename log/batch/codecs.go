package batch

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// DefaultLevel asks for a codec's own default level.
const DefaultLevel = -1 << 31

// Codecs pools compressors, decompressors and their buffers. One is made for a whole server;
// it is safe for concurrent use. The pools hold what concurrent use needed at its height, and
// the garbage collector empties them.
type Codecs struct {
	windows      sync.Pool // *window
	wholes       sync.Pool // *wholeBuffer
	scratch      sync.Pool // *[]byte of any size, uncompressed records of builders
	gzipReaders  sync.Pool
	snapReaders  sync.Pool
	lz4Readers   sync.Pool
	zstdReaders  sync.Pool
	zstdWholes   sync.Pool // *zstd.Decoder for wholeZstd
	gzipWriters  [gzipLevels]sync.Pool
	lz4Fast      sync.Pool
	lz4High      sync.Pool
	zstdEncoders [zstdLevels]sync.Pool
	// largeZstd holds largeZstdReaders tokens. Frames that ask for a window above
	// zstdWindowBytes are read by that many readers at a time, and others wait, since a frame of
	// a few bytes can ask for 128 MiB. So that nobody waits for himself, a goroutine may have
	// only one reader open while others do likewise: see RecordReader.
	largeZstd chan struct{}
}

// NewCodecs returns empty pools.
func NewCodecs() *Codecs {
	c := &Codecs{largeZstd: make(chan struct{}, largeZstdReaders)}
	for range largeZstdReaders {
		c.largeZstd <- struct{}{}
	}
	return c
}

// decompressor reads one compressed stream of which all bytes are at hand.
type decompressor interface {
	io.Reader
	// release gives the decompressor back; it may not be used afterwards.
	release(c *Codecs)
}

// decompressError says that a compressed stream is malformed. Kafka has no code for it: what
// its decompressors throw ends as UNKNOWN_SERVER_ERROR.
func decompressError(cause error) error {
	return kerror.Wrap(kerr.UnknownServerError, cause)
}

// open starts to decompress src, which the decompressor borrows until release.
func (c *Codecs) open(codec Codec, src []byte) (decompressor, error) {
	switch codec {
	case Gzip:
		return c.openGzip(src)
	case Snappy:
		return c.openSnappy(src), nil
	case LZ4:
		return c.openLZ4(src, false)
	case Zstd:
		return c.openZstd(src)
	}
	return nil, unknownCodec(codec)
}

func unknownCodec(codec Codec) error {
	return decompressError(fmt.Errorf("unknown compression type id: %d", uint8(codec)))
}

// Decompress appends the decompressed src to dst. More than maxBytes is CORRUPT_MESSAGE.
// dst grows with what was read, not with what src claims.
func (c *Codecs) Decompress(dst []byte, codec Codec, src []byte, maxBytes int64) ([]byte, error) {
	if codec == None {
		if int64(len(src)) > maxBytes {
			return dst, tooLarge(maxBytes)
		}
		return append(dst, src...), nil
	}
	dec, err := c.open(codec, src)
	if err != nil {
		return dst, err
	}
	defer dec.release(c)
	return readAll(dst, dec, maxBytes)
}

// readAll appends what r yields to dst, at most maxBytes.
func readAll(dst []byte, r io.Reader, maxBytes int64) ([]byte, error) {
	limit := int64(len(dst)) + maxBytes
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if int64(len(dst)) > limit {
			return dst, tooLarge(maxBytes)
		}
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

func tooLarge(maxBytes int64) error {
	return corrupt("Decompressed records exceed the limit of %d bytes", maxBytes)
}

// Compress appends src, compressed as Kafka's clients expect the codec, to dst. level is the
// codec's (compression.<codec>.level), or DefaultLevel; None copies.
func (c *Codecs) Compress(dst []byte, codec Codec, level int, src []byte) ([]byte, error) {
	switch codec {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return c.compressGzip(dst, level, src)
	case Snappy:
		return c.compressSnappy(dst, src), nil
	case LZ4:
		return c.compressLZ4(dst, level, src)
	case Zstd:
		return c.compressZstd(dst, level, src)
	}
	return dst, unknownCodec(codec)
}

// window is what pools keep of a stream, by pointer as wholeBuffer is.
type window [streamBufferBytes]byte

func (c *Codecs) getWindow() *window {
	if w, ok := c.windows.Get().(*window); ok {
		return w
	}
	return new(window)
}

func (c *Codecs) putWindow(w *window) { c.windows.Put(w) }

// maxScratchBytes is the largest buffer that is kept for reuse.
const maxScratchBytes = 1 << 20

// getScratch takes an empty buffer of some capacity.
func (c *Codecs) getScratch() []byte {
	if b, ok := c.scratch.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

func (c *Codecs) putScratch(b []byte) {
	if cap(b) > 0 && cap(b) <= maxScratchBytes {
		c.scratch.Put(&b)
	}
}

// sliceWriter is an io.Writer that appends.
type sliceWriter struct{ b []byte }

// Write implements io.Writer.
func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}
