package commitlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// cleanReader reads the whole batches of a segment in large pieces, and checks all that can be checked:
// what is compacted is believed for ever after.
type cleanReader struct {
	seg  *segment
	file vfs.File
	// buf[at:have] are the bytes from pos on; the file is taken to end at end.
	buf      []byte
	at, have int
	pos, end int64
	// next is the smallest offset that may come, limit the first that may not.
	next, limit int64
	// tick is called after each read with the number of bytes.
	tick func(n int) error
}

// open starts at a position of a segment; the buffer is kept. Requires: file is held.
func (r *cleanReader) open(s *segment, file vfs.File, position, limit int64) {
	r.seg, r.file = s, file
	r.at, r.have, r.pos, r.end = 0, 0, position, s.size.Load()
	r.next, r.limit = s.baseOffset, limit
}

// batch returns the next batch, valid until the next call; io.EOF after the last one.
func (r *cleanReader) batch() (batch.Batch, error) {
	if r.pos >= r.end {
		return batch.Batch{}, io.EOF
	}
	if err := r.need(min(batch.HeaderSize, int(r.end-r.pos))); err != nil {
		return batch.Batch{}, err
	}
	size, _, err := batch.ParseSize(r.buf[r.at:r.have])
	if err == nil && int64(size) > r.end-r.pos {
		err = batch.ErrTruncated
	}
	if err != nil {
		return batch.Batch{}, r.corrupt(err)
	}
	if err := r.need(size); err != nil {
		return batch.Batch{}, err
	}
	b, _, err := batch.Parse(r.buf[r.at : r.at+size])
	if err == nil {
		err = r.check(&b)
	}
	if err != nil {
		return batch.Batch{}, r.corrupt(err)
	}
	r.at += size
	r.pos += int64(size)
	r.next = b.NextOffset()
	return b, nil
}

// check demands rising offsets and the right checksum.
func (r *cleanReader) check(b *batch.Batch) error {
	first := b.BaseOffset
	if b.Magic < batch.MagicV2 {
		first = b.LastOffset() // The first offset of a compressed set isn't in its head.
	}
	if first < r.next || b.LastOffset() < first || b.LastOffset() >= r.limit {
		return fmt.Errorf("offsets %d to %d where [%d, %d) is expected", b.BaseOffset, b.LastOffset(), r.next, r.limit)
	}
	return b.CheckCRC()
}

func (r *cleanReader) corrupt(cause error) error {
	return &CorruptError{Path: r.seg.log.Path(), Position: r.pos, Reason: cause.Error()}
}

// need reads until n bytes are at hand. Requires: n <= end - pos.
func (r *cleanReader) need(n int) error {
	for r.have-r.at < n {
		if r.at > 0 {
			r.have = copy(r.buf, r.buf[r.at:r.have])
			r.at = 0
		}
		if n > len(r.buf) {
			grown := make([]byte, n)
			copy(grown, r.buf[:r.have])
			r.buf = grown
		}
		from := r.pos + int64(r.have)
		want := int(min(int64(len(r.buf)-r.have), r.end-from))
		got, err := r.file.ReadAt(r.buf[r.have:r.have+want], from)
		r.have += got
		if got < want {
			if err == nil || errors.Is(err, io.EOF) {
				return r.corrupt(batch.ErrTruncated)
			}
			return fmt.Errorf("%w: %s at position %d: %w", errRead, r.seg.log.Path(), from, err)
		}
		if err := r.tick(got); err != nil {
			return err
		}
	}
	return nil
}
