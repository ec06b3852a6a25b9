package wire

import (
	"encoding/binary"
	"time"
)

// Place is where requests of an API may run.
type Place uint8

const (
	// OnWorker is a goroutine of the connection's own, which may wait for anything.
	OnWorker Place = iota
	// OnStandIn is a goroutine that other connections wait for, but not for long: another one takes over when a request takes
	// some milliseconds. What is known to take them is offloaded; see Request.Inline.
	OnStandIn
	// OnLoop is an event loop as well, where nothing must be waited for.
	OnLoop
)

// runner is the kind of goroutine that runs a connection's requests.
type runner uint8

const (
	// workerRunner may block, and runs everything.
	workerRunner runner = iota
	// loopRunner is an event loop: it runs what waits for nothing, since its other connections wait for it.
	loopRunner
	// standInRunner stands in for an event loop. It runs what takes little time unless a device is slow.
	standInRunner
	// soleRunner is a stand-in that has found only this connection to have work for a while: it may as well wait for a device.
	soleRunner
)

// standsIn says whether a runner is a stand-in.
func (r runner) standsIn() bool { return r == standInRunner || r == soleRunner }

// patience is what its sending may wait for.
func (r runner) patience() sendPatience {
	switch r {
	case workerRunner:
		return patient
	case soleRunner:
		return brief
	}
	return impatient
}

// holdsUp says whether other connections wait for a runner.
func (r runner) holdsUp() bool { return r == loopRunner || r == standInRunner }

// sendPatience is what may be waited for while replies are sent.
type sendPatience uint8

const (
	// patient waits for a device, and for a client that reads.
	patient sendPatience = iota
	// brief does so for a moment.
	brief
	// impatient waits for nothing.
	impatient
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
	if s == nil || l.server.cfg.Place == nil {
		return false
	}
	frame := s.frame.Bytes()
	if len(frame) < minFrame {
		return false
	}
	place := l.server.cfg.Place(l.session.Listener, int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:])))
	switch place {
	case OnLoop:
		return len(frame) <= maxInlineFrame
	case OnStandIn:
		return by.standsIn()
	}
	return false
}

// run runs requests until none may start. It is the connection's task for a worker.
func (l *link) run() { l.runBy(workerRunner) }

// runBy runs requests until none may start. The first one that isn't for a runner of this kind, or that began here and
// has to wait for something, and those after it, go to a worker. Requires: l.running was set by the caller.
func (l *link) runBy(by runner) {
	if by.standsIn() {
		defer l.sock.flush(by.patience()) // Replies may be held back.
	}
	for {
		l.mu.Lock()
		if l.demoted {
			by = workerRunner
		}
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

// holdBack is how long after its arrival a request's reply may wait for those behind it, to leave with them.
const holdBack = 200 * time.Microsecond
