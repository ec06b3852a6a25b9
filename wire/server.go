package wire

import (
	"context"
	"errors"
	"net"
)

// Diverter takes a connection over if its first bytes aren't Kafka's. It reports whether it did.
// It must not block; the connection it is given starts with the bytes shown.
type Diverter func(first []byte, c net.Conn) bool

// Server accepts connections and runs their requests.
type Server struct {
	cfg Config
}

// Bound is a listener with the address it got.
type Bound struct {
	Name string
	Addr net.Addr
}

// NewServer returns a server that isn't listening yet.
func NewServer(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg}, nil
}

// Start binds all listeners and begins to serve them. It returns the bound addresses in the order
// of Config.Listeners. After an error nothing is left open.
func (s *Server) Start() ([]Bound, error) { return nil, errors.New("not built") }

// Metrics are the server's counters.
func (s *Server) Metrics() *Metrics { return nil }

// MemoryInUse is how many bytes of the budget are taken by requests.
func (s *Server) MemoryInUse() int64 { return 0 }

// Shutdown stops accepting, lets requests that were read finish, and closes all connections. When
// ctx ends first, the rest is closed at once and ctx's error returned.
func (s *Server) Shutdown(ctx context.Context) error { return nil }
