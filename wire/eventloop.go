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
	// back has the loop's goroutine poll again, with the socket whose request stalls, if one does.
	back chan *loopSocket
	// inTraffic: the loop's goroutine is in OnTraffic, the only place where it can wait.
	inTraffic bool
	// lending: it is to wait once OnTraffic is done.
	lending bool
	// handedOver is when it last handed requests over to a worker, in nanoseconds since the server's start; handovers is how
	// many in a row came soon after the one before.
	handedOver int64
	handovers  int
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
	l := &eventLoop{transport: t, gnet: g, poller: poller, sockets: map[int]*loopSocket{}, back: make(chan *loopSocket, 1), handedOver: math.MinInt64 / 2, joinedAt: math.MinInt64 / 2}
	t.loops[g] = l
	return l, nil
}

// run has the loop's goroutine run r, in its turn.
func (l *eventLoop) run(r gnet.Runnable) error { return l.gnet.Execute(context.Background(), r) }

// standInPolicy says when a stand-in polls in a loop's place.
type standInPolicy struct {
	// gap is how close to each other a loop must hand requests over, and handovers how many times in a row it must.
	gap       time.Duration
	handovers int
	// pause is how long no loop has a stand-in after one that stalled.
	pause time.Duration
	// round is how long a stand-in runs requests itself after a poll; workers run what else it found.
	round time.Duration
	// rounds is how many polls in a row find something at once before a stand-in keeps to its own loop, and alone how long it does.
	rounds int
	alone  time.Duration
}

var defaultStandIns = standInPolicy{gap: time.Millisecond, handovers: 8, pause: 100 * time.Millisecond, round: time.Millisecond, rounds: 64, alone: 50 * time.Millisecond}

// mayLend counts a hand-over that comes with a request received at now, in nanoseconds since the server's start, and says whether a
// stand-in is to take it, and the polling. Requires: on the loop.
func (l *eventLoop) mayLend(now int64) bool {
	policy := &l.transport.server.cfg.standIns
	if now-l.handedOver < int64(policy.gap) {
		l.handovers++
	} else {
		l.handovers = 0
	}
	l.handedOver = now
	return l.inTraffic && l.handovers >= policy.handovers && now >= l.transport.notBefore.Load() && !l.poller.hasTasks()
}
