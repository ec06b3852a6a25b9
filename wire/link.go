package wire

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/buf"
)

// socket is the side of a transport that a link uses. No method blocks, but for flush as far as it is told to.
type socket interface {
	// push takes a reply's chunks into the queue of what is to be sent. It is called with link.mu
	// held, in order, and doesn't send.
	push(r *reply)
	// flush sends what it can of the queue and arranges for the rest. It calls link.flushed after
	// it sent something and link.mu must not be held. What takes more patience it leaves to someone else.
	flush(p sendPatience)
	// flushSoon has flush called by someone else, at once or after the replies that this goroutine is
	// about to push.
	flushSoon()
	// flushLate is flushSoon, but for the goroutine's own flush that is expected at once: someone else steps in if it is late.
	flushLate()
	// lend has a worker stand in for the event loop that calls this, and run the requests, once the loop is done with the socket; false if that isn't
	// to be.
	lend() bool
	// unsent is the number of bytes in the queue.
	unsent() int
	// resume arranges for link.resume to be called on the goroutine that reads.
	resume()
	// close arranges for the socket to be closed and link.die to be called.
	close()
}

// link joins a connection's machine with its transport, the memory budget and the goroutine that
// runs its requests.
//
// The goroutine that reads calls received, space, filled, resume, end and die; no two of these run at
// the same time for one link.
type link struct {
	server  *Server
	session *Session
	sock    socket
	waiter  budgetWaiter
	// lastActive is when bytes last moved, in nanoseconds since the server's start.
	lastActive atomic.Int64
	// protected connections aren't closed to make room for others.
	protected bool
	// looped: an event loop reads the connection.
	looped bool
	// listener is the index of the listener; set by connTable.add.
	listener int

	mu sync.Mutex
	// The rest is guarded by mu.
	conn conn
	// running: a goroutine runs the requests.
	running bool
	// demoted: what runs them began where others wait for it, and now nobody does.
	demoted bool
	// paused: the transport doesn't read; resuming: it was asked to go on.
	paused, resuming bool
	// closing: the transport was asked to close; dead: it did.
	closing, dead bool
	// clientID is the last one that a request said; nil if none did.
	clientID *string
	// last is the last request that was started, for the log; started says whether there was one.
	last    Header
	started bool
}

func newLink(s *Server, session *Session, protected bool) *link {
	l := &link{server: s, session: session, protected: protected}
	l.waiter.granted = l.granted
	l.conn = newConn(connLimits{
		maxRequestBytes: s.cfg.Limits.MaxRequestBytes,
		queued:          s.cfg.Limits.QueuedRequests,
		pending:         s.cfg.Limits.PendingRequests,
	}, &s.pool, &s.slots, l.charge)
	l.touch(s.cfg.Clock.Now())
	return l
}

func (l *link) touch(now time.Time) { l.lastActive.Store(int64(now.Sub(l.server.started))) }

// charge is conn.charge. Requires: l.mu held.
func (l *link) charge(n int64) bool {
	if l.server.budget.acquire(n, &l.waiter) {
		return true
	}
	l.server.metrics.BudgetWaits.Add(1)
	l.server.stalls.arm()
	return false
}

// granted runs when the memory that the connection waits for was charged to it.
func (l *link) granted() {
	l.mu.Lock()
	if l.dead || !l.conn.waiting {
		l.mu.Unlock()
		l.server.budget.release(chargeOf(l.waiter.n))
		return
	}
	l.conn.Granted()
	l.settle()
}

// received takes bytes that were read (copies).
func (l *link) received(p []byte) {
	l.feed(p)
	l.settleReading()
}

// feed takes bytes and returns with l.mu held.
func (l *link) feed(p []byte) {
	now := l.server.cfg.Clock.Now()
	l.touch(now)
	l.server.metrics.BytesIn.Add(int64(len(p)))
	l.mu.Lock()
	l.conn.Feed(p, now)
}

// space is where the bytes of a frame under construction may be read to, until filled is called or
// another method of the goroutine that reads.
func (l *link) space() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn.Space()
}

// filled says that n bytes were read into space.
func (l *link) filled(n int) {
	l.fill(n)
	l.settleReading()
}

// fill takes n bytes that were read into space and returns with l.mu held.
func (l *link) fill(n int) {
	now := l.server.cfg.Clock.Now()
	l.touch(now)
	l.server.metrics.BytesIn.Add(int64(n))
	l.mu.Lock()
	l.conn.Filled(n, now)
}

