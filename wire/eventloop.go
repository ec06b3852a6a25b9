//go:build linux || darwin

package wire

import (
	"context"
	"math"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// eventLoop is one of gnet's loops. Its goroutine polls and reads the loop's connections, or a stand-in does while that
// goroutine waits. Who polls may use what isn't said to be anyone's; there is never more than one.
type eventLoop struct {
	transport *loopTransport
	gnet      gnet.EventLoop
	poller    loopPoller
	// sockets are the loop's connections by descriptor.
	sockets map[int]*loopSocket
	// readBuf is what stand-ins read into; nil until there is one.
	readBuf []byte
	// back has the loop's goroutine poll again.
	back chan returned
	// ripe: the loop's goroutine is in OnTraffic, the only place where it can wait, and may have a stand-in.
	ripe bool
	// lending: it has one once OnTraffic is done, with requests to run.
	lending bool
	traffic traffic
	// joinedAt is when a stand-in that polls for another loop last began to poll for this one too, in nanoseconds since the
	// server's start.
	joinedAt int64
}

// loopOf returns what is kept of a loop. Requires: on that loop.
func (t *loopTransport) loopOf(g gnet.EventLoop) (*eventLoop, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.loops[g]; l != nil {
		return l, nil
	}
	poller, err := pollerOf(g)
	if err != nil {
		return nil, err
	}
	const never = math.MinInt64 / 2
	l := &eventLoop{transport: t, gnet: g, poller: poller, sockets: map[int]*loopSocket{}, back: make(chan returned, 1), joinedAt: never}
	l.traffic = traffic{at: never, restedAt: never}
	t.loops[g] = l
	return l, nil
}

// run has the loop's goroutine run r, in its turn.
func (l *eventLoop) run(r gnet.Runnable) error { return l.gnet.Execute(context.Background(), r) }

// standInPolicy says when a stand-in polls in a loop's place.
type standInPolicy struct {
	// gap is how close to each other a loop's reads must be, and reads how many in a row must be so before it has one; readsAgain is how many are
	// enough where one gave the polling back less than recently ago since there was nothing to read.
	gap               time.Duration
	reads, readsAgain int
	recently          time.Duration
	// pause is how long no loop has a stand-in after one that stalled.
	pause time.Duration
	// round is how long a stand-in runs requests itself after a poll; workers run what else it found.
	round time.Duration
	// rounds is how many polls in a row find something at once before a stand-in keeps to its own loop, and alone how long it does.
	rounds int
	alone  time.Duration
	// sole is how many polls in a row find the same socket until that is taken for the only one with work; 0 for never.
	sole int
}

var defaultStandIns = standInPolicy{
	gap: time.Millisecond, reads: 8, readsAgain: 2, recently: 100 * time.Millisecond,
	pause: 100 * time.Millisecond, round: time.Millisecond, rounds: 64, alone: 50 * time.Millisecond, sole: 16,
}

// traffic is how busy a loop is that polls itself. Times are in nanoseconds since the server's start.
type traffic struct {
	// at is when it last read, and close how many reads in a row came soon after the one before.
	at    int64
	close int
	// restedAt is when a stand-in gave the polling back since there was nothing to read.
	restedAt int64
}

// read counts a read and says whether that makes the loop busy.
func (t *traffic) read(now int64, p *standInPolicy) bool {
	if now-t.at < int64(p.gap) {
		t.close++
	} else {
		t.close = 0
	}
	t.at = now
	return t.close >= p.reads || t.close >= p.readsAgain && now-t.restedAt < int64(p.recently)
}

// back notes that a stand-in gave the polling back.
func (t *traffic) back(now int64, rests bool) {
	t.close = 0
	if rests {
		t.restedAt = now
	}
}

// mayLend counts a read and says whether the loop may have a stand-in. Requires: on the loop.
func (l *eventLoop) mayLend() bool {
	now := l.now()
	return l.traffic.read(now, &l.transport.server.cfg.standIns) && now >= l.transport.notBefore.Load() && !l.poller.hasTasks()
}
