// Package clock is the seam through which the program reads time and sets timers.
//
// Only cmd and internal/server name System; everything else is handed a Clock. Tests use
// testing/synctest with System, or Manual where a test steps time by hand.
package clock

import "time"

// Clock reads time and runs functions later.
type Clock interface {
	// Now is the current time; it carries a monotonic reading where the system has one.
	Now() time.Time
	// AfterFunc runs f on its own goroutine once d has passed.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of AfterFunc.
type Timer interface {
	// Stop prevents the call; it reports false if the call already started or was stopped.
	Stop() bool
	// Reset moves the call to d from now; it reports whether the timer was still pending.
	Reset(d time.Duration) bool
}

// System is the machine's clock.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (System) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
