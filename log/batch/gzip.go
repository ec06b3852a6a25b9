package batch

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// gzipLevels is the number of levels: the default (-1), 0 and 1 to 9.
const gzipLevels = 11

// gzipReader reads a gzip stream (RFC 1952), several members too. What follows the last member
// and isn't one is ignored, as Java's GZIPInputStream does.
type gzipReader struct {
	src  bytes.Reader
	gz   *gzip.Reader
	done bool
}

func (c *Codecs) openGzip(src []byte) (decompressor, error) {
	r, ok := c.gzipReaders.Get().(*gzipReader)
	if !ok {
		r = &gzipReader{gz: new(gzip.Reader)}
	}
	r.src.Reset(src)
	r.done = false
	if err := r.gz.Reset(&r.src); err != nil {
		r.release(c)
		return nil, decompressError(err)
	}
	r.gz.Multistream(false)
	return r, nil
}

// Read implements io.Reader.
func (r *gzipReader) Read(p []byte) (int, error) {
	for !r.done {
		n, err := r.gz.Read(p)
		switch {
		case err == nil:
			return n, nil
		case !errors.Is(err, io.EOF):
			return n, decompressError(err)
		}
		r.done = r.gz.Reset(&r.src) != nil // The end, or no further member.
		r.gz.Multistream(false)
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

func (r *gzipReader) release(c *Codecs) {
	r.src.Reset(nil)
	c.gzipReaders.Put(r)
}

func (c *Codecs) compressGzip(dst []byte, level int, src []byte) ([]byte, error) {
	if level == DefaultLevel {
		level = gzip.DefaultCompression
	}
	if level < gzip.DefaultCompression || level > gzip.BestCompression {
		return dst, kerror.New(kerr.InvalidConfig, "gzip level %d is out of range", level)
	}
	pool := &c.gzipWriters[level+1]
	w, ok := pool.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(io.Discard, level); err != nil {
			return dst, err
		}
	}
	out := &sliceWriter{dst}
	w.Reset(out)
	if _, err := w.Write(src); err != nil {
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	w.Reset(io.Discard)
	pool.Put(w)
	return out.b, nil
}
