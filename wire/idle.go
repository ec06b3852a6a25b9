package wire

import "time"

// idleSweep closes connections that moved no byte for connections.max.idle.ms and wait for
// nothing. One timer serves all of them: it looks at every connection when the one that was
// the longest idle may be due, so that activity costs a store and no timer operation.
type idleSweep struct {
	server  *Server
	maxIdle time.Duration
	timer   sweepTimer
}

// minSweep is the shortest time between two sweeps.
const minSweep = 10 * time.Millisecond

// init prepares the sweep. Requires: s.cfg is set.
func (i *idleSweep) init(s *Server) {
	i.server, i.maxIdle = s, s.cfg.Limits.MaxIdle
	i.timer.clock, i.timer.sweep = s.cfg.Clock, i.sweep
}

// arm makes sure that a sweep will come, as there is a connection.
func (i *idleSweep) arm() {
	if i.maxIdle >= 0 {
		i.timer.arm(i.maxIdle)
	}
}

func (i *idleSweep) sweep() {
	now := i.server.cfg.Clock.Now().Sub(i.server.started)
	links := i.server.conns.all()
	next := i.maxIdle
	for _, l := range links {
		left := time.Duration(l.lastActive.Load()) + i.maxIdle - now
		if left > 0 {
			next = min(next, left)
			continue
		}
		if l.closeIfIdle() {
			i.server.metrics.IdleCloses.Add(1)
			i.server.cfg.Logger.Debug("closing idle connection", "client", l.session.ClientAddr.String(), "listener", l.session.Listener)
		}
	}
	if len(links) > 0 {
		i.timer.arm(max(next, minSweep))
	}
}

// stop prevents further sweeps and waits for one that runs.
func (i *idleSweep) stop() { i.timer.stop() }
