package controller

import "sync/atomic"

// activity tells whether this node is the active controller; written by the loop, read by all.
type activity struct{ term atomic.Uint64 }

// get returns the term of the leadership; false if this node isn't the active controller.
func (a *activity) get() (term uint64, ok bool) {
	term = a.term.Load()
	return term, term != 0
}

func (a *activity) set(term uint64) { a.term.Store(term) }
func (a *activity) clear()          { a.term.Store(0) }
