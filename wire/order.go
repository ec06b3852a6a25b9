package wire

// order is the requests of a connection that are not yet answered, oldest first.
//
// Invariant: slots[:started] are started, slots[started:] are queued.
type order struct {
	slots   []*slot
	started int
	// room is where slots begin: as many as clients usually have in flight need no memory of their own.
	room [orderRoom]*slot
}

const orderRoom = 5

// push adds a request that was read.
func (o *order) push(s *slot) {
	if n := len(o.slots); n == cap(o.slots) && n < orderRoom {
		// Also where some were answered and those behind them reach the room's end.
		copy(o.room[:], o.slots)
		clear(o.room[n:])
		o.slots = o.room[:n]
	}
	o.slots = append(o.slots, s)
}

// queued is the number of requests not started.
func (o *order) queued() int { return len(o.slots) - o.started }

// next is the request that start would take; nil if none is queued.
func (o *order) next() *slot {
	if o.queued() == 0 {
		return nil
	}
	return o.slots[o.started]
}

// start marks the next request as started and returns it; nil if none is queued.
func (o *order) start() *slot {
	if o.queued() == 0 {
		return nil
	}
	s := o.slots[o.started]
	s.state = slotStarted
	o.started++
	return s
}

// runs says whether the last started request keeps the next one waiting.
func (o *order) runs() bool {
	return o.started > 0 && o.slots[o.started-1].state == slotStarted
}

// pop removes and returns the oldest request if it is completed, else nil.
func (o *order) pop() *slot {
	if o.started == 0 || o.slots[0].state != slotDone {
		return nil
	}
	s := o.slots[0]
	o.slots[0] = nil
	o.slots = o.slots[1:]
	o.started--
	if len(o.slots) == 0 {
		o.slots = nil // An idle connection holds no memory.
	}
	return s
}

// clear empties the order and returns what was in it.
func (o *order) clear() []*slot {
	s := o.slots
	o.slots, o.started = nil, 0
	return s
}
