package wire

import (
	"math"
	"sync"
	"sync/atomic"
)

// Budget bounds the memory that requests of all connections hold. A request is charged when its
// size is known and before memory is taken for it; a connection whose request doesn't fit waits in a
// first-in first-out list. A request larger than the whole budget is let through when it is alone.
//
// The common case, a charge that fits while nobody waits, is one atomic operation.
type Budget struct {
	total int64
	used  atomic.Int64
	// waiting is len(waiters), readable without mu.
	waiting atomic.Int64

	mu      sync.Mutex
	waiters []*budgetWaiter
}

// budgetWaiter is a connection's place in the list; it may be in the list once.
type budgetWaiter struct {
	n int64
	// granted is called, without locks, once n bytes are charged. It must not block.
	granted func()
	// queued is guarded by Budget.mu.
	queued bool
}

// NewBudget returns a budget of total bytes; no limit if total isn't positive.
func NewBudget(total int64) *Budget {
	if total <= 0 {
		total = math.MaxInt64
	}
	return &Budget{total: total}
}

// Used is the number of bytes charged.
func (b *Budget) Used() int64 { return b.used.Load() }

// try charges n bytes if they fit, or if nothing else is charged.
func (b *Budget) try(n int64) bool {
	for {
		used := b.used.Load()
		if used != 0 && n > b.total-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// acquire charges n bytes and reports true, or puts w into the list and reports false.
func (b *Budget) acquire(n int64, w *budgetWaiter) bool {
	if b.waiting.Load() == 0 && b.try(n) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// From here on a release sees the waiter and takes mu: what it frees can't be missed.
	b.waiting.Add(1)
	if len(b.waiters) == 0 && b.try(n) {
		b.waiting.Add(-1)
		return true
	}
	w.n, w.queued = n, true
	b.waiters = append(b.waiters, w)
	return false
}

// release gives n bytes back and lets those in who fit now, in order.
func (b *Budget) release(n int64) {
	if used := b.used.Add(-n); used < 0 {
		panic("wire: more memory given back than charged")
	}
	if b.waiting.Load() > 0 {
		b.admit()
	}
}

// admit grants the head of the list for as long as it fits.
func (b *Budget) admit() {
	for {
		b.mu.Lock()
		if len(b.waiters) == 0 || !b.try(b.waiters[0].n) {
			b.mu.Unlock()
			return
		}
		w := b.waiters[0]
		b.waiters[0] = nil
		b.waiters = b.waiters[1:]
		b.waiting.Add(-1)
		w.queued = false
		b.mu.Unlock()
		w.granted()
	}
}

// cancel takes w out of the list. It reports false if w isn't in it: then granted was called or is
// about to be.
func (b *Budget) cancel(w *budgetWaiter) bool {
	b.mu.Lock()
	if !w.queued {
		b.mu.Unlock()
		return false
	}
	w.queued = false
	for i, o := range b.waiters {
		if o == w {
			b.waiters = append(b.waiters[:i:i], b.waiters[i+1:]...)
			break
		}
	}
	b.waiting.Add(-1)
	b.mu.Unlock()
	b.admit() // The next one may be smaller.
	return true
}
