package wire

import (
	"time"

	"github.com/ottla/ottla/internal/buf"
)

// slotState is how far a request has come.
type slotState uint8

const (
	// slotQueued: read, not started.
	slotQueued slotState = iota
	// slotStarted: with the handler; the next one must wait.
	slotStarted
	// slotProceeded: with the handler; the next one may start.
	slotProceeded
	// slotDone: completed; its reply waits for those before it.
	slotDone
	// slotDropped: the connection died or was told to close before the request was completed.
	slotDropped
)

// slot is a request's place in the order of its connection. It is guarded by the link's mutex, but
// for link, receivedAt and header, which don't change once the request is started.
type slot struct {
	link       *link
	receivedAt time.Time
	header     Header

	state slotState
	// frame is the request's bytes; nil once they are given back.
	frame *buf.Buf
	// cost is what the frame takes of the memory budget.
	cost int64
	// reply is what is sent; set with slotDone.
	reply reply
	// onClose runs if the connection dies first.
	onClose func()
}

// reply is an encoded answer.
type reply struct {
	// chunks are sent in order, head first; both are empty where nothing is sent.
	chunks []Chunk
	// head is the frame's start in pooled memory; nil if there is none.
	head *buf.Buf
	// closeReason closes the connection once everything before it is sent.
	closeReason error
}

// release gives up what a reply holds, if it isn't sent.
func (r *reply) release() {
	if r.head != nil {
		r.head.Release()
	}
	for i := range r.chunks {
		if f := r.chunks[i].File; f != nil {
			f.Release()
		}
	}
	*r = reply{}
}

// order is the requests of a connection that are not yet answered, oldest first.
//
// Invariant: slots[:started] are started, slots[started:] are queued.
type order struct {
	slots   []*slot
	started int
}

// push adds a request that was read.
func (o *order) push(s *slot) { o.slots = append(o.slots, s) }

// queued is the number of requests not started.
func (o *order) queued() int { return len(o.slots) - o.started }

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
