package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/buf"
)

// Diverter takes a connection over if its first bytes aren't Kafka's. It reports whether it did.
// It must not block; the connection it is given starts with the bytes shown.
type Diverter func(first []byte, c net.Conn) bool

// Bound is a listener with the address it got.
type Bound struct {
	Name string
	Addr net.Addr
}

// Server accepts connections and runs their requests.
type Server struct {
	cfg     Config
	pool    buf.Pool
	slots   slotPool
	bodies  bodies
	budget  *Budget
	metrics Metrics
	workers workers
	reasons closeLog
	idle    idleSweep
	stalls  stallSweep
	// started is when the server was made; activity is measured from it.
	started time.Time

	// loops is nil where no listener uses event loops.
	loops     *loopTransport
	listeners []*boundListener
	// readers counts the goroutines that read connections over net.Conn.
	readers   sync.WaitGroup
	acceptors sync.WaitGroup

	conns connTable

	shutdown    sync.Once
	shutdownErr error
}

// boundListener is a listener that is open.
type boundListener struct {
	Listener
	index  int
	socket net.Listener
}

// NewServer returns a server that isn't listening yet.
func NewServer(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, budget: NewBudget(cfg.Limits.QueuedRequestBytes), started: cfg.Clock.Now()}
	s.reasons = closeLog{logger: cfg.Logger, now: cfg.Clock.Now}
	s.conns.init(cfg.Limits.Connections, len(cfg.Listeners))
	s.idle.init(s)
	s.stalls.init(s)
	return s, nil
}

// Start binds all listeners and begins to serve them. It returns the bound addresses in the order
// of Config.Listeners. After an error nothing is left open, and the server can't be used again.
func (s *Server) Start() ([]Bound, error) {
	var bounds []Bound
	for i, ln := range s.cfg.Listeners {
		nl, err := s.listen(ln.Address)
		if err != nil {
			s.closeListeners()
			return nil, fmt.Errorf("listener %s: %w", ln.Name, err)
		}
		s.listeners = append(s.listeners, &boundListener{Listener: ln, index: i, socket: nl})
		bounds = append(bounds, Bound{Name: ln.Name, Addr: nl.Addr()})
	}
	for _, ln := range s.listeners {
		if ln.usesLoops() && s.loops == nil {
			loops, err := startLoops(s)
			if err != nil {
				s.closeListeners()
				return nil, fmt.Errorf("event loops: %w", err)
			}
			s.loops = loops
		}
	}
	for _, ln := range s.listeners {
		s.acceptors.Go(func() { s.accept(ln) })
	}
	return bounds, nil
}

// listen opens the socket of a listener.
func (s *Server) listen(address string) (net.Listener, error) {
	if s.cfg.Listen != nil {
		return s.cfg.Listen(address)
	}
	return listen(address, s.cfg.Limits.ReceiveBufferBytes, s.cfg.Limits.ListenBacklog)
}

// usesLoops says whether a listener's sockets are polled by event loops.
func (ln *boundListener) usesLoops() bool {
	switch ln.Transport {
	case TransportLoop:
		return true
	case TransportStd:
		return false
	}
	_, tcp := ln.socket.(*net.TCPListener)
	return haveLoops && tcp && ln.TLS == nil && ln.Divert == nil
}

func (s *Server) closeListeners() {
	for _, ln := range s.listeners {
		_ = ln.socket.Close() // Nothing can be done about it, and nothing is lost.
	}
}

// SetConnectionLimits changes the limits on the number of connections; it takes l. Those beyond a lower
// max.connections are closed, the longest idle first; those beyond a lower max.connections.per.ip stay, as
// in Kafka.
func (s *Server) SetConnectionLimits(l ConnectionLimits) {
	for _, victim := range s.conns.setLimits(l) {
		victim.abort()
	}
}

// Metrics are the server's counters.
func (s *Server) Metrics() *Metrics { return &s.metrics }

// MemoryInUse is how many bytes of the budget are taken by requests.
func (s *Server) MemoryInUse() int64 { return s.budget.Used() }

// forget takes a connection that died out of the server's books.
func (s *Server) forget(l *link) {
	s.conns.remove(l)
	s.metrics.Connections.Add(-1)
}

// Shutdown stops accepting, lets requests that were read finish, and closes all connections. When
// ctx ends first, the rest is closed at once and ctx's error returned. Further calls wait for the
// first and return what it returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shutdown.Do(func() { s.shutdownErr = s.shut(ctx) })
	return s.shutdownErr
}

func (s *Server) shut(ctx context.Context) error {
	s.conns.stop()
	s.closeListeners()
	s.acceptors.Wait()
	s.idle.stop()
	s.stalls.stop()
	for _, l := range s.conns.all() {
		l.end()
	}
	err := s.conns.waitEmpty(ctx)
	if err != nil {
		for _, l := range s.conns.all() {
			l.abort()
		}
	}
	if s.loops != nil {
		err = errors.Join(err, s.loops.stop())
	}
	s.readers.Wait()
	s.workers.halt()
	if err == nil {
		s.workers.wait() // Else a handler may be waiting for what isn't ours.
	}
	if s.loops != nil {
		err = errors.Join(err, s.loops.closePoller())
	}
	return err
}

// newSession describes a connection that was accepted.
func (s *Server) newSession(ln *boundListener, c net.Conn) *Session {
	return &Session{
		ID: s.conns.nextID(), Listener: ln.Name, SecurityProtocol: ln.SecurityProtocol,
		ClientAddr: addrPort(c.RemoteAddr()), LocalAddr: addrPort(c.LocalAddr()),
		Principal: "User:ANONYMOUS",
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}
