package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"
)

const (
	// answerWait is how long an attacker waits for an answer before it sends on: some requests wait by design, and
	// some get none.
	answerWait = 50 * time.Millisecond
	// framesPerConnection bounds how long a connection lives that isn't closed by the broker.
	framesPerConnection = 40
	// parkedPerAttacker is how many connections with half a frame, or with answers that nobody reads, each attacker
	// leaves open.
	parkedPerAttacker = 6
	// maxAnswerBytes is more than any answer may have.
	maxAnswerBytes = 100 << 20
)

// attacker sends frames, one connection after the other.
type attacker struct {
	address string
	legal   *legal
	rand    *rand.Rand
	// source is the attacker's own loopback address: ports of one don't suffice for all the connections.
	source net.IP
	parked []net.Conn
	// counts are shared by all attackers.
	counts *attackCounts
}

// attackCounts are what happened so far.
type attackCounts struct {
	frames, connections, answers, closedByBroker, refused atomic.Int64
}

func (c *attackCounts) String() string {
	return fmt.Sprintf("%d frames over %d connections: %d answers, %d connections closed by the broker, %d refused",
		c.frames.Load(), c.connections.Load(), c.answers.Load(), c.closedByBroker.Load(), c.refused.Load())
}

// run attacks until all attackers together have sent enough frames.
func (a *attacker) run(ctx context.Context, frames int64) error {
	defer func() {
		for _, c := range a.parked {
			_ = c.Close()
		}
	}()
	for a.counts.frames.Load() < frames && ctx.Err() == nil {
		c, err := a.dial(ctx)
		if err != nil {
			return err
		}
		if err := a.connection(c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// once sends one frame on a connection of its own.
func (a *attacker) once(ctx context.Context, frame []byte) error {
	c, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	a.counts.frames.Add(1)
	if _, err := c.Write(frame); err != nil {
		return nil // Closed by the broker, as it may.
	}
	_, err = a.answer(c)
	return err
}

func (a *attacker) dial(ctx context.Context) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: a.source}}
	c, err := d.DialContext(ctx, "tcp", a.address)
	if err != nil {
		return nil, fmt.Errorf("the broker accepts no connection: %w", err)
	}
	a.counts.connections.Add(1)
	tcp := c.(*net.TCPConn)
	// Closed by a reset, which is the harder case for the broker and leaves no socket waiting here.
	return tcp, tcp.SetLinger(0)
}

// connection lives one of the lives of a hostile connection. Only what a broker may never do is an error.
func (a *attacker) connection(c *net.TCPConn) error {
	keep := false
	defer func() {
		if !keep {
			_ = c.Close()
		}
	}()
	switch a.rand.IntN(40) {
	case 0: // A storm of connections that say nothing.
		a.counts.frames.Add(1)
		return nil
	case 1: // Another protocol.
		a.counts.frames.Add(1)
		_, _ = io.WriteString(c, banners[a.rand.IntN(len(banners))])
		_, err := a.answer(c)
		return err
	case 2: // Noise.
		a.counts.frames.Add(1)
		_, _ = c.Write(a.legal.bytes(a.rand.IntN(2000)))
		_, err := a.answer(c)
		return err
	case 3: // A wrong size.
		a.counts.frames.Add(1)
		_, _ = c.Write(a.legal.liar(a.legal.frame(a.legal.request())))
		_, err := a.answer(c)
		return err
	case 4: // Half a frame, and then nothing.
		a.counts.frames.Add(1)
		f := a.legal.frame(a.legal.request())
		if a.rand.IntN(2) == 0 {
			binary.BigEndian.PutUint32(f, 1<<10+a.rand.Uint32N(100<<20))
		}
		_, _ = c.Write(f[:a.rand.IntN(len(f))])
		a.park(c)
		keep = true
		return nil
	case 5: // Requests whose answers nobody reads.
		for range 30 {
			a.counts.frames.Add(1)
			if _, err := c.Write(a.legal.frame(a.legal.request())); err != nil {
				break
			}
		}
		a.park(c)
		keep = true
		return nil
	case 6: // One byte after the other.
		a.counts.frames.Add(1)
		for _, b := range a.legal.mutated(a.legal.frame(a.legal.request())) {
			if _, err := c.Write([]byte{b}); err != nil {
				return nil
			}
		}
		_, err := a.answer(c)
		return err
	}
	for range framesPerConnection {
		a.counts.frames.Add(1)
		if _, err := c.Write(a.frame()); err != nil {
			return nil
		}
		if open, err := a.answer(c); !open || err != nil {
			return err
		}
	}
	return nil
}

// frame is one that is read to its end.
func (a *attacker) frame() []byte {
	f := a.legal.frame(a.legal.request())
	switch n := a.rand.IntN(100); {
	case n < 25:
		return f
	case n < 97:
		return a.legal.mutated(f)
	case n < 98:
		return a.legal.tagged(f)
	default:
		return a.legal.swollen(f)
	}
}

// answer waits for an answer for a while and drops it. It reports whether the connection is still open.
func (a *attacker) answer(c *net.TCPConn) (open bool, err error) {
	if err := c.SetReadDeadline(time.Now().Add(answerWait)); err != nil {
		return false, nil
	}
	var size [4]byte
	n, err := io.ReadFull(c, size[:])
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() && n == 0 {
		return true, nil
	}
	if err != nil {
		a.counts.closedByBroker.Add(1)
		return false, nil
	}
	length := int32(binary.BigEndian.Uint32(size[:]))
	if length < 4 || length > maxAnswerBytes {
		return false, fmt.Errorf("an answer of %d bytes", length)
	}
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return false, nil
	}
	if n, err := io.CopyN(io.Discard, c, int64(length)); err != nil {
		return false, fmt.Errorf("an answer of %d bytes ends after %d: %w", length, n, err)
	}
	a.counts.answers.Add(1)
	return true, nil
}

// park keeps a connection open and closes the oldest one kept.
func (a *attacker) park(c net.Conn) {
	if len(a.parked) == parkedPerAttacker {
		_ = a.parked[0].Close()
		a.parked = append(a.parked[:0], a.parked[1:]...)
	}
	a.parked = append(a.parked, c)
}
