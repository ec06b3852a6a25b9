package wire

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// connTable is the server's open connections, and the limits on their number.
type connTable struct {
	limits *Limits

	mu      sync.Mutex
	changed *sync.Cond // Broadcast when a connection goes or the table stops; uses mu.
	// The rest is guarded by mu.
	links map[uint64]*link
	// byListener and byIP count the connections, also those that are being set up.
	byListener []int
	byIP       map[netip.Addr]int
	total      int
	lastID     uint64
	stopped    bool
	// empty is closed when no connection is left after stop.
	empty chan struct{}
}

func (t *connTable) init(limits *Limits, listeners int) {
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

// waitRoom waits until the listener may accept one more connection: further ones stay in the
// system's queue, as Kafka leaves them. It reports false once the table is stopped. victim, if not
// nil, is a connection to close since a protected listener has to make room.
func (t *connTable) waitRoom(ln *boundListener) (victim *link, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.stopped {
		full := t.limits.MaxConnections > 0 && t.total >= t.limits.MaxConnections
		switch {
		case ln.MaxConnections > 0 && t.byListener[ln.index] >= ln.MaxConnections:
		case !full:
			return nil, true
		case ln.Protected:
			return t.longestIdle(), true
		}
		t.changed.Wait()
	}
	return nil, false
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

// perIP is the most connections that an address may have; negative means no limit.
func (t *connTable) perIP(ip netip.Addr) int {
	if n, ok := t.limits.MaxConnectionsPerIPOverrides[ip]; ok {
		return n
	}
	switch n := t.limits.MaxConnectionsPerIP; {
	case n == 0:
		return -1
	case n < 0:
		return 0
	default:
		return n
	}
}

// add enters a connection. It reports false, and the limit, if its address has too many, and
// false with a negative limit if the table is stopped.
func (t *connTable) add(l *link, listener int) (limit int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return -1, false
	}
	ip := l.session.ClientAddr.Addr()
	if limit := t.perIP(ip); limit >= 0 && t.byIP[ip] >= limit {
		return limit, false
	}
	l.listener = listener
	t.links[l.session.ID] = l
	t.byListener[listener]++
	t.byIP[ip]++
	t.total++
	return 0, true
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
