package wire

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// Session is what a connection is known by. All fields but the client software are fixed when the
// connection is accepted.
type Session struct {
	// ID counts connections of this process from 1.
	ID uint64
	// Listener is the listener's name, such as PLAINTEXT or CONTROLLER.
	Listener string
	// SecurityProtocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
	SecurityProtocol string
	// ClientAddr and LocalAddr are the two ends of the connection.
	ClientAddr, LocalAddr netip.AddrPort
	// Principal is who the client is, as Kafka writes it: "User:ANONYMOUS" without authentication.
	Principal string

	software atomic.Pointer[ClientSoftware]

	mu sync.Mutex
	// atEnd is called when the connection has ended; nil afterwards, with ended set. Both guarded by mu.
	atEnd map[string]func()
	ended bool
}

// AtEnd has f called once when the connection has ended, at once if it has; f must not block. A later f under the
// same name takes the place of an earlier one.
func (s *Session) AtEnd(name string, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		go f()
		return
	}
	if s.atEnd == nil {
		s.atEnd = map[string]func(){}
	}
	s.atEnd[name] = f
}

// end calls what waits for the end of the connection.
func (s *Session) end() {
	s.mu.Lock()
	fns := s.atEnd
	s.atEnd, s.ended = nil, true
	s.mu.Unlock()
	for _, f := range fns {
		f()
	}
}

// ClientSoftware is what a client said of itself in ApiVersions (KIP-511).
type ClientSoftware struct{ Name, Version string }

// SetClientSoftware records what the client said of itself.
func (s *Session) SetClientSoftware(name, version string) {
	s.software.Store(&ClientSoftware{Name: name, Version: version})
}

// ClientSoftware is what the client said of itself; the zero value before it did.
func (s *Session) ClientSoftware() ClientSoftware {
	if p := s.software.Load(); p != nil {
		return *p
	}
	return ClientSoftware{}
}
