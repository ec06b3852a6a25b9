package wire

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// connTable is the server's open connections, and the limits on their number.
type connTable struct {
	mu      sync.Mutex
	changed *sync.Cond // Broadcast when a connection goes, limits change or the table stops; uses mu.
	// The rest is guarded by mu.
	limits ConnectionLimits
	links  map[uint64]*link
	// byListener and byIP count the connections, also those that are being set up.
	byListener []int
	byIP       map[netip.Addr]int
	total      int
	lastID     uint64
	stopped    bool
	// empty is closed when no connection is left after stop.
	empty chan struct{}
}

func (t *connTable) init(limits ConnectionLimits, listeners int) {
	t.limits = limits
	t.changed = sync.NewCond(&t.mu)
	t.links = map[uint64]*link{}
	t.byListener = make([]int, listeners)
	t.byIP = map[netip.Addr]int{}
	t.empty = make(chan struct{})
}

func (t *connTable) nextID() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastID++
	return t.lastID
}

// longestIdle is the unprotected connection whose last activity is the oldest. Requires: t.mu held.
func (t *connTable) longestIdle() (oldest *link) {
	for _, l := range t.links {
		if !l.protected && (oldest == nil || l.lastActive.Load() < oldest.lastActive.Load()) {
			oldest = l
		}
	}
	return oldest
}

// setLimits changes the limits and returns the connections that are too many now, the longest idle first.
func (t *connTable) setLimits(limits ConnectionLimits) []*link {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits = limits
	t.changed.Broadcast()
	byAge := make([]*link, 0, len(t.links))
	for _, l := range t.links {
		byAge = append(byAge, l)
	}
	slices.SortFunc(byAge, func(a, b *link) int { return cmp.Compare(a.lastActive.Load(), b.lastActive.Load()) })
	total, byListener := t.total, slices.Clone(t.byListener)
	var victims []*link
	for _, l := range byAge {
		most := limits.PerListener[l.session.Listener]
		crowded := most > 0 && byListener[l.listener] > most
		if crowded || limits.Max > 0 && total > limits.Max && !l.protected {
			victims = append(victims, l)
			total--
			byListener[l.listener]--
		}
	}
	return victims
}

// perIP is the most connections that an address may have; negative means no limit.
func (t *connTable) perIP(ip netip.Addr) int {
	if n, ok := t.limits.PerIPOverrides[ip]; ok {
		return n
	}
	switch n := t.limits.PerIP; {
	case n == 0:
		return -1
	case n < 0:
		return 0
	default:
		return n
	}
}

// admission is what became of a connection that asked to be entered.
type admission struct {
	// ok: it was entered.
	ok bool
	// limit is what its address may have, if that is why it wasn't; else negative.
	limit int
	// victim, if not nil, is a connection to be closed as a protected listener needed room.
	victim *link
}

// add enters a connection. It waits until there is room for one of its listener, which keeps
// further ones in the system's queue: Kafka does the same. A protected listener doesn't wait.
func (t *connTable) add(l *link, ln *boundListener) admission {
	t.mu.Lock()
	defer t.mu.Unlock()
	ip := l.session.ClientAddr.Addr()
	if limit := t.perIP(ip); limit >= 0 && t.byIP[ip] >= limit {
		return admission{limit: limit}
	}
	for !t.stopped && !t.hasRoom(ln) {
		t.changed.Wait()
	}
	if t.stopped {
		return admission{limit: -1}
	}
	a := admission{ok: true}
	if t.full() && ln.Protected {
		a.victim = t.longestIdle()
	}
	l.listener = ln.index
	t.links[l.session.ID] = l
	t.byListener[ln.index]++
	t.byIP[ip]++
	t.total++
	return a
}

// full says whether max.connections is reached. Requires: t.mu held.
func (t *connTable) full() bool {
	return t.limits.Max > 0 && t.total >= t.limits.Max
}

// hasRoom says whether a listener may have one more connection. Requires: t.mu held.
func (t *connTable) hasRoom(ln *boundListener) bool {
	if most := t.limits.PerListener[ln.Name]; most > 0 && t.byListener[ln.index] >= most {
		return false
	}
	return ln.Protected || !t.full()
}

// remove takes a connection out.
func (t *connTable) remove(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.links, l.session.ID)
	t.byListener[l.listener]--
	ip := l.session.ClientAddr.Addr()
	if t.byIP[ip]--; t.byIP[ip] == 0 {
		delete(t.byIP, ip)
	}
	t.total--
	if t.stopped && t.total == 0 {
		close(t.empty)
	}
	t.changed.Broadcast()
}

// all is a copy of the connections.
func (t *connTable) all() []*link {
	t.mu.Lock()
	defer t.mu.Unlock()
	links := make([]*link, 0, len(t.links))
	for _, l := range t.links {
		links = append(links, l)
	}
	return links
}

// stop lets no more connections in.
func (t *connTable) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	t.stopped = true
	if t.total == 0 {
		close(t.empty)
	}
	t.changed.Broadcast()
}

// pause waits for d; it reports false if the table stops meanwhile.
func (t *connTable) pause(c clock.Clock, d time.Duration) bool {
	over := false
	timer := c.AfterFunc(d, func() {
		t.mu.Lock()
		over = true
		t.mu.Unlock()
		t.changed.Broadcast()
	})
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for !over && !t.stopped {
		t.changed.Wait()
	}
	return !t.stopped
}

// waitEmpty waits until no connection is left. Requires: stopped.
func (t *connTable) waitEmpty(ctx context.Context) error {
	select {
	case <-t.empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
