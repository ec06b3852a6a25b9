package wire

import "time"

const (
	// stallInterval is how often, while connections wait for memory, the others are looked at.
	stallInterval = 2 * time.Second
	// stallBytes is the least that a frame under construction must get between two looks.
	stallBytes = 64 << 10
)

// stallSweep takes memory back from clients that hold it for frames they don't send: while connections wait
// for the budget, one whose frame gets less than stallBytes in a stallInterval is closed. Without
// it, a few half-sent frames would keep everybody waiting until connections.max.idle.ms. While
// there is memory, a client may be as slow as it likes.
type stallSweep struct {
	server *Server
	timer  sweepTimer
}

// init prepares the sweep. Requires: s.cfg is set.
func (w *stallSweep) init(s *Server) {
	w.server = s
	w.timer.clock, w.timer.sweep = s.cfg.Clock, w.sweep
}

// arm makes sure that a sweep will come, as a connection waits. It doesn't block.
func (w *stallSweep) arm() { w.timer.arm(stallInterval) }

func (w *stallSweep) sweep() {
	if !w.server.budget.Wanted() {
		return
	}
	for _, l := range w.server.conns.all() {
		l.closeIfStalled(stallBytes)
	}
	w.arm()
}

// stop prevents further sweeps and waits for one that runs.
func (w *stallSweep) stop() { w.timer.stop() }
