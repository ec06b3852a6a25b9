package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/buf"
	"github.com/ottla/ottla/internal/clock"
)

// TestHandshakeStalls closes a connection whose client says nothing, or half of its first message, and tells why; a
// client that has come through stays.
func TestHandshakeStalls(t *testing.T) {
	now := clock.NewManual(time.Unix(1000, 0))
	s := serve(t, transportTLS, answerMetadata, func(c *Config) { c.Clock = now })
	silent, half, good := s.dial(), s.dial(), s.dial()
	good.send(metadata(1, "in"))
	good.expectMetadata(1, "in")
	if _, err := half.tcp.Write([]byte{22, 3, 1, 1, 0, 1, 0}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are accepted", func() bool { return s.metrics.Accepted.Load() == 3 })
	// The goroutines of the two may not have set their timers yet; those of later clocks are due at once.
	eventually(t, "both are closed", func() bool {
		now.Advance(handshakeTimeout)
		return s.metrics.Connections.Load() == 1
	})
	for _, c := range []*testClient{silent, half} {
		c.c = c.tcp
		c.expectClosed()
	}
	if n := strings.Count(s.log.String(), "the client didn't finish the TLS handshake within 30s"); n != 2 {
		t.Errorf("%d lines:\n%s", n, s.log)
	}
	good.send(metadata(2, "in"))
	good.expectMetadata(2, "in")
}

// TestGoodbye checks that an orderly end is told from a cut: TLS says so, after all replies.
func TestGoodbye(t *testing.T) {
	s := serve(t, transportTLS, answerMetadata)
	c := s.dial()
	c.send(metadata(1, "last"))
	c.expectMetadata(1, "last")
	s.stop()
	// crypto/tls doesn't tell its users: one more record, a sealed alert.
	rest, err := io.ReadAll(c.tcp)
	if err != nil || len(rest) != 24 || rest[0] != 23 {
		t.Errorf("the last bytes are %x, %v", rest, err)
	}
}

// TestAlert checks that what TLS says by itself, while no reply is on its way, reaches the client.
func TestAlert(t *testing.T) {
	s := serve(t, transportTLS, answerMetadata)
	c := s.dial()
	c.send(metadata(1, "in"))
	c.expectMetadata(1, "in")
	eventually(t, "the reply's sender is done", func() bool { return s.conns.all()[0].sock.unsent() == 0 })
	if _, err := c.tcp.Write(append([]byte{23, 3, 3, 0, 32}, make([]byte, 32)...)); err != nil {
		t.Fatal(err)
	}
	_, err := c.c.Read(make([]byte, 1))
	if err == nil || !strings.Contains(err.Error(), "remote error: tls: bad record MAC") {
		t.Errorf("the client reads %v", err)
	}
	eventually(t, "it is gone", func() bool { return s.metrics.Connections.Load() == 0 })
}

// TestNoVersionAgreed leaves one line in the log for a client whose versions aren't served.
func TestNoVersionAgreed(t *testing.T) {
	s := serve(t, transportTLS, answerMetadata)
	c := s.dial()
	old := s.tls.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if err := tls.Client(c.tcp, old).Handshake(); err == nil {
		t.Error("TLS 1.1 is served")
	}
	eventually(t, "it is explained", func() bool {
		return strings.Count(s.log.String(), "TLS handshake failed: tls: client offered only unsupported versions") == 1
	})
}

// TestOutConn writes while a part is being sent: nothing is lost, doubled or moved, and no memory is kept.
func TestOutConn(t *testing.T) {
	pool := &buf.Pool{Poison: true}
	ours, theirs := net.Pipe()
	o := newOutConn(ours, pool)
	o.gather()
	want := pattern(100_000)
	write := func(p []byte) {
		if n, err := o.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	write(want[:1000])
	if n, err := o.send(false); n != 0 || !errors.Is(err, errWouldWait) {
		t.Fatalf("a pipe can't be sent to without waiting: %d, %v", n, err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := o.send(true)
		sent <- err
	}()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(theirs, got[:10]); err != nil {
		t.Fatal(err)
	}
	write(want[1000:90_000]) // In another buffer, which has the rest of the first.
	if _, err := io.ReadFull(theirs, got[10:1000]); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil || o.unsent() != 89_000 {
		t.Fatal(err, o.unsent())
	}
	write(want[90_000:])
	go func() {
		_, err := o.send(true)
		sent <- err
	}()
	if _, err := io.ReadFull(theirs, got[1000:]); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%v, or other bytes", err)
	}
	if err := <-sent; err != nil || o.unsent() != 0 || pool.InUseBytes() != 0 {
		t.Errorf("%v, %d bytes unsent, %d in use", err, o.unsent(), pool.InUseBytes())
	}
	write(want[:10])
	o.discard()
	if _, err := o.Write(want); err == nil || pool.InUseBytes() != 0 {
		t.Errorf("after the end: %v, %d bytes in use", err, pool.InUseBytes())
	}
	ours.Close()
	theirs.Close()
}
