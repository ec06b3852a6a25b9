package dump

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// readOnly opens files for reading only, whatever it is asked for, so that the parsers of the log's
// packages create and change nothing.
type readOnly struct{ vfs.FS }

// OpenFile opens a file that is there.
func (r readOnly) OpenFile(name string, _ int, _ fs.FileMode) (vfs.File, error) {
	return r.FS.OpenFile(name, os.O_RDONLY, 0)
}

// source is an open file, of which the bytes up to size are read.
type source struct {
	name string
	vfs.File
	size int64
}

func (d *dumper) open(name string) (*source, error) {
	f, err := d.fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, bare(err)
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(bare(err), f.Close())
	}
	return &source{name, f, size}, nil
}

// bare strips the file's name from an error; a Problem names it already.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	return err
}

// at reads n bytes at a position into dst, which it may grow. Requires: they are within size.
func (s *source) at(dst []byte, position, n int64) ([]byte, error) {
	if int64(cap(dst)) < n {
		dst = make([]byte, n)
	}
	dst = dst[:n]
	got, err := s.ReadAt(dst, position)
	if int64(got) == n {
		return dst, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // The file was truncated meanwhile.
	}
	return dst[:got], fmt.Errorf("read at position %d: %w", position, bare(err))
}

// header reads the head of the batch at a position. io.EOF means that no whole batch fits between it
// and end.
func (s *source) header(position, end int64) (batch.Header, error) {
	if end-position < batch.PeekSize {
		return batch.Header{}, io.EOF
	}
	var room [batch.HeaderSize]byte
	b, err := s.at(room[:], position, min(int64(len(room)), end-position))
	if err != nil {
		return batch.Header{}, err
	}
	size, _, err := batch.ParseSize(b)
	if err != nil {
		return batch.Header{}, corrupt{err}
	}
	if int64(size) > end-position {
		return batch.Header{}, io.EOF
	}
	h, err := batch.ParseHeader(b)
	if err != nil {
		return batch.Header{}, corrupt{err}
	}
	return h, nil
}

// corrupt is an error about bytes, where others are about reading them.
type corrupt struct{ error }
