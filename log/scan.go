package commitlog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// scanWindow is how much of a segment a scan reads at once, in bytes: the heads of a few small
// batches, or one of a large batch.
const scanWindow = 4096

// recoveryWindow is the piece in which a recovery reads a segment, in bytes.
const recoveryWindow = 128 << 10

// errRead marks a failure of the device, which says nothing about the bytes.
var errRead = errors.New("read failed")

// errTornBatch ends a scan at bytes that are no whole batch.
var errTornBatch = errors.New("no whole batch")

// scanner walks the batches of a segment file by their heads. It borrows the file.
type scanner struct {
	file vfs.File
	// cached reads what is in memory only.
	cached bool
	// pos is where the next batch starts and end where the file is taken to end.
	pos, end int64
	// buf has the file's bytes from bufPos on.
	buf    []byte
	bufPos int64
	window []byte
}

var scanners = sync.Pool{New: func() any { return &scanner{window: make([]byte, scanWindow)} }}

// newScanner returns a pooled scanner over [pos, end); give it back with close.
func newScanner(file vfs.File, pos, end int64) *scanner {
	s := scanners.Get().(*scanner)
	s.file, s.cached, s.pos, s.end, s.buf = file, false, pos, end, nil
	return s
}

func (s *scanner) close() {
	s.file, s.buf = nil, nil
	scanners.Put(s)
}

// peek returns n bytes at pos, fewer only at the end. Requires: n <= len(s.window).
func (s *scanner) peek(pos int64, n int) ([]byte, error) {
	n = int(min(int64(n), s.end-pos))
	if n <= 0 {
		return nil, nil
	}
	if at := pos - s.bufPos; s.buf == nil || at < 0 || at+int64(n) > int64(len(s.buf)) {
		want := min(int64(len(s.window)), s.end-pos)
		got, err := s.read(s.window[:want], pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%w: %w", errRead, err)
		}
		s.buf, s.bufPos = s.window[:got], pos
		n = min(n, got)
	}
	at := pos - s.bufPos
	return s.buf[at : at+int64(n)], nil
}

func (s *scanner) read(p []byte, pos int64) (int, error) {
	if s.cached {
		return len(p), s.file.ReadCached(p, pos)
	}
	return s.file.ReadAt(p, pos)
}

// next returns the head of the next batch and its position. io.EOF is the end, errTornBatch bytes
// that are no head, or a batch that reaches beyond the end.
func (s *scanner) next() (h batch.Header, pos int64, err error) {
	if s.pos >= s.end {
		return h, s.pos, io.EOF
	}
	b, err := s.peek(s.pos, batch.HeaderSize)
	if err != nil {
		return h, s.pos, err
	}
	h, err = batch.ParseHeader(b)
	if err != nil {
		return h, s.pos, fmt.Errorf("%w: %w", errTornBatch, err)
	}
	if int64(h.SizeBytes()) > s.end-s.pos {
		return h, s.pos, fmt.Errorf("%w: %d bytes announced, %d left", errTornBatch, h.SizeBytes(), s.end-s.pos)
	}
	pos = s.pos
	s.pos += int64(h.SizeBytes())
	return h, pos, nil
}

// checkCRC reads the batch at pos in pieces and compares its checksum. Nothing larger than the
// scanner's window is held for magic 2; older batches are read whole.
func (s *scanner) checkCRC(h *batch.Header, pos int64) error {
	if h.Magic < batch.MagicV2 {
		b, err := readBatch(s.file, h, pos)
		if err != nil {
			return err
		}
		return b.CheckCRC()
	}
	const crcStart = 21
	var crc uint32
	table := crc32.MakeTable(crc32.Castagnoli)
	for at, end := pos+crcStart, pos+int64(h.SizeBytes()); at < end; {
		b, err := s.peek(at, int(min(int64(len(s.window)), end-at)))
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return errTornBatch
		}
		crc = crc32.Update(crc, table, b)
		at += int64(len(b))
	}
	if crc != h.CRC {
		return fmt.Errorf("checksum %d, %d expected", crc, h.CRC)
	}
	return nil
}

// readBatch reads the whole batch at pos.
func readBatch(file vfs.File, h *batch.Header, pos int64) (batch.Batch, error) {
	buf := make([]byte, h.SizeBytes())
	if n, err := file.ReadAt(buf, pos); n < len(buf) {
		return batch.Batch{}, fmt.Errorf("%w: batch at position %d: %w", errRead, pos, err)
	}
	b, _, err := batch.Parse(buf)
	return b, err
}
