//go:build linux || darwin

package wire

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// restMillis is how long a stand-in waits for anything to read.
	restMillis = 2
	// stallLook is how often it is looked at whether a stand-in stalls: one that is found running the same requests twice does.
	// A look costs a wake-up.
	stallLook = 4 * time.Millisecond
	// mergeRounds is after how many polls a stand-in sees whether another one could poll for its loop.
	mergeRounds = 1024
	// joinGap is how long it takes until a loop may join again, and joinSockets how many connections it may have: the kernel
	// looks at each of them.
	joinGap     = 50 * time.Millisecond
	joinSockets = 5000
	// yieldAfter is how long a stand-in polls without a turn of Go's scheduler. After 10 ms Go's monitor takes such a goroutine for one that
	// computes: it interrupts the thread, takes the processor away, and wakes every 20 µs for a while.
	yieldAfter = 8 * time.Millisecond
)

// standIn polls and reads in the place of an event loop and runs the requests itself, also those that may block: no other
// thread has to be woken for a request. This is the Leader/Followers pattern, but for a leader that names its
// follower only when it has to: requests that stall go on, as on a worker, while the loop's goroutine polls again. And a poll may
// find more than it can run soon; workers get the rest.
//
// One stand-in polls for other loops as well as long as it finds time to wait: then one thread is enough, which stays warm.
//
// It leaves everything but reading to the loop: connections that end, new ones, and tasks make it give the polling back.
type standIn struct {
	loop *eventLoop
	// turn says who polls: an even number: the stand-in, which polls or reads; an odd one: the stand-in, which runs
	// requests of current; revoked: the loops. Each turn has another number.
	turn    atomic.Uint64
	current atomic.Pointer[loopSocket]
	// stalls looks for requests that stall.
	stalls sweepTimer
	// seen is the turn that the last look found.
	seen atomic.Uint64
	// deadline is until when it runs requests of this poll itself, in nanoseconds since the server's start.
	deadline int64
	// ready is what the stand-in's loop and one that joined have found.
	ready [2]readyList
	// found is how many polls in a row found something at once, and alike how many found the same socket alone.
	found, alike int
	// yielded is when it last let Go's scheduler have a turn, in nanoseconds since the server's start.
	yielded int64

	mu sync.Mutex
	// joined are the other loops that it polls for. ended: it polls no more.
	joined []*eventLoop
	ended  bool
}

const revoked = 1<<64 - 1

// returned is why a loop polls again.
type returned struct {
	// stalled is the socket whose request stalls, if one does.
	stalled *loopSocket
	// rests: nothing was there to read.
	rests bool
}

// lend has a stand-in poll, and waits until it gives that back: one that polls already, or a new one, which runs the requests of
// s that were read; nil if none are left. Requires: on the loop, within OnTraffic; s.link.running is set.
func (l *eventLoop) lend(s *loopSocket) {
	t := l.transport
	if in := t.leader.Load(); in != nil && in.join(l) {
		if s != nil {
			s.link.startWorker(s.link)
		}
	} else if !l.standIn(s) {
		return
	}
	t.standIns.Add(1)
	why := <-l.back
	t.standIns.Add(-1)
	l.traffic.back(l.now(), why.rests)
	if why.stalled != nil {
		why.stalled.link.demote()
		why.stalled.goOn()
	}
}

// standIn starts a stand-in; false if the server has stopped. As lend.
func (l *eventLoop) standIn(s *loopSocket) bool {
	clk := l.transport.server.cfg.Clock
	in := &standIn{loop: l}
	if l.readBuf == nil {
		l.readBuf = make([]byte, loopReadBytes)
	}
	in.stalls = sweepTimer{clock: clk, sweep: in.lookForStall}
	in.stalls.arm(stallLook)
	start := l.transport.server.workers.start
	if s != nil {
		in.enter(s)
		start = s.link.startWorker
	}
	if start(in) {
		return true
	}
	in.stalls.cancel()
	if s != nil {
		s.read(nil)
	}
	return false
}

func (l *eventLoop) now() int64 {
	s := l.transport.server
	return int64(s.cfg.Clock.Now().Sub(s.started))
}

// run implements task.
func (in *standIn) run() {
	defer in.stalls.cancel() // A flush that runs may wait for the disk, and may as well come later.
	if s := in.current.Load(); s != nil {
		s.link.runBy(standInRunner)
		if !in.leave() {
			return
		}
		in.begin()
		if !in.settleReading(s) {
			return
		}
	}
	if rests, polls := in.poll(); polls {
		in.giveBack(returned{rests: rests})
	}
}