// reading says whether the transport should read on; if not it is resumed later.
func (l *link) reading() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.paused && !l.dead
}

// resume goes on with what was read before the pause.
func (l *link) resume() {
	l.unpause()
	l.settleReading()
}

// resumable says whether resume is due.
func (l *link) resumable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resuming && !l.dead
}

// unpause takes what was read before the pause. It returns with l.mu held.
func (l *link) unpause() {
	l.mu.Lock()
	l.resuming = false
	if l.dead {
		return
	}
	if l.conn.CanFeed() {
		l.conn.Feed(nil, l.server.cfg.Clock.Now())
	}
	l.paused = false
}

// demote says that nobody waits any more for the goroutine that runs the requests.
func (l *link) demote() {
	l.mu.Lock()
	l.demoted = l.running
	l.mu.Unlock()
}

// end says that the client closed its side, or that the server stops: what was read is
// answered, then the connection is closed.
func (l *link) end() {
	l.mu.Lock()
	l.conn.End()
	l.settle()
}

// unanswered says whether a request was read and isn't answered.
func (l *link) unanswered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.conn.Idle()
}

// abort closes the connection at once.
func (l *link) abort() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.sock.close()
}

// closeIfIdle closes the connection if no request of it is read and unanswered, and reports
// whether it did.
func (l *link) closeIfIdle() bool {
	l.mu.Lock()
	idle := l.conn.Idle() && !l.closing && !l.conn.waiting
	if idle {
		l.closing = true
	}
	l.mu.Unlock()
	if idle {
		l.sock.close()
	}
	return idle
}

// closeIfStalled closes the connection if the frame it is reading got less than minBytes since the last
// call, which was about that frame too.
func (l *link) closeIfStalled(minBytes int) {
	l.mu.Lock()
	stalled := !l.closing && l.conn.Stalled(minBytes)
	have, want := l.conn.frame.have, l.conn.frame.want
	if stalled {
		l.closing = true
	}
	l.mu.Unlock()
	if !stalled {
		return
	}
	l.server.metrics.Disconnects.Add(1)
	l.server.reasons.log(l, closeBecause(closeStalled, "the client sent %d of a request's %d bytes and stalled, while others waited for memory", have, want))
	l.sock.close()
}

// flushed says that the transport sent something, or that its queue is empty.
func (l *link) flushed() {
	l.mu.Lock()
	l.settle()
}

// settle does what has become due after a change, and unlocks. Requires: l.mu held.
func (l *link) settle() { l.settleBy(workerRunner) }

// settleReading is settle for the transport's goroutine that reads: an event loop runs the requests that it may run itself,
// which saves the waking of another thread.
func (l *link) settleReading() {
	by := workerRunner
	if l.looped {
		by = loopRunner
	}
	l.settleBy(by)
}

func (l *link) settleBy(by runner) {
	if l.dead {
		l.mu.Unlock()
		return
	}
	unsent := l.sock.unsent()
	l.conn.blocked = unsent > l.server.cfg.Limits.QueuedReplyBytes
	start := !l.running && !l.closing && l.conn.CanStart()
	if start {
		l.running = true
	}
	run, lent := false, false
	if start && by != workerRunner {
		run = l.mayRun(by)
		lent = !run && by == loopRunner && l.mayRun(standInRunner) && l.sock.lend()
	}
	resume := false
	switch reading := l.conn.Reading(); {
	case !reading && !l.conn.CanFeed():
		l.paused = true
	case (!reading || l.paused) && !l.resuming:
		l.paused, l.resuming, resume = true, true, true
	}
	shut := !l.closing && unsent == 0 && l.conn.Finished()
	if shut {
		l.closing = true
	}
	reason := l.conn.failure
	l.mu.Unlock()

	switch {
	case run:
		l.runBy(by)
	case start && !lent:
		l.startWorker(l)
	}
	if resume {
		l.sock.resume()
	}
	if shut {
		if reason != nil {
			l.server.metrics.Disconnects.Add(1)
			l.server.reasons.log(l, reason)
		}
		l.sock.close()
	}
}

// startWorker has a worker run t, which runs the connection's requests; false if the server has stopped. Requires: l.running
// was set by the caller.
func (l *link) startWorker(t task) bool {
	if l.server.workers.start(t) {
		return true
	}
	l.mu.Lock()
	l.running = false
	l.mu.Unlock()
	return false
}

