package wire

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Budget bounds the memory that requests of all connections hold. A request is charged when its
// size is known and before memory is taken for it; a connection whose request doesn't fit waits in a
// first-in first-out list. A request larger than the whole budget is let through when it is alone.
//
// How long a frame under construction keeps its charge is up to its client. So that clients
// with large frames don't keep the others waiting, requests beyond usualRequestBytes have a list of
// their own and together take at most half of the budget, or one of them more.
//
// The common case, a charge that fits while nobody waits, is one atomic operation.
type Budget struct {
	total int64
	used  atomic.Int64
	// waiting is the number of waiters in both lists, usualWaiting in the one of usual requests; readable
	// without mu.
	waiting, usualWaiting atomic.Int64

	mu sync.Mutex
	// large is what large requests take of used; guarded by mu, as are the lists.
	large          int64
	usuals, larges []*budgetWaiter
}

// usualRequestBytes is the most that is charged for a usual request: the batches of producers that set
// batch.size and max.request.size as far as most do, and 256 KiB of any other API.
const usualRequestBytes = 4 << 20

// charged is what requests were charged, by kind.
type charged struct{ usual, large int64 }

// chargeOf is what one request was charged.
func chargeOf(n int64) (c charged) {
	c.add(n)
	return c
}

// add adds the charge of one request.
func (c *charged) add(n int64) {
	if n > usualRequestBytes {
		c.large += n
	} else {
		c.usual += n
	}
}

// plus adds up.
func (c charged) plus(o charged) charged { return charged{c.usual + o.usual, c.large + o.large} }

// budgetWaiter is a connection's place in its list; it may be in one once.
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

// Wanted says whether a connection waits for memory.
func (b *Budget) Wanted() bool { return b.waiting.Load() > 0 }

// try charges n bytes if they fit, or if nothing else is charged. Requires for large n: b.mu held.
func (b *Budget) try(n int64) bool {
	large := n > usualRequestBytes
	if large && b.large != 0 && n > b.total/2-b.large {
		return false
	}
	for {
		used := b.used.Load()
		if used != 0 && n > b.total-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			if large {
				b.large += n
			}
			return true
		}
	}
}

// list is the waiters of n's kind.
func (b *Budget) list(n int64) *[]*budgetWaiter {
	if n > usualRequestBytes {
		return &b.larges
	}
	return &b.usuals
}

// acquire charges n bytes and reports true, or puts w into its list and reports false.
func (b *Budget) acquire(n int64, w *budgetWaiter) bool {
	if n <= usualRequestBytes && b.usualWaiting.Load() == 0 && b.try(n) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// From here on a release sees the waiter and takes mu: what it frees can't be missed.
	b.count(n, 1)
	list := b.list(n)
	if len(*list) == 0 && b.try(n) {
		b.count(n, -1)
		return true
	}
	w.n, w.queued = n, true
	*list = append(*list, w)
	return false
}

// count counts the waiters of n's kind. Requires: b.mu held.
func (b *Budget) count(n, by int64) {
	b.waiting.Add(by)
	if n <= usualRequestBytes {
		b.usualWaiting.Add(by)
	}
}

// release gives memory back and lets those in who fit now, in order.
func (b *Budget) release(c charged) {
	if c.large != 0 {
		b.mu.Lock()
		b.large -= c.large
		b.mu.Unlock()
	}
	if used := b.used.Add(-c.usual - c.large); used < 0 {
		panic("wire: more memory given back than charged")
	}
	if b.waiting.Load() > 0 {
		b.admit()
	}
}

// admit grants the heads of the lists for as long as they fit, usual requests first.
func (b *Budget) admit() {
	for {
		w := b.next()
		if w == nil {
			return
		}
		w.granted()
	}
}

// next charges for the next waiter that fits and takes it out of its list; nil if none does.
func (b *Budget) next() *budgetWaiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, list := range [...]*[]*budgetWaiter{&b.usuals, &b.larges} {
		if len(*list) == 0 {
			continue
		}
		w := (*list)[0]
		if !b.try(w.n) {
			continue
		}
		(*list)[0] = nil
		*list = (*list)[1:]
		b.count(w.n, -1)
		w.queued = false
		return w
	}
	return nil
}

// cancel takes w out of its list. It reports false if w isn't in it: then granted was called or is
// about to be.
func (b *Budget) cancel(w *budgetWaiter) bool {
	b.mu.Lock()
	if !w.queued {
		b.mu.Unlock()
		return false
	}
	w.queued = false
	list := b.list(w.n)
	if i := slices.Index(*list, w); i >= 0 {
		*list = append((*list)[:i:i], (*list)[i+1:]...)
	}
	b.count(w.n, -1)
	b.mu.Unlock()
	b.admit() // The next one may be smaller.
	return true
}
