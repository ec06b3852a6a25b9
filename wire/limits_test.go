package wire

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// TestMaxConnectionsPerIP checks the limit of an address, and that a closed connection makes room.
func TestMaxConnectionsPerIP(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata, func(c *Config) {
			c.Limits.Connections.PerIP = 100
			c.Limits.Connections.PerIPOverrides = map[netip.Addr]int{netip.MustParseAddr("127.0.0.1"): 2}
		})
		a, b := s.dial(), s.dial()
		for i, c := range []*testClient{a, b} {
			c.send(metadata(int32(i), "in"))
			c.expectMetadata(int32(i), "in")
		}
		s.dial().expectClosed()
		if !strings.Contains(s.log.String(), "max.connections.per.ip") {
			t.Errorf("log doesn't say why:\n%s", s.log)
		}
		a.c.Close()
		eventually(t, "there is room", func() bool { return s.metrics.Connections.Load() == 1 })
		c := s.dial()
		c.send(metadata(7, "in"))
		c.expectMetadata(7, "in")
	})
}

// TestMaxConnections checks that a connection beyond the limit waits until there is room.
func TestMaxConnections(t *testing.T) {
	eachPlain(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata, func(c *Config) { c.Limits.Connections.Max = 1 })
		a := s.dial()
		a.send(metadata(1, "in"))
		a.expectMetadata(1, "in")
		b := s.dial() // Connected by the system, not accepted.
		b.send(metadata(2, "waited"))
		if n := s.metrics.Accepted.Load(); n != 1 {
			t.Errorf("%d accepted", n)
		}
		a.c.Close()
		b.expectMetadata(2, "waited")
	})
}

// TestConnectionLimitsChange raises and lowers the limits of a running server: who waits gets in, and who
// is too many goes, the longest idle first.
func TestConnectionLimitsChange(t *testing.T) {
	eachPlain(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata, func(c *Config) { c.Limits.Connections.Max = 1 })
		a := s.dial()
		a.send(metadata(1, "in"))
		a.expectMetadata(1, "in")
		b := s.dial()
		b.send(metadata(2, "waited"))
		s.SetConnectionLimits(ConnectionLimits{Max: 2, PerIP: 2})
		b.expectMetadata(2, "waited")
		s.dial().expectClosed()
		s.SetConnectionLimits(ConnectionLimits{PerListener: map[string]int{s.listeners[0].Name: 1}})
		a.expectClosed()
		b.send(metadata(3, "still in"))
		b.expectMetadata(3, "still in")
		c := s.dial()
		c.send(metadata(4, "waited"))
		s.SetConnectionLimits(ConnectionLimits{})
		c.expectMetadata(4, "waited")
	})
}

// TestProtectedListener checks that a connection of the inter-broker listener gets in beyond the limit,
// in the place of the one that was idle longest.
func TestProtectedListener(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata, func(c *Config) {
			c.Limits.Connections.Max = 2
			second := c.Listeners[0]
			second.Name, second.Protected = "INTERNAL", true
			c.Listeners = append(c.Listeners, second)
		})
		a, b := s.dial(), s.dial()
		for i, c := range []*testClient{b, a} {
			c.send(metadata(int32(i), "in"))
			c.expectMetadata(int32(i), "in")
		}
		inner := *s
		inner.addr = s.listeners[1].socket.Addr().String()
		c := inner.dial()
		c.send(metadata(9, "inner"))
		c.expectMetadata(9, "inner")
		b.expectClosed()
		a.send(metadata(3, "still in"))
		a.expectMetadata(3, "still in")
	})
}

// TestIdle steps a clock by hand past connections.max.idle.ms: the idle connection goes, one that was
// active meanwhile and one with a parked request stay.
func TestIdle(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		now := clock.NewManual(time.Unix(1000, 0))
		parked := make(chan *Request, 1)
		s := serve(t, transport, func(r *Request) {
			if r.CorrelationID == 99 {
				keep(r, parked)
				return
			}
			answerMetadata(r)
		}, func(c *Config) { c.Clock, c.Limits.MaxIdle = now, time.Minute })
		idle, active, waiting := s.dial(), s.dial(), s.dial()
		for i, c := range []*testClient{idle, active, waiting} {
			c.send(metadata(int32(i), "in"))
			c.expectMetadata(int32(i), "in")
		}
		waiting.send(metadata(99, "parked"))
		r := <-parked
		now.Advance(40 * time.Second)
		active.send(metadata(5, "again"))
		active.expectMetadata(5, "again")
		now.Advance(21 * time.Second)
		idle.expectClosed()
		active.send(metadata(6, "again"))
		active.expectMetadata(6, "again")
		answerMetadata(r)
		waiting.expectMetadata(99, "parked")
		if n := s.metrics.IdleCloses.Load(); n != 1 {
			t.Errorf("%d idle connections closed, want 1", n)
		}
	})
}

// TestRestartOnSamePort checks that the port can be bound again at once while connections of the
// former server are in TIME_WAIT or not closed by their clients.
func TestRestartOnSamePort(t *testing.T) {
	eachTransport(t, func(t *testing.T, transport Transport) {
		s := serve(t, transport, answerMetadata)
		for i := range 5 {
			c := s.dial()
			c.send(metadata(int32(i), "x"))
			c.expectMetadata(int32(i), "x")
		}
		s.stop()
		again := serve(t, transport, answerMetadata, func(c *Config) { c.Listeners[0].Address = s.addr })
		c := again.dial()
		c.send(metadata(1, "again"))
		c.expectMetadata(1, "again")
	})
}

// TestDescriptorsRunOut runs emfileChild, whose descriptors run out, in a process of its own.
func TestDescriptorsRunOut(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=emfile")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// emfileChild lowers the limit on descriptors, opens connections until they run out, and checks that
// old connections are served meanwhile and new ones afterwards.
func emfileChild() int {
	t := &childTest{}
	for _, transport := range []Transport{TransportLoop, TransportStd} {
		s := serve(t, transport, answerMetadata)
		first := s.dial()
		first.send(metadata(1, "first"))
		first.expectMetadata(1, "first")
		limit := syscall.Rlimit{}
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		low := limit
		low.Cur = 60
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
			t.Fatal(err)
		}
		var conns []net.Conn
		// The server's own descriptors come and go while it takes connections in, so that the first dial that fails may not
		// have been for the last one.
		eventually(t, "accepting fails", func() bool {
			for {
				c, err := net.Dial("tcp", s.addr)
				if err != nil {
					return s.metrics.AcceptErrors.Load() > 0
				}
				conns = append(conns, c)
			}
		})
		for i := range 10 {
			first.send(metadata(int32(i), "served"))
			first.expectMetadata(int32(i), "served")
		}
		for _, c := range conns {
			c.Close()
		}
		eventually(t, "the closed ones are gone", func() bool { return s.metrics.Connections.Load() == 1 })
		later := s.dial()
		later.send(metadata(2, "later"))
		later.expectMetadata(2, "later")
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	t.runCleanups()
	if t.failed {
		return 1
	}
	return 0
}

// childTest is what a child process has for a testing.T.
type childTest struct {
	testing.TB
	failed   bool
	cleanups []func()
}

func (t *childTest) Helper()          {}
func (t *childTest) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *childTest) Errorf(format string, args ...any) {
	t.failed = true
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (t *childTest) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

func (t *childTest) Fatal(args ...any) { t.Fatalf("%s", fmt.Sprint(args...)) }

func (t *childTest) runCleanups() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
