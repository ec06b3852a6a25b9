package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ClientConfig is what a Client needs.
type ClientConfig struct {
	Address  string
	ClientID string
	// Clock times requests out.
	Clock clock.Clock
	// Timeout bounds dialling, and each request whose context has no deadline; 0 means 30 s.
	Timeout time.Duration
	// MaxResponseBytes bounds a response frame; 0 means 100 MiB.
	MaxResponseBytes int
	// ReuseFetches has Fetch responses share memory: one is valid until the next Fetch is sent, and no two may be
	// under way.
	ReuseFetches bool
	// TLS is set to talk TLS; without a ServerName it is the host of Address that is expected.
	TLS *tls.Config
	// Dial connects; nil means TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

var (
	// ErrClientClosed is what calls return after Close.
	ErrClientClosed = errors.New("the client was closed")
	// ErrRequestTimeout is what a request returns that wasn't answered in time.
	ErrRequestTimeout = errors.New("the request timed out")
)

// Client sends requests to one broker over one connection; requests are pipelined and responses
// matched by correlation id. It is safe for concurrent use. It doesn't reconnect: after an error
// that isn't the request's own, all calls fail and the owner dials anew.
//
// One goroutine reads; callers write, one at a time.
type Client struct {
	cfg  ClientConfig
	conn net.Conn
	done chan struct{}

	// fetched belongs to the goroutine that reads.
	fetched reusedMemory

	// writing serialises frames; it is held while the socket takes one.
	writing sync.Mutex

	mu sync.Mutex
	// The rest is guarded by mu.
	pending map[int32]*call
	lastID  int32
	// err is why the client is dead; nil while it isn't.
	err error
}

// call is a request that waits for its response.
type call struct {
	key, version int16
	response     kmsg.Response
	err          error
	done         chan struct{}
}

// Dial connects to a broker.
func Dial(ctx context.Context, cfg ClientConfig) (*Client, error) {
	setDefault(&cfg.Timeout, 30*time.Second)
	setDefault(&cfg.MaxResponseBytes, 100<<20)
	ctx, cancel := withTimeout(ctx, cfg.Clock, cfg.Timeout)
	defer cancel()
	if cfg.Dial == nil {
		cfg.Dial = dialTCP
	}
	conn, err := cfg.Dial(ctx, cfg.Address)
	if err != nil {
		return nil, err
	}
	if cfg.TLS != nil {
		if conn, err = Handshake(ctx, conn, cfg.TLS, cfg.Address); err != nil {
			return nil, err
		}
	}
	c := &Client{cfg: cfg, conn: conn, done: make(chan struct{}), pending: map[int32]*call{}}
	go c.read()
	return c, nil
}

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

// withTimeout ends a context that has no deadline after d.
func withTimeout(ctx context.Context, c clock.Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := c.AfterFunc(d, func() { cancel(ErrRequestTimeout) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// Request sends req at its version and waits for its response. A context that ends abandons the
// wait and leaves the connection usable. A Produce with acks 0 has no response: it returns nil, nil
// once it is sent.
func (c *Client) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := withTimeout(ctx, c.cfg.Clock, c.cfg.Timeout)
	defer cancel()
	p, err := c.Start(ctx, req)
	if err != nil {
		return nil, err
	}
	return p.Wait(ctx)
}

// Start sends req at its version. Requests that one goroutine starts reach the broker in that order.
func (c *Client) Start(ctx context.Context, req kmsg.Request) (*Pending, error) {
	produce, ok := req.(*kmsg.ProduceRequest)
	silent := ok && produce.Acks == 0
	k := &call{key: req.Key(), version: req.GetVersion(), response: req.ResponseKind(), done: make(chan struct{})}
	id, err := c.register(k, silent)
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, id, req); err != nil {
		c.forget(id)
		return nil, err
	}
	if silent {
		k.response = nil
		close(k.done)
	}
	return &Pending{c, k, id}, nil
}

// Pending is a request that was sent.
type Pending struct {
	client *Client
	call   *call
	id     int32
}

// Wait returns the response. A context that ends abandons the wait and leaves the connection usable.
func (p *Pending) Wait(ctx context.Context) (kmsg.Response, error) {
	select {
	case <-p.call.done:
		return p.call.response, p.call.err
	case <-ctx.Done():
		p.client.forget(p.id)
		return nil, context.Cause(ctx)
	}
}

// register gives a call its correlation id.
func (c *Client) register(k *call, silent bool) (int32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.lastID++
	if c.lastID < 0 {
		c.lastID = 0
	}
	if !silent {
		c.pending[c.lastID] = k
	}
	return c.lastID, nil
}

// forget keeps the id of an abandoned call known, so that a late response isn't taken for a broken
// connection; its response is dropped.
func (c *Client) forget(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pending[id]; ok {
		c.pending[id] = nil
	}
}

// send writes a frame. A frame that can't be written whole ends the connection.
func (c *Client) send(ctx context.Context, id int32, req kmsg.Request) error {
	frame := appendRequest(nil, id, c.cfg.ClientID, req)
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() {
		// A write that waits for the broker is given up, and with it the connection.
		c.fail(context.Cause(ctx))
	})
	_, err := c.conn.Write(frame)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		c.fail(err)
		return err
	}
	return nil
}

