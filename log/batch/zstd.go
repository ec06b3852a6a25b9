package batch

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

const (
	// zstdLevels is the number of levels of the library, which are fewer than zstd's.
	zstdLevels = int(zstd.SpeedBestCompression)
	// zstdWindowBytes is the window that pooled decoders allow: zstd's own up to level 19.
	zstdWindowBytes = 8 << 20
	// zstdLargeWindowBytes is the largest window that Kafka's decoder allows.
	zstdLargeWindowBytes = 128 << 20
	// largeZstdReaders is how many readers may have a window above zstdWindowBytes at a time.
	largeZstdReaders = 2
	// zstdWriteWindowBytes is zstd's own window at its default level.
	zstdWriteWindowBytes = 2 << 20
	// zstdDefaultLevel is the default of compression.zstd.level.
	zstdDefaultLevel = 3
	// zstdMinLevel and zstdMaxLevel are the bounds of compression.zstd.level.
	zstdMinLevel = -131072
	zstdMaxLevel = 22
)

// zstdReader reads zstd frames.
type zstdReader struct {
	src   bytes.Reader
	dec   *zstd.Decoder
	large bool // holds a token of Codecs.largeZstd
}

func (c *Codecs) openZstd(src []byte) (decompressor, error) {
	if windowBytes(src) > zstdWindowBytes {
		return c.openLargeZstd(src)
	}
	r, ok := c.zstdReaders.Get().(*zstdReader)
	if !ok {
		dec, err := newZstdDecoder(zstdWindowBytes)
		if err != nil {
			return nil, err
		}
		r = &zstdReader{dec: dec}
	}
	if err := r.reset(src); err != nil {
		r.release(c)
		return nil, err
	}
	return r, nil
}

// openLargeZstd waits for its turn and makes a decoder that is dropped after use.
func (c *Codecs) openLargeZstd(src []byte) (decompressor, error) {
	dec, err := newZstdDecoder(zstdLargeWindowBytes)
	if err != nil {
		return nil, err
	}
	<-c.largeZstd
	r := &zstdReader{dec: dec, large: true}
	if err := r.reset(src); err != nil {
		r.release(c)
		return nil, err
	}
	return r, nil
}

// newZstdDecoder makes a decoder that runs on its caller's goroutine alone.
func newZstdDecoder(maxWindowBytes uint64, more ...zstd.DOption) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, append(more, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindowBytes), zstd.WithDecoderMaxMemory(1<<62))...)
}

// windowBytes is the window that the first frame of src asks for, 0 if it can't be told.
func windowBytes(src []byte) uint64 {
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return 0
	}
	return headWindowBytes(&h)
}

func headWindowBytes(h *zstd.Header) uint64 {
	if h.SingleSegment {
		return h.FrameContentSize
	}
	return h.WindowSize
}

func (r *zstdReader) reset(src []byte) error {
	r.src.Reset(src)
	if err := r.dec.Reset(&r.src); err != nil {
		return decompressError(err)
	}
	return nil
}

// Read implements io.Reader.
func (r *zstdReader) Read(p []byte) (int, error) {
	n, err := r.dec.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = decompressError(err)
	}
	return n, err
}

func (r *zstdReader) release(c *Codecs) {
	r.src.Reset(nil)
	if r.large {
		r.dec.Close()
		c.largeZstd <- struct{}{}
		return
	}
	c.zstdReaders.Put(r)
}

func (c *Codecs) compressZstd(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = zstdDefaultLevel
	}
	if level < zstdMinLevel || level > zstdMaxLevel {
		return dst, kerror.New(kerr.InvalidConfig, "zstd level %d is out of range", level)
	}
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &c.zstdEncoders[int(speed)-1]
	enc, ok := pool.Get().(*zstd.Encoder)
	if !ok {
		var err error
		enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(speed),
			zstd.WithWindowSize(zstdWriteWindowBytes), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return dst, err
		}
	}
	dst = enc.EncodeAll(src, dst)
	pool.Put(enc)
	return dst, nil
}
