package commitlog

import (
	"errors"
	"io"

	"github.com/ottla/ottla/internal/vfs"
)

// justRolled says that a segment, which was flushed up to next, where the one after it begins, may have been
// rolled since then. That cut off reserved room and wrote to its indexes, and perhaps not durably, so that
// they are better made again. False if what it holds can't be explained so: then it is left alone, like
// everything that was flushed.
func justRolled(s *segment, next int64) (bool, error) {
	f, err := s.log.Hold()
	if err != nil {
		return false, err
	}
	defer s.log.Release()
	sc := newScanner(f, 0, s.size.Load())
	defer sc.close()
	end := s.baseOffset
	for {
		h, pos, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case errors.Is(err, errTornBatch):
			if end != next {
				return false, nil
			}
			return onlyZeros(f, pos, s.size.Load())
		case err != nil:
			return false, s.corrupt(pos, err)
		}
		end = h.LastOffset() + 1
	}
}

// onlyZeros says that a file has nothing else in [from, to).
func onlyZeros(f vfs.File, from, to int64) (bool, error) {
	window := make([]byte, scanWindow)
	for from < to {
		n, err := f.ReadAt(window[:min(int64(len(window)), to-from)], from)
		for _, b := range window[:n] {
			if b != 0 {
				return false, nil
			}
		}
		from += int64(n)
		if n == 0 {
			return false, err
		}
	}
	return true, nil
}
