package replica

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// States of a Waiter.
const (
	waiterIdle        int32 = iota // not waiting: never did, or woke and may wait again
	waiterRegistering              // wait is entering it in the partitions' lists
	waiterArmed                    // in the lists; whoever moves it to idle wakes it
	waiterCancelled                // never wakes again
)

// Waiter is one wait for any number of partitions, with one deadline. It wakes once for each call
// of wait, on a goroutine of its own, after it was taken out of every list it stood in. The zero
// value is ready for use; it must not be copied.
type Waiter struct {
	// need is what is still missing: bytes for a fetch, appends for a produce. The waiter is due at
	// zero and below.
	need  atomic.Int64
	state atomic.Int32
	// expired is set by the timer and stays set.
	expired atomic.Bool
	wake    func(expired bool)

	timerMu sync.Mutex
	timer   clock.Timer // guarded by timerMu

	// entries are this waiter's places in the lists of partitions. Each is guarded by its list's mu
	// while the waiter is registering or armed, and belongs to the waiter's user otherwise.
	entries []waitEntry
}

// waitEntry is a waiter's place in the list of one partition.
type waitEntry struct {
	waiter     *Waiter
	list       *waitList
	prev, next *waitEntry
	linked     bool
	// offset is the upper bound that a reader has seen, or the offset that the high watermark must
	// pass: either way the entry's time comes when the bound is above offset.
	offset int64
	// bound is what a reader reads up to.
	bound bound
	// epoch is the leader epoch that a commit entry's append was made in.
	epoch int32
	// index is the entry's partition in a plan.
	index int
	// done tells that a commit entry has its answer, err.
	done bool
	err  error
}

// bound is the position of a partition that a reader reads up to.
type bound int8

const (
	boundHighWatermark bound = iota
	boundLastStableOffset
	boundLogEnd
)

// start begins a wait for at most timeout: entries may be added by register, then arm ends it. It
// reports false if the waiter was cancelled. The deadline of the first wait holds for later ones.
func (w *Waiter) start(c clock.Clock, timeout time.Duration, need int64, wake func(expired bool)) bool {
	if !w.state.CompareAndSwap(waiterIdle, waiterRegistering) {
		return false
	}
	w.need.Store(need)
	w.wake = wake
	if timeout >= 0 {
		w.timerMu.Lock()
		if w.timer == nil {
			w.timer = c.AfterFunc(timeout, w.expire)
		}
		w.timerMu.Unlock()
	}
	return true
}

// arm ends registration. If the waiter is already due it wakes at once. It reports false if the
// waiter was cancelled meanwhile.
func (w *Waiter) arm() bool {
	if !w.state.CompareAndSwap(waiterRegistering, waiterArmed) {
		w.unlink() // Cancel left the cleaning to us.
		return false
	}
	// What became due while registering found the state not armed and left it to this check.
	if w.need.Load() <= 0 || w.expired.Load() {
		w.fire()
	}
	return true
}

// satisfy takes n off what is missing and wakes the waiter if nothing is. It may be called with a
// list's mu held.
func (w *Waiter) satisfy(n int64) {
	if w.need.Add(-n) <= 0 {
		w.fire()
	}
}

// fire wakes the waiter if it is armed.
func (w *Waiter) fire() {
	if w.state.CompareAndSwap(waiterArmed, waiterIdle) {
		go w.run()
	}
}

func (w *Waiter) run() {
	w.unlink()
	w.wake(w.expired.Load())
}

func (w *Waiter) expire() {
	w.expired.Store(true)
	if w.state.CompareAndSwap(waiterArmed, waiterIdle) {
		w.run()
	}
}

// cancel ends all waiting for good and frees the timer. It reports whether the waiter was armed: if
// not, its wake may still run, or a wait that is being entered will report false.
func (w *Waiter) cancel() bool {
	was := w.state.Swap(waiterCancelled)
	w.timerMu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timerMu.Unlock()
	if was == waiterArmed {
		w.unlink()
	}
	return was == waiterArmed
}

// unlink takes the waiter out of all lists.
func (w *Waiter) unlink() {
	for i := range w.entries {
		e := &w.entries[i]
		if e.list == nil {
			continue
		}
		e.list.mu.Lock()
		e.list.remove(e)
		e.list.mu.Unlock()
	}
}

// waitList is the waiters of one kind of one partition. Readers stand in order of arrival, commit
// entries in order of their offsets.
type waitList struct {
	mu         sync.Mutex
	head, tail *waitEntry
	len        int
}

// push links e at the tail. Requires: l.mu held.
func (l *waitList) push(e *waitEntry) { l.link(e, l.tail) }

// insert links e, keeping the list sorted by offset; it walks from the tail, where newcomers are.
// Requires: l.mu held.
func (l *waitList) insert(e *waitEntry) {
	after := l.tail
	for after != nil && after.offset > e.offset {
		after = after.prev
	}
	l.link(e, after)
}

// link puts e behind after, or first. Requires: l.mu held.
func (l *waitList) link(e, after *waitEntry) {
	e.list, e.linked = l, true
	e.prev = after
	if after == nil {
		e.next, l.head = l.head, e
	} else {
		e.next, after.next = after.next, e
	}
	if e.next == nil {
		l.tail = e
	} else {
		e.next.prev = e
	}
	l.len++
}

// remove unlinks e if it is linked. Requires: l.mu held.
func (l *waitList) remove(e *waitEntry) {
	if !e.linked {
		return
	}
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.linked = nil, nil, false
	l.len--
}
