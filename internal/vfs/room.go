package vfs

import (
	"errors"
	"syscall"
)

// SyncError is an error of File.Sync or FS.SyncDir. It stands apart from all others because nothing
// is known any more of what was written before it.
type SyncError struct{ Err error }

// Error implements error.
func (e *SyncError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *SyncError) Unwrap() error { return e.Err }

// syncError marks an error of a sync; nil stays nil.
func syncError(err error) error {
	if err == nil {
		return nil
	}
	return &SyncError{err}
}

// NoRoom says that calls failed for want of room on the device (ENOSPC, or EDQUOT of a quota) and
// for nothing else: all that was there before is still good, though a write may have left a part of
// its own bytes. It is false for a sync, which with delayed allocation may fail for want of room as
// well but leaves earlier bytes in doubt, and where another failure is among those that err joins.
func NoRoom(err error) bool {
	full, other := causes(err)
	return full && !other
}

// causes looks for a full device and for any other failure of the operating system.
func causes(err error) (full, other bool) {
	switch e := err.(type) { //nolint:errorlint // It walks the tree that errors.As would search.
	case nil:
	case *SyncError:
		return false, true
	case syscall.Errno:
		full = e == syscall.ENOSPC || e == syscall.EDQUOT
		return full, !full
	case interface{ Unwrap() []error }:
		for _, child := range e.Unwrap() {
			f, o := causes(child)
			full, other = full || f, other || o
		}
	case interface{ Unwrap() error }:
		return causes(e.Unwrap())
	default:
		other = errors.Is(err, ErrInjected)
	}
	return full, other
}
