//go:build !linux

package vfs

import "os"

// datasync makes bytes and size durable.
func datasync(f *os.File) error { return f.Sync() }

// fallocate does nothing: the reservation only saves work later.
func fallocate(*os.File, int64, int64) error { return nil }
