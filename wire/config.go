package wire

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// Transport says how the sockets of a listener are served.
type Transport int8

const (
	// TransportAuto is event loops for plaintext where the system has them, else goroutines.
	TransportAuto Transport = iota
	// TransportLoop is gnet's event loops; not for TLS.
	TransportLoop
	// TransportStd is a goroutine a connection over net.Conn.
	TransportStd
)

// Listener is an address to listen on.
type Listener struct {
	// Name is the listener's name, such as PLAINTEXT or CONTROLLER.
	Name string
	// SecurityProtocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
	SecurityProtocol string
	// Address is host:port; an empty host means all interfaces, port 0 a free one.
	Address string
	// Role is the role whose APIs are served here: RoleBroker or RoleController.
	Role Role
	// TLS is set for SSL and SASL_SSL.
	TLS *tls.Config
	// Transport is how sockets are served.
	Transport Transport
	// Protected marks the inter-broker and controller listeners: they aren't held back by
	// max.connections; the connection of another listener that was idle longest makes room.
	Protected bool
	// Divert, if set, is asked with the first bytes of each connection (at least 4, TransportStd
	// only) whether it takes the connection over; it then owns it. Raft shares the CONTROLLER
	// listener's port this way.
	Divert Diverter
}

// Limits are the bounds of a server. The zero value of a field means Kafka's default, given beside it.
type Limits struct {
	// MaxRequestBytes is socket.request.max.bytes: 100 MiB.
	MaxRequestBytes int
	// QueuedRequestBytes is queued.max.request.bytes: the memory that requests of all connections
	// may hold. Kafka has no limit by default; here it is DefaultQueuedRequestBytes, and negative
	// means no limit.
	QueuedRequestBytes int64
	// Connections bounds their number; Server.SetConnectionLimits changes it.
	Connections ConnectionLimits
	// ListenBacklog is socket.listen.backlog.size: how many connections may wait to be accepted; 0 or less
	// is the system's limit, which Kafka's 50 is usually below.
	ListenBacklog int
	// MaxIdle is connections.max.idle.ms: 10 minutes; negative means no limit.
	MaxIdle time.Duration
	// SendBufferBytes and ReceiveBufferBytes are socket.send.buffer.bytes and
	// socket.receive.buffer.bytes; 0 or less leaves them to the system, which sizes them as the
	// connection needs. Kafka's default of 100 KiB is too small for the large replies of a fetch.
	SendBufferBytes, ReceiveBufferBytes int
	// QueuedRequests is how many requests of one connection are read ahead of the one that runs: 16.
	QueuedRequests int
	// PendingRequests is how many requests of one connection may be started and unanswered: 64.
	PendingRequests int
	// QueuedReplyBytes is how many unsent reply bytes stop a connection's next request: 64 KiB.
	QueuedReplyBytes int
}

// ConnectionLimits bounds the number of connections. The zero value has no limit.
type ConnectionLimits struct {
	// Max is max.connections.
	Max int
	// PerIP is max.connections.per.ip; negative refuses all.
	PerIP int
	// PerIPOverrides is max.connections.per.ip.overrides; here 0 refuses the address.
	PerIPOverrides map[netip.Addr]int
	// PerListener is listener.name.<listener>.max.connections, by the name of the listener.
	PerListener map[string]int
}

// DefaultQueuedRequestBytes is the default of Limits.QueuedRequestBytes.
const DefaultQueuedRequestBytes = 256 << 20

// Config is what a Server needs.
type Config struct {
	Listeners []Listener
	Limits    Limits
	Handler   Handler
	// Supports says whether a listener serves an API in a version. ApiVersions is always served.
	// A request that isn't supported closes its connection, as Kafka does.
	Supports func(listener string, key, version int16) bool
	// Place says where the handler may be given an API's requests. Nil means on workers.
	Place  func(listener string, key, version int16) Place
	Logger *slog.Logger
	Clock  clock.Clock
	// Loops is the number of event loops (num.network.threads); 0 means one a processor.
	Loops int
	// Listen opens the socket of a listener; nil means TCP. What isn't TCP is served without event loops.
	Listen func(address string) (net.Listener, error)
	// standIns says when event loops have a stand-in; defaultStandIns but in tests.
	standIns standInPolicy
}

func (c Config) withDefaults() (Config, error) {
	if c.Handler == nil || c.Supports == nil || c.Logger == nil || c.Clock == nil {
		return c, errors.New("wire: Handler, Supports, Logger and Clock must be set")
	}
	if c.standIns == (standInPolicy{}) {
		c.standIns = defaultStandIns
	}
	l := &c.Limits
	setDefault(&l.MaxRequestBytes, 100<<20)
	setDefault(&l.QueuedRequestBytes, DefaultQueuedRequestBytes)
	setDefault(&l.MaxIdle, 10*time.Minute)
	setDefault(&l.QueuedRequests, 16)
	setDefault(&l.PendingRequests, 64)
	setDefault(&l.QueuedReplyBytes, 64<<10)
	for i := range c.Listeners {
		ln := &c.Listeners[i]
		if ln.Transport == TransportLoop && ln.TLS != nil {
			return c, errors.New("wire: listener " + ln.Name + " can't serve TLS on event loops")
		}
	}
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
