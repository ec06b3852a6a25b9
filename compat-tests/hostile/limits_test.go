package hostile

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/harness"
)

// crowd is many connections of one client.
type crowd []net.Conn

func (c crowd) close() {
	for _, c := range c {
		_ = c.Close()
	}
}

// dialFrom connects from an address of the loopback.
func dialFrom(b *harness.Broker, source string) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	return d.Dial("tcp", b.Address)
}

// TestOutOfDescriptors lets the broker run into its limit of open files: it survives, serves who is connected, and accepts
// again when there is room.
func TestOutOfDescriptors(t *testing.T) {
	const limit, wanted = 200, 400
	b := startBroker(t, "")
	client := good(t, b)
	if err := b.LimitDescriptors(limit); err != nil {
		t.Fatal(err)
	}
	var all crowd
	defer func() { all.close() }()
	served := 0
	for range wanted {
		c, err := dialFrom(b, "127.0.0.1")
		if err != nil {
			break // The backlog is full too.
		}
		all = append(all, c)
		if served == len(all)-1 && quickRoundTrip(c) {
			served++
		}
	}
	u := usage(t, b)
	t.Logf("%d of %d connections served, %d descriptors", served, len(all), u.Descriptors)
	if served == len(all) || u.Descriptors < limit-5 {
		t.Errorf("the limit of %d wasn't reached", limit)
	}
	if served < limit/2 {
		t.Errorf("only %d connections were served", served)
	}
	client.work(t, 100)
	all.close()
	all = nil
	await(t, "a new connection is served", func() bool {
		c, err := dialFrom(b, "127.0.0.1")
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		return quickRoundTrip(c)
	})
	client.check(t)
}

// quickRoundTrip tells whether a connection is served, or is not within half a second.
func quickRoundTrip(c net.Conn) bool { return roundTripIn(c, 500*time.Millisecond) == nil }

// TestMaxConnectionsPerIP checks that one address can't take more than its share while others connect.
func TestMaxConnectionsPerIP(t *testing.T) {
	const limit = 10
	b := startBroker(t, "max.connections.per.ip=10\n")
	client := good(t, b) // From 127.0.0.1; the crowd has an address of its own.
	var all crowd
	defer func() { all.close() }()
	for range limit {
		c, err := dialFrom(b, "127.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		if err := roundTrip(c); err != nil {
			t.Fatalf("connection %d: %v", len(all), err)
		}
	}
	for range 50 {
		c, err := dialFrom(b, "127.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		err = roundTrip(c)
		_ = c.Close()
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("a connection beyond the limit: %v, want it closed", err)
		}
	}
	_ = all[0].Close()
	await(t, "a closed connection makes room", func() bool {
		c, err := dialFrom(b, "127.0.2.1")
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		return quickRoundTrip(c)
	})
	client.check(t)
}

// TestMaxConnections checks that connections beyond the limit wait and get in when there is room, and that those that are in
// notice nothing.
func TestMaxConnections(t *testing.T) {
	const limit = 30
	b := startBroker(t, "max.connections=30\n")
	client := good(t, b)
	var all crowd
	defer func() { all.close() }()
	served := 0
	for range 2 * limit {
		c, err := dialFrom(b, "127.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		if served == len(all)-1 && quickRoundTrip(c) {
			served++
		}
	}
	t.Logf("%d connections served beside the good client's", served)
	if served >= limit || served < limit-10 {
		t.Errorf("%d connections served beside the good client's, the limit is %d", served, limit)
	}
	last := all[len(all)-1]
	all[:len(all)-1].close()
	all = crowd{last}
	await(t, "one that waited is served", func() bool { return quickRoundTrip(last) })
	client.check(t)
}

// TestRestartUnderConnections kills the broker with many connections open and starts it again on the port at once.
func TestRestartUnderConnections(t *testing.T) {
	o := harness.Options{Bin: os.Getenv("OTTLA_BIN"), Dir: t.TempDir(), Properties: harness.OneNode}
	b, err := harness.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Kill() }()
	for round := range 5 {
		var all crowd
		for range 100 {
			c, err := dialFrom(b, "127.0.0.1")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
			if err := roundTrip(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		b, err = harness.Restart(ctx, o, b)
		cancel()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		t.Logf("round %d: answers %s after kill -9", round, time.Since(start).Round(time.Millisecond))
		all.close()
	}
}
