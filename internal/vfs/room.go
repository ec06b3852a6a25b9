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
	c := causesOf(err)
	return c.room && !c.descriptors && !c.other
}

// NoDescriptors says that files or directories couldn't be opened since the process or the system has too many open
// (EMFILE, ENFILE), and that nothing else failed but for want of room: nothing is wrong with what is there.
func NoDescriptors(err error) bool {
	c := causesOf(err)
	return c.descriptors && !c.other
}

// Scarce says that an error is NoRoom or NoDescriptors: it goes by, and left what was there as it was.
func Scarce(err error) bool {
	c := causesOf(err)
	return (c.room || c.descriptors) && !c.other
}

// causes is what calls failed for: want of room, want of descriptors, any other failure of the operating system.
type causes struct{ room, descriptors, other bool }

// causesOf looks through all that err wraps and joins.
func causesOf(err error) causes {
	switch e := err.(type) { //nolint:errorlint // It walks the tree that errors.As would search.
	case nil:
		return causes{}
	case *SyncError:
		return causes{other: true}
	case syscall.Errno:
		c := causes{
			room:        e == syscall.ENOSPC || e == syscall.EDQUOT,
			descriptors: e == syscall.EMFILE || e == syscall.ENFILE,
		}
		c.other = !c.room && !c.descriptors
		return c
	case interface{ Unwrap() []error }:
		var all causes
		for _, child := range e.Unwrap() {
			c := causesOf(child)
			all.room, all.descriptors, all.other = all.room || c.room, all.descriptors || c.descriptors, all.other || c.other
		}
		return all
	case interface{ Unwrap() error }:
		return causesOf(e.Unwrap())
	default:
		return causes{other: errors.Is(err, ErrInjected)}
	}
}