// serveNext starts the next request that may run and serves it; without one it ends the running, and returns nil. It
// unlocks. Requires: l.mu held.
func (l *link) serveNext(by runner) *slot {
	var s *slot
	if !l.dead && !l.closing {
		s = l.conn.Start()
	}
	if s == nil {
		l.running, l.demoted = false, false
		l.settle()
		return nil
	}
	s.link, s.by = l, by
	frame, clientID := s.frame, l.clientID
	l.settle() // Room in the queue may let the transport read on.
	l.serve(s, frame, clientID)
	return s
}

// serve decodes a request and hands it to the handler, or completes it if it can't be. lastID is the client id of the
// request before.
func (l *link) serve(s *slot, frame *buf.Buf, lastID *string) {
	h, body, err := decodeHeader(frame.Bytes(), lastID)
	s.request.Header = h
	l.mu.Lock()
	l.last, l.started = h, true
	if h.ClientID != nil {
		l.clientID = h.ClientID
	}
	l.mu.Unlock()
	if err != nil {
		s.Complete(Reply{CloseReason: closeBecause(closeHeader, "%s", err)})
		return
	}
	row := rowOf(h.Key)
	served := h.Version >= row.min && h.Version <= row.max
	switch {
	case h.Key == keyApiVersions && !served:
		b := l.server.pool.Get(0)
		b.SetLen(len(appendUnsupportedApiVersions(b.Full()[:0], h.CorrelationID)))
		s.complete(reply{head: b})
		return
	case h.Key != keyApiVersions && (!served || !l.server.cfg.Supports(l.session.Listener, h.Key, h.Version)):
		s.Complete(Reply{CloseReason: closeBecause(closeUnsupported, "version %d of %s isn't served on this listener", h.Version, row.name)})
		return
	}
	req, err := l.server.bodies.decode(h.Key, h.Version, body)
	if err != nil {
		s.Complete(Reply{CloseReason: closeBecause(closeDecode, "the %s request can't be decoded: %s", row.name, err)})
		return
	}
	l.server.metrics.requests[h.Key].Add(1)
	s.request = *NewRequest(h, req, l.session, s, s.receivedAt)
	s.request.inline = s.by.holdsUp()
	l.server.cfg.Handler.ServeRequest(&s.request)
	if s.request.rest == nil {
		l.server.bodies.put(req)
	}
}

// reuse takes back the slot of a Produce or Fetch that was answered at once, which nobody knows of then.
func (l *link) reuse(s *slot) {
	l.mu.Lock()
	free := s.emitted && !s.shared && (s.request.Key == keyProduce || s.request.Key == keyFetch)
	l.mu.Unlock()
	if free {
		l.server.slots.put(s)
	}
}

// die runs once the transport has closed: requests that run are told, the rest is dropped.
func (l *link) die() {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		return
	}
	l.dead, l.closing = true, true
	// Granted memory that hasn't arrived is given back by granted, which sees dead.
	waiting := l.conn.waiting
	cost := l.conn.DropInput()
	fns, freed := l.drop(l.conn.order.clear())
	l.mu.Unlock()
	freed.add(cost)
	if waiting {
		l.server.budget.cancel(&l.waiter)
	}
	l.server.budget.release(freed)
	for _, f := range fns {
		f()
	}
	l.session.end()
	l.server.forget(l)
}

// drop marks requests as dropped and returns what is to be called and the memory to be given back
// once l.mu is free. A request that runs keeps its frame. Requires: l.mu held.
func (l *link) drop(slots []*slot) (fns []func(), freed charged) {
	for _, s := range slots {
		if s.onClose != nil {
			fns = append(fns, s.onClose)
			s.onClose = nil
		}
		switch s.state {
		case slotQueued:
			s.frame.Release()
			s.frame = nil
			freed.add(s.cost)
			s.cost = 0
		case slotDone:
			s.reply.release()
		}
		s.state = slotDropped
	}
	return fns, freed
}

// emit moves finished replies to the transport. Requires: l.mu held.
func (l *link) emit() (fns []func(), freed charged) {
	for {
		done, dropped := l.conn.Emit()
		if done == nil {
			return fns, freed
		}
		done.emitted = true
		l.sock.push(&done.reply)
		if dropped != nil {
			f, n := l.drop(dropped)
			fns, freed = append(fns, f...), freed.plus(n)
		}
	}
}
