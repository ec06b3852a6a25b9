package commitlog

import (
	"sync"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/files"
)

// Slice is a held range of a segment file. Until Release its file stays open, though it may be
// renamed or removed by retention meanwhile. A truncation, which happens on followers only, may
// change its bytes. It satisfies wire.FileRange.
type Slice struct {
	log      *files.File
	file     vfs.File
	position int64
	n        int
}

// Fd is the file's descriptor for sendfile; false if it has none.
func (s *Slice) Fd() (fd uintptr, ok bool) { return s.file.Fd() }

// ReadAt reads at a position of the file (not of the range), as io.ReaderAt.
func (s *Slice) ReadAt(p []byte, position int64) (int, error) { return s.file.ReadAt(p, position) }

// ReadCached is ReadAt in what is in memory, all of p, else vfs.ErrNotCached.
func (s *Slice) ReadCached(p []byte, position int64) error { return s.file.ReadCached(p, position) }

// Position is where the range starts in the file, in bytes.
func (s *Slice) Position() int64 { return s.position }

// Len is the range's length in bytes.
func (s *Slice) Len() int { return s.n }

// slicePool has those that were released, for further reads.
var slicePool = sync.Pool{New: func() any { return &Slice{} }}

// newSlice returns a range of a file that is held.
func newSlice(log *files.File, file vfs.File, position int64, n int) *Slice {
	s := slicePool.Get().(*Slice)
	s.log, s.file, s.position, s.n = log, file, position, n
	return s
}

// Release gives the hold up; called exactly once, and s isn't used after it.
func (s *Slice) Release() {
	log := s.log
	if log == nil {
		panic("commitlog: a slice was released twice")
	}
	*s = Slice{}
	slicePool.Put(s)
	log.Release()
}
