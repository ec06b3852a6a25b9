package wire

import (
	"encoding/binary"
	"time"

	"github.com/ottla/ottla/internal/buf"
	"github.com/twmb/franz-go/pkg/kmsg"
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
// for link, receivedAt and request, which don't change once the request is started.
type slot struct {
	link       *link
	receivedAt time.Time
	// request is what the handler gets; here, so that a request takes one piece of memory.
	request Request

	state slotState
	// by is what serves it: a loop must not wait for a device when it sends, either.
	by runner
	// emitted: its reply was handed to the transport. shared: others than the handler's goroutine may know of it.
	emitted, shared bool
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
	// head is its bytes, from the frame's size on; nil if nothing is sent.
	head *buf.Buf
	// cut is where a file's range goes in between, and cuts are further ones.
	cut  cut
	cuts []cut
	// closeReason closes the connection once everything before it is sent.
	closeReason error
}

// cut is a place in a reply's bytes where a file's range goes; file is nil if there is none.
type cut struct {
	at   int
	file FileRange
}

// release gives up what a reply holds, if it isn't sent.
func (r *reply) release() {
	if r.head != nil {
		r.head.Release()
	}
	if r.cut.file != nil {
		r.cut.file.Release()
	}
	for _, c := range r.cuts {
		c.file.Release()
	}
	*r = reply{}
}

// Complete implements Slot.
func (s *slot) Complete(r Reply) {
	set := 0
	for _, is := range [...]bool{r.Body != nil, r.Chunks != nil, r.None, r.CloseReason != nil} {
		if is {
			set++
		}
	}
	if set > 1 {
		panic("wire: a reply is one of a body, chunks, nothing and a reason to close")
	}
	switch {
	case r.CloseReason != nil:
		s.complete(reply{closeReason: r.CloseReason})
	case r.None:
		s.complete(reply{})
	case r.Body != nil:
		s.complete(s.encode(r.Body))
	default:
		s.complete(s.frameChunks(r.Chunks))
	}
}

// encode makes a frame of a response.
func (s *slot) encode(body kmsg.Response) reply {
	pool := &s.link.server.pool
	b := pool.Get(0)
	frame := appendReply(b.Full()[:0], s.request.Header, body)
	if len(frame) > len(b.Full()) {
		b.Release()
		b = pool.Get(len(frame))
		copy(b.Full(), frame)
	}
	b.SetLen(len(frame))
	return reply{head: b}
}

// maxResponseHead is the most that frame size and response header take, in bytes.
const maxResponseHead = 4 + 4 + 1

// frameChunks puts size and response header before an encoded body, whose bytes it copies: but for its files it is
// small.
func (s *slot) frameChunks(chunks []Chunk) reply {
	bytes, size := 0, 0
	for _, c := range chunks {
		bytes += len(c.Bytes)
		if c.File != nil {
			size += c.File.Len()
		}
	}
	r := reply{head: s.link.server.pool.Get(maxResponseHead + bytes)}
	h := &s.request.Header
	out := appendResponseHeader(append(r.head.Full()[:0], 0, 0, 0, 0), h.Key, h.Version, h.CorrelationID)
	for _, c := range chunks {
		switch {
		case c.File == nil:
			out = append(out, c.Bytes...)
		case r.cut.file == nil:
			r.cut = cut{len(out), c.File}
		default:
			r.cuts = append(r.cuts, cut{len(out), c.File})
		}
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-4+size))
	r.head.SetLen(len(out))
	return r
}

// complete hands a request's reply over and sends what has become first in order.
func (s *slot) complete(r reply) {
	l := s.link
	l.mu.Lock()
	frame, freed := s.takeFrame()
	s.onClose = nil
	var fns []func()
	more, by, hold := false, s.by, false
	switch s.state {
	case slotDropped:
		defer r.release()
	case slotStarted, slotProceeded:
		s.state, s.reply = slotDone, r
		if r.closeReason != nil {
			l.conn.Stop()
		}
		var dropped charged
		fns, dropped = l.emit()
		freed = freed.plus(dropped)
		// More requests wait, and run now: their replies may share a system call with this one.
		more = l.conn.CanStart()
		hold = more && by.standsIn() && l.server.cfg.Clock.Now().Sub(s.receivedAt) < holdBack
	default:
		l.mu.Unlock()
		panic("wire: a request was completed twice")
	}
	l.settle()
	if frame != nil {
		frame.Release()
	}
	l.server.budget.release(freed)
	for _, f := range fns {
		f()
	}
	switch {
	case hold:
		l.sock.flushLate()
	case more:
		l.sock.flushSoon()
	default:
		l.sock.flush(by.patience())
	}
}

// takeFrame takes the request's bytes from it. Requires: l.mu held.
func (s *slot) takeFrame() (frame *buf.Buf, freed charged) {
	frame, freed = s.frame, chargeOf(s.cost)
	s.frame, s.cost = nil, 0
	return frame, freed
}

// Proceed implements Slot.
func (s *slot) Proceed() {
	l := s.link
	l.mu.Lock()
	s.shared = true
	if s.state == slotStarted {
		s.state = slotProceeded
	}
	l.settle()
}

// ReleaseFrame implements Slot.
func (s *slot) ReleaseFrame() {
	l := s.link
	l.mu.Lock()
	s.shared = true
	frame, freed := s.takeFrame()
	l.mu.Unlock()
	if frame != nil {
		frame.Release()
	}
	l.server.budget.release(freed)
}

// OnClose implements Slot.
func (s *slot) OnClose(f func()) {
	l := s.link
	l.mu.Lock()
	s.shared = true
	if s.state == slotDropped {
		l.mu.Unlock()
		f()
		return
	}
	if s.state != slotDone {
		s.onClose = f
	}
	l.mu.Unlock()
}
