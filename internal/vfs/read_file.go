package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of at most maxBytes whole. A missing one is an error that is fs.ErrNotExist.
func ReadFile(fs FS, name string, maxBytes int64) ([]byte, error) {
	f, err := fs.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxBytes {
		return nil, fmt.Errorf("%s has %d bytes, at most %d are expected", name, size, maxBytes)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b[:n], nil
}