// join has the stand-in poll for another loop; false if it has enough to do. Requires: on that loop, which waits then.
func (in *standIn) join(l *eventLoop) bool {
	now := l.now()
	if now < l.transport.aloneUntil.Load() || now-l.joinedAt < int64(joinGap) || len(l.sockets) > joinSockets {
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || in.turn.Load()%2 != 0 || in.loop.poller.add(&l.poller) != nil {
		return false
	}
	l.joinedAt = now
	in.joined = append(in.joined, l)
	return true
}

// release has a loop poll for itself again.
func (in *standIn) release(l *eventLoop) {
	in.mu.Lock()
	in.loop.poller.remove(&l.poller)
	in.joined = slices.DeleteFunc(in.joined, func(j *eventLoop) bool { return j == l })
	in.mu.Unlock()
	l.poller.repeatTasks()
	l.back <- returned{}
}

// giveBack has all loops poll for themselves again; a socket whose request stalls is for its own to know. Requires: the stand-in polls
// no more.
func (in *standIn) giveBack(why returned) {
	in.loop.transport.leader.CompareAndSwap(in, nil)
	in.mu.Lock()
	in.ended = true
	all := append(in.joined, in.loop)
	in.joined = nil
	for _, l := range all[:len(all)-1] {
		in.loop.poller.remove(&l.poller)
	}
	in.mu.Unlock()
	in.loop.poller.repeatTasks()
	for _, l := range all {
		if s := why.stalled; s != nil && s.loop != l {
			l.back <- returned{}
		} else {
			l.back <- why
		}
	}
}

// joinedLoop is the loop that is polled through fd; nil if none is.
func (in *standIn) joinedLoop(fd int) *eventLoop {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, l := range in.joined {
		if l.poller.fd == fd {
			return l
		}
	}
	return nil
}

// poll reads what is ready until nothing is for a while, or the loop is needed. It reports which, and false if the loops poll.
func (in *standIn) poll() (rests, polls bool) {
	for round := 0; ; round++ {
		if round%mergeRounds == 0 && !in.loop.transport.leader.CompareAndSwap(nil, in) && round > 0 && in.mayMerge() {
			return false, true
		}
		in.yield()
		n := in.wait()
		in.begin()
		switch next := in.serve(in.loop, &in.ready[0], n); {
		case next == standInDone:
			return false, false
		case n == 0 || next == standInNeedsLoop:
			return n == 0, true
		}
	}
}

// begin gives the requests of a poll their time.
func (in *standIn) begin() {
	in.deadline = in.loop.now() + int64(in.loop.transport.server.cfg.standIns.round)
}

// yield lets Go's scheduler have a turn now and then.
func (in *standIn) yield() {
	if now := in.loop.now(); now-in.yielded >= int64(yieldAfter) {
		in.yielded = now
		runtime.Gosched()
	}
}

// wait polls the stand-in's loop. While it polls for others it looks how much there is to do.
func (in *standIn) wait() int {
	poller, ready := &in.loop.poller, &in.ready[0]
	if in.found >= in.loop.transport.server.cfg.standIns.rounds {
		in.shed()
	}
	in.mu.Lock()
	alone := len(in.joined) == 0
	in.mu.Unlock()
	if !alone {
		if n := poller.wait(ready, 0); n > 0 {
			in.found++
			return n
		}
	}
	in.found = 0
	return poller.wait(ready, restMillis)
}

// shed has the other loops poll for themselves, since there is too much to do.
func (in *standIn) shed() {
	in.found = 0
	in.mu.Lock()
	joined := slices.Clone(in.joined)
	in.mu.Unlock()
	if len(joined) == 0 {
		return
	}
	in.loop.transport.aloneUntil.Store(in.loop.now() + int64(in.loop.transport.server.cfg.standIns.alone))
	for _, l := range joined {
		in.release(l)
	}
}

// mayMerge says whether another stand-in may poll for the loop, which that finds out.
func (in *standIn) mayMerge() bool {
	t := in.loop.transport
	leader := t.leader.Load()
	return leader != nil && leader != in && leader.turn.Load()%2 == 0 && in.loop.now() >= t.aloneUntil.Load() &&
		in.loop.now()-in.loop.joinedAt >= int64(joinGap)
}

// standInNext is what a stand-in does next.
type standInNext uint8

const (
	// standInGoes: it polls on.
	standInGoes standInNext = iota
	// standInNeedsLoop: something happened that is the loop's.
	standInNeedsLoop
	// standInDone: the loops poll.
	standInDone
)

// serve reads the n descriptors that a poll of a loop found.
func (in *standIn) serve(l *eventLoop, ready *readyList, n int) standInNext {
	if n > 0 && l.poller.hasTasks() {
		return standInNeedsLoop
	}
	if in.alike++; n > 1 {
		in.alike = 0
	}
	for i := range n {
		fd, readable := ready.at(i)
		s := l.sockets[fd]
		next := standInNeedsLoop
		switch {
		case s != nil && readable:
			next = in.read(s)
		case s == nil && l == in.loop:
			if j := in.joinedLoop(fd); j != nil {
				next = in.serveJoined(j)
			}
		}
		if next != standInGoes {
			return next
		}
	}
	return standInGoes
}

// serveJoined polls a loop that joined, and reads what that finds.
func (in *standIn) serveJoined(l *eventLoop) standInNext {
	n := l.poller.wait(&in.ready[1], 0)
	next := in.serve(l, &in.ready[1], n)
	if next != standInNeedsLoop {
		return next
	}
	in.release(l)
	return standInGoes
}

// read reads a socket and runs what it reads, for a turn.
func (in *standIn) read(s *loopSocket) standInNext {
	for turn := 0; ; {
		n, next := in.readOnce(s)
		if next != standInGoes {
			return next
		}
		if turn > 0 {
			s.again.found(n > 0)
		}
		if turn += n; n == 0 || turn >= turnBytes || in.overtime() || !s.again.worthwhile() {
			return standInGoes
		}
	}
}

// readOnce reads what fits the stand-in's buffer, and the rest of a frame that began there. It returns how many bytes it read.
func (in *standIn) readOnce(s *loopSocket) (int, standInNext) {
	n, err := unix.Read(s.fd, in.loop.readBuf)
	switch {
	case n > 0:
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return 0, standInGoes
	default:
		return 0, standInNeedsLoop
	}
	s.link.feed(in.loop.readBuf[:n])
	if !in.settle(s) {
		return n, standInDone
	}
	rest, polls := s.readFrame(n == loopReadBytes, func(n int) bool {
		s.link.fill(n)
		return in.settle(s)
	})
	if !polls || !in.settleReading(s) {
		return n, standInDone
	}
	return n + rest, standInGoes
}

// rereading says whether it is worth reading a socket again before polling: it is where requests follow each other closely.
type rereading struct{ score, turns uint8 }

const (
	// rereadScore is the most misses in a row that are worth it, and rereadProbe how often it is tried all the same.
	rereadScore = 4
	rereadProbe = 32
)

func (r *rereading) worthwhile() bool {
	r.turns++
	return r.score > 0 || r.turns%rereadProbe == 0
}

func (r *rereading) found(any bool) {
	switch {
	case any:
		r.score = rereadScore
	case r.score > 0:
		r.score--
	}
}

// settleReading goes on with a socket whose reading paused, and polls for it or not. It reports false if the loop polls.
func (in *standIn) settleReading(s *loopSocket) bool {
	for {
		for s.link.resumable() {
			s.link.unpause()
			if !in.settle(s) {
				return false
			}
		}
		s.read(nil)
		if !s.link.resumable() { // Else it may have been left to us.
			s.applyInterest()
			return true
		}
	}
}

// runner is what is to run requests that were read.
func (in *standIn) runner() runner {
	switch {
	case in.overtime():
		return workerRunner
	case in.sole():
		return soleRunner
	}
	return standInRunner
}

// sole says whether the same socket has been the only one that was ready for a while.
func (in *standIn) sole() bool {
	sole := in.loop.transport.server.cfg.standIns.sole
	return sole > 0 && in.alike >= sole
}

// overtime says whether the requests of this poll have had their time.
func (in *standIn) overtime() bool { return in.loop.now() >= in.deadline }

// settle has what was taken from a socket settled, and requests run. It reports false if the loops poll. It unlocks. Requires:
// s.link.mu held.
func (in *standIn) settle(s *loopSocket) bool {
	in.enter(s)
	s.link.settleBy(in.runner())
	return in.leave()
}

// enter begins the running of requests that were read. From now on the loop may poll.
func (in *standIn) enter(s *loopSocket) {
	if in.current.Swap(s) != s {
		in.alike = 0
	}
	s.read(in)
	in.turn.Add(1)
}

// leave ends the running of requests; false if the loops poll.
func (in *standIn) leave() bool {
	turn := in.turn.Load()
	return turn != revoked && in.turn.CompareAndSwap(turn, turn+1)
}

// lookForStall gives the polling back if the same requests run as at the last look. Replies that were held back for those of a request
// that turns out to take long leave at the first look.
func (in *standIn) lookForStall() {
	turn := in.turn.Load()
	if turn == revoked {
		return
	}
	runs := turn%2 != 0
	if !runs || in.seen.Swap(turn) != turn {
		// Not armed by the stand-in for each request: that wakes the thread that waits for timers once more.
		in.stalls.arm(stallLook)
		if runs {
			in.current.Load().flush(patient)
		}
		return
	}
	s, t := in.current.Load(), in.loop.transport
	if in.turn.CompareAndSwap(turn, revoked) {
		t.notBefore.Store(in.loop.now() + int64(t.server.cfg.standIns.pause))
		s.read(nil)
		in.giveBack(returned{stalled: s})
	}
}
