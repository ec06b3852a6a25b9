package wire

import (
	"encoding/binary"
	"time"
)

// runner is the kind of goroutine that runs a connection's requests.
type runner uint8

const (
	// workerRunner may block, and runs everything.
	workerRunner runner = iota
	// loopRunner is an event loop: it runs what waits for nothing, since its other connections wait for it.
	loopRunner
	// leaseRunner is a lease, which reads the connection as well, and no other. It may block; it runs what takes little time
	// unless a device is slow, since nobody reads the connection meanwhile.
	leaseRunner
)

// maxInlineFrame is the largest request that an event loop runs itself, in bytes: what takes long to decode would hold up
// the loop's other connections.
const maxInlineFrame = 1 << 10

// mayRun says whether the next request is one for a runner of a kind. Requires: l.mu held.
func (l *link) mayRun(by runner) bool {
	if by == workerRunner {
		return true
	}
	s := l.conn.order.next()
	if s == nil {
		return false
	}
	frame := s.frame.Bytes()
	if len(frame) < minFrame {
		return false
	}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	if by == leaseRunner {
		return l.server.cfg.leasing.runs(key)
	}
	inline := l.server.cfg.Inline
	return len(frame) <= maxInlineFrame && inline != nil && inline(l.session.Listener, key, version)
}

// run runs requests until none may start. It is the connection's task for a worker.
func (l *link) run() { l.runBy(workerRunner) }

// runBy runs requests until none may start. The first one that isn't for a runner of this kind, or that a loop began and
// that has to wait for something, and those after it, go to a worker. Requires: l.running was set by the caller.
func (l *link) runBy(by runner) {
	if by == leaseRunner {
		defer l.sock.flush() // Replies may be held back.
	}
	for {
		l.mu.Lock()
		l.runner = by
		if !l.dead && !l.closing && l.conn.CanStart() && !l.mayRun(by) {
			l.mu.Unlock()
			l.startWorker(l)
			return
		}
		s := l.serveNext(by)
		if s == nil {
			return
		}
		if by != workerRunner {
			l.mu.Lock()
			s.by = workerRunner
			l.mu.Unlock()
		}
		if rest := s.request.rest; rest != nil {
			l.startWorker(taskFunc(func() {
				rest()
				l.server.bodies.put(s.request.Body)
				l.run()
			}))
			return
		}
		l.reuse(s)
	}
}

const (
	// holdBack is how long after its arrival a request's reply may wait for those behind it, to leave with them.
	holdBack = 200 * time.Microsecond
	// latestFlush is when replies that are held back leave though the request behind them isn't done.
	latestFlush = time.Millisecond
)

// leasePolicy says which connections get a lease, and what those run.
type leasePolicy struct {
	// gap is how close to each other a loop must hand a connection over, and handovers how many times in a row it must. Where a
	// loop has many connections with work it wakes few threads for many of them, and each gets its turn late: none is worth it.
	gap       time.Duration
	handovers int
	// perLoop is how many are leased at once for each event loop: more would wait for processors.
	perLoop int
	// runs says whether leases run an API's requests.
	runs func(key int16) bool
}

var defaultLeases = leasePolicy{
	gap: time.Millisecond, handovers: 8, perLoop: 1,
	runs: func(key int16) bool { return key == keyProduce || key == keyFetch },
}

// tryLease has the connection leased if it is busy. Requires: on its loop, l.mu held, l.running set.
func (l *link) tryLease() bool {
	if !l.mayRun(leaseRunner) {
		return false
	}
	now := int64(l.conn.order.next().receivedAt.Sub(l.server.started))
	if now-l.handedOver < int64(l.server.cfg.leasing.gap) {
		l.handovers++
	} else {
		l.handovers = 0
	}
	l.handedOver = now
	return l.handovers >= l.server.cfg.leasing.handovers && l.sock.lease()
}

// receivedLeased is received for a lease.
func (l *link) receivedLeased(p []byte) {
	l.feed(p)
	l.settleBy(leaseRunner)
}