// appendRequest appends a whole request frame.
func appendRequest(dst []byte, id int32, clientID string, req kmsg.Request) []byte {
	key, version := req.Key(), req.GetVersion()
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(id))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
	dst = append(dst, clientID...)
	if IsFlexible(key, version) {
		dst = append(dst, 0)
	}
	dst = req.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// read hands responses to their calls until the connection ends.
func (c *Client) read() {
	defer close(c.done)
	r := bufio.NewReaderSize(c.conn, 32<<10)
	for {
		frame, reused, err := readResponse(r, c.cfg.MaxResponseBytes, c.memoryFor)
		if err == nil {
			if reused {
				c.fetched.keep(frame)
			}
			err = c.deliver(frame)
		}
		if err != nil {
			c.fail(err)
			break
		}
	}
	c.mu.Lock()
	pending, err := c.pending, c.err
	c.pending = nil
	c.mu.Unlock()
	for _, k := range pending {
		if k != nil {
			k.err = err
			close(k.done)
		}
	}
}

// readResponse reads one frame, from its correlation id on, into what memory has for that id. Memory grows with what
// arrives, not with what is announced.
func readResponse(r io.Reader, maxBytes int, memory func(id int32) (mem []byte, reused bool)) (frame []byte, reused bool, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return nil, false, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || int64(size) > int64(maxBytes) {
		return nil, false, fmt.Errorf("a response has a size of %d bytes", size)
	}
	if _, err := io.ReadFull(r, head[4:]); err != nil {
		return nil, false, unexpected(err)
	}
	frame, reused = memory(int32(binary.BigEndian.Uint32(head[4:])))
	if first := min(int(size), firstFrameBytes); cap(frame) < first {
		frame = make([]byte, 0, first)
	}
	frame = append(frame, head[4:]...)
	for len(frame) < int(size) {
		if len(frame) == cap(frame) {
			grown := make([]byte, len(frame), min(int(size), 2*cap(frame)))
			copy(grown, frame)
			frame = grown
		}
		n, err := io.ReadFull(r, frame[len(frame):min(cap(frame), int(size))])
		frame = frame[:len(frame)+n]
		if err != nil {
			return nil, false, unexpected(err)
		}
	}
	return frame, reused, nil
}

// unexpected is what an end within a frame is.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// deliver decodes a response for the call that waits for it.
func (c *Client) deliver(frame []byte) error {
	id := int32(binary.BigEndian.Uint32(frame))
	c.mu.Lock()
	k, ok := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	switch {
	case !ok:
		return fmt.Errorf("a response to correlation id %d, which isn't waited for", id)
	case k == nil:
		return nil // The caller has given up.
	}
	defer close(k.done)
	k.err = decodeResponse(k, frame[4:])
	return nil
}

func decodeResponse(k *call, body []byte) error {
	if k.key == keyApiVersions && len(body) >= 2 && binary.BigEndian.Uint16(body) == 35 {
		k.response.SetVersion(0) // A version that the broker doesn't know is answered in version 0.
	} else if k.key != keyApiVersions && IsFlexible(k.key, k.version) {
		var err error
		if body, err = skipTags(body); err != nil {
			return err
		}
	}
	return k.response.ReadFrom(body)
}

// fail ends the connection for the given reason, if it isn't ended yet.
func (c *Client) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	c.mu.Unlock()
	_ = c.conn.Close() // The reason is kept in err.
}

// Close ends the connection; pending calls fail.
func (c *Client) Close() error {
	c.fail(ErrClientClosed)
	<-c.done
	return nil
}

// Done is closed once the connection has died.
func (c *Client) Done() <-chan struct{} { return c.done }
