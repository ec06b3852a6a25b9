//go:build !linux

package vfs

import (
	"errors"
	"os"
)

// datasync makes bytes and size durable.
func datasync(f *os.File) error { return f.Sync() }

// readCached finds nothing: there is no way to tell.
func readCached(*os.File, []byte, int64) error { return ErrNotCached }

// fallocate does nothing: the reservation only saves work later.
func fallocate(*os.File, int64, int64) error { return nil }

// reserve isn't known to help.
func reserve(*os.File, int64, int64) error { return errors.ErrUnsupported }

func unreserve(*os.File) error { return nil }
