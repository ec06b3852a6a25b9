package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Header is a decoded request header, versions 0 to 2.
type Header struct {
	Key           int16
	Version       int16
	CorrelationID int32
	// ClientID is nil where the client sent null.
	ClientID *string
}

// Request is one decoded request of one connection.
//
// A connection runs one request at a time: the next one starts when this one is completed or
// says Proceed. Replies leave in request order whatever order requests complete in. Handlers run
// on a goroutine that may block; only the connection itself waits for it.
//
// Exactly one of Reply, ReplyChunks, NoReply and Close must be called, once, from any goroutine.
type Request struct {
	Header
	// Body is the typed request, already at Header.Version. Its byte slices borrow the frame:
	// they are valid until the request is completed or ReleaseFrame is called. A Produce or Fetch is used again for another
	// request after ServeRequest: of these the handler may keep strings beyond it, and nothing else.
	Body kmsg.Request
	// Session is the state of the connection.
	Session *Session
	// ReceivedAt is when the last byte of the frame was read.
	ReceivedAt time.Time

	slot Slot
	// inline and rest are of requests that run where other connections wait for them.
	inline bool
	rest   func()
}

// Inline says that the handler runs where other connections wait for it, as its API's Place allows. On an event loop it must
// not wait for a device, for another node, or for a lock that others may hold while they do; on a stand-in not for
// what takes long. A request that turns out to need that goes on with Offload.
func (r *Request) Inline() bool { return r.inline }

// Offload has f run on a goroutine that may block, once ServeRequest has returned, which does nothing more with the
// request. f completes the request, or takes the steps of one that is completed later. Where the goroutine may block
// already f runs at once.
func (r *Request) Offload(f func()) {
	if !r.inline {
		f()
		return
	}
	r.inline, r.rest = false, f
}

// Slot is a request's place in its connection's order; the connection implements it, and tests do.
type Slot interface {
	// Complete hands over the reply, whose Body it is done with when it returns. Called exactly once.
	Complete(Reply)
	// Proceed lets the connection start the next request before this one is completed.
	Proceed()
	// ReleaseFrame gives the request's bytes back early; Body must not be read after it.
	ReleaseFrame()
	// OnClose registers f to run, once, if the connection dies before the request is completed.
	// It runs at once if the connection is already dead. f must not block.
	OnClose(f func())
}

// Reply is what a request is completed with.
type Reply struct {
	// Body is encoded with the response header by the connection; nil where Chunks or None is used.
	Body kmsg.Response
	// Chunks is an already encoded response body, without size and response header. Its bytes are copied; its files
	// are taken, and released once they are sent or the connection dies.
	Chunks []Chunk
	// None sends nothing (Produce with acks=0).
	None bool
	// CloseReason, if set, closes the connection after the replies before this one have left.
	CloseReason error
}

// NewRequest binds a request to its place in a connection's order.
func NewRequest(h Header, body kmsg.Request, s *Session, slot Slot, receivedAt time.Time) *Request {
	return &Request{Header: h, Body: body, Session: s, ReceivedAt: receivedAt, slot: slot}
}

// Reply completes the request with a typed response, whose version is set to the request's.
func (r *Request) Reply(resp kmsg.Response) {
	resp.SetVersion(r.Version)
	r.slot.Complete(Reply{Body: resp})
}

// ReplyChunks completes the request with an encoded response body; the connection copies the bytes, takes the file
// ranges and releases them after the write or when it dies.
func (r *Request) ReplyChunks(chunks []Chunk) { r.slot.Complete(Reply{Chunks: chunks}) }

// NoReply completes the request without sending anything.
func (r *Request) NoReply() { r.slot.Complete(Reply{None: true}) }

// Close completes the request by closing its connection; reason is logged once.
func (r *Request) Close(reason error) { r.slot.Complete(Reply{CloseReason: reason}) }

// Proceed tells the connection that the request has taken effect, so that the next one may start
// although this one's reply is still to come.
func (r *Request) Proceed() { r.slot.Proceed() }

// ReleaseFrame gives the request's bytes back before it is completed; Body must not be read
// afterwards. A request that is parked for long calls it.
func (r *Request) ReleaseFrame() { r.slot.ReleaseFrame() }

// OnClose registers f to run, once, if the connection dies before the request is completed. The
// request must be completed nevertheless, by f or later: until then it holds its memory.
func (r *Request) OnClose(f func()) { r.slot.OnClose(f) }

// Handler answers requests. ServeRequest is called in request order, never twice at once for one
// connection, on a goroutine that may block, unless the request says Inline. A Produce or Fetch that it hasn't completed when it returns, it has called
// Proceed, ReleaseFrame or OnClose of; of one that it has completed it keeps no pointer.
type Handler interface {
	ServeRequest(*Request)
}
