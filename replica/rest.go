package replica

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/replica/isr"
)

// A fetch session (KIP-227) of thousands of partitions has news of a few. A partition of which the client
// knows all rests: no request looks at it until the partition itself says that something has changed.

// Rest is the resting partitions of one session. The zero value is ready for use. Its mu is taken last of all.
type Rest struct {
	mu sync.Mutex
	// The rest is guarded by mu.

	// lastFetch is when the session was used last: a resting follower had all that there was then.
	lastFetch time.Time
	asleep    int
	woken     []*Resting
	// due says that among woken there is something that a waiting fetch waits for.
	due    bool
	waiter *Waiter
}

// Resting is one partition's place in a Rest. Owner is for whoever has it; the rest belongs to the package.
type Resting struct {
	Owner any

	// rest, p and bound are fixed while it sleeps.
	rest  *Rest
	p     *Partition
	bound bound
	// prev, next and linked are its place in the partition's list, guarded by that list's mu.
	prev, next *Resting
	linked     bool
	// asleep, and lastFetch once it isn't, are guarded by rest.mu.
	asleep    bool
	lastFetch time.Time
}

// LastFetch implements isr.Presence: it is when the follower has last fetched while it had all that there was.
func (e *Resting) LastFetch() time.Time {
	e.rest.mu.Lock()
	defer e.rest.mu.Unlock()
	if e.asleep {
		return e.rest.lastFetch
	}
	return e.lastFetch
}

// Used notes a fetch of the session, after its plan has run: what sleeps now slept through it.
func (r *Rest) Used(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastFetch = now
}

// Woken takes those that woke since it was called last.
func (r *Rest) Woken() []*Resting {
	r.mu.Lock()
	defer r.mu.Unlock()
	woken := r.woken
	r.woken, r.due = nil, false
	return woken
}

// any tells whether something sleeps.
func (r *Rest) any() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asleep > 0
}

// await has w woken by what wakes with something to read.
func (r *Rest) await(w *Waiter) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiter = w
	if r.due {
		w.satisfy(math.MaxInt32)
	}
}

// leave is the end of await.
func (r *Rest) leave(w *Waiter) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiter == w {
		r.waiter = nil
	}
}

// begin puts e to sleep.
func (r *Rest) begin(e *Resting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.asleep = true
	r.asleep++
}

// end wakes e, and tells the session of it unless it is the session that ends it. hurry says that there is something to read.
func (r *Rest) end(e *Resting, tell, hurry bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !e.asleep {
		return
	}
	e.asleep, e.lastFetch = false, r.lastFetch
	r.asleep--
	if !tell {
		return
	}
	r.woken = append(r.woken, e)
	if hurry {
		r.due = true
		if r.waiter != nil {
			r.waiter.satisfy(math.MaxInt32)
		}
	}
}

// End wakes e for the session's own reasons; it does nothing to one that doesn't sleep. The session isn't told.
func (e *Resting) End() {
	if e.p == nil {
		return
	}
	l := &e.p.resting
	l.mu.Lock()
	l.remove(e)
	l.mu.Unlock()
	e.rest.end(e, false, false)
}

// Settle puts a partition to sleep in r whose part of a plan has been answered, and reports false where there
// may be more to say soon: then the next plan must have the partition. The owner keeps e in one place, and
// calls for one e at a time.
//
// A follower's partition sleeps only while the follower is in sync, with nothing about the ISR under way:
// what its fetches do beyond telling of progress, joining the ISR above all, they do for it awake.
func (m *Manager) Settle(r *Rest, e *Resting, plan *FetchPlan, fp *FetchPartition) bool {
	p := fp.source
	if p == nil || fp.Err != nil || fp.HasDiverging || fp.PreferredReadReplica >= 0 || fp.FetchOffset != fp.seen || plan.Rack != "" ||
		fp.Records != nil && fp.Records.Len() > 0 {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.state.deleted || p.changes.Load() != fp.changes {
		return false
	}
	e.rest, e.p, e.bound = r, p, plan.bound()
	if plan.ReplicaID >= 0 && !p.followerSettles(plan, fp) {
		return false
	}
	r.begin(e)
	if plan.ReplicaID >= 0 {
		p.positions.Lock()
		p.view.Rest(plan.ReplicaID, e)
		p.positions.Unlock()
	}
	p.resting.mu.Lock()
	p.resting.push(e)
	// Positions are published before the list is walked, so nothing falls between.
	news := p.upperBound(e.bound) != fp.seen || p.log().HighWatermark() != fp.HighWatermark ||
		p.log().LastStableOffset() != fp.LastStableOffset || p.log().LogStartOffset() != fp.LogStartOffset
	if news {
		p.resting.remove(e)
	}
	p.resting.mu.Unlock()
	if news {
		r.end(e, false, false)
	}
	return !news
}

// followerSettles tells whether a follower's fetches have nothing to do but to tell that it is there.
// Requires: p.mu held.
func (p *Partition) followerSettles(plan *FetchPlan, fp *FetchPartition) bool {
	if p.view == nil || !slices.Contains(p.state.isr, plan.ReplicaID) {
		return false
	}
	p.positions.Lock()
	defer p.positions.Unlock()
	f := p.view.Follower(plan.ReplicaID)
	return f != nil && f.Heard && f.LogEndOffset == fp.FetchOffset && f.BrokerEpoch == plan.ReplicaEpoch && p.view.Pending() == nil
}

var _ isr.Presence = (*Resting)(nil)

// restList is the sessions in which a partition sleeps.
type restList struct {
	// len is written with mu held, and read without: an append that finds 0 needn't lock.
	len  atomic.Int32
	mu   sync.Mutex
	head *Resting // guarded by mu
}

// push links e. Requires: l.mu held.
func (l *restList) push(e *Resting) {
	e.prev, e.next, e.linked = nil, l.head, true
	if l.head != nil {
		l.head.prev = e
	}
	l.head = e
	l.len.Add(1)
}

// remove unlinks e if it is linked. Requires: l.mu held.
func (l *restList) remove(e *Resting) {
	if !e.linked {
		return
	}
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.linked = nil, nil, false
	l.len.Add(-1)
}

// wakeResting wakes those whose clients would be told of what moved.
func (p *Partition) wakeResting(appended, highWatermark, stable bool) {
	if p.resting.len.Load() == 0 {
		return
	}
	p.resting.mu.Lock()
	defer p.resting.mu.Unlock()
	for e := p.resting.head; e != nil; {
		next := e.next
		hurry := highWatermark
		switch e.bound {
		case boundLogEnd:
			hurry = appended
		case boundLastStableOffset:
			hurry = stable
		}
		// A high watermark that moved is told too, but nobody waits for it alone.
		if hurry || highWatermark || stable {
			p.resting.remove(e)
			e.rest.end(e, true, hurry)
		}
		e = next
	}
}

// startMoved has the log start told, which nobody waits for.
func (p *Partition) startMoved() { p.wakeAllResting(false) }

// wakeAllResting has every session look again; hurry also has waiting fetches do so.
func (p *Partition) wakeAllResting(hurry bool) {
	if p.resting.len.Load() == 0 {
		return
	}
	p.resting.mu.Lock()
	defer p.resting.mu.Unlock()
	for e := p.resting.head; e != nil; e = p.resting.head {
		p.resting.remove(e)
		e.rest.end(e, true, hurry)
	}
}

// Resting counts the sessions that rest in a partition, for tests.
func (m *Manager) Resting(topic string, index int32) int {
	p, err := m.partition(topic, index)
	if err != nil {
		return 0
	}
	return int(p.resting.len.Load())
}
