package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"sort"
	"strings"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/wire"
)

// securityProtocols are Kafka's numbers of the protocols.
var securityProtocols = map[string]int16{config.Plaintext: 0, config.SSL: 1, config.SASLPlaintext: 2, config.SASLSSL: 3}

// listeners turns the configured listeners into the transport's; secure makes the TLS configuration of one.
func listeners(b *config.Broker, secure func(listener string) (*tls.Config, error)) ([]wire.Listener, error) {
	var out []wire.Listener
	// Kafka counts the controller's connections apart: a broker's only listener is protected from no other.
	brokerListeners := 0
	for _, e := range b.Endpoints.Listeners {
		if !b.Endpoints.IsController(e.Name) {
			brokerListeners++
		}
	}
	for _, e := range b.Endpoints.Listeners {
		var encryption *tls.Config
		switch e.SecurityProtocol {
		case config.Plaintext:
		case config.SSL:
			var err error
			if encryption, err = secure(e.Name); err != nil {
				return nil, err
			}
		default:
			return nil, notServed("listeners", e.Name, e.SecurityProtocol)
		}
		role := wire.RoleBroker
		if b.Endpoints.IsController(e.Name) {
			role = wire.RoleController
		}
		out = append(out, wire.Listener{
			Name: e.Name, SecurityProtocol: e.SecurityProtocol, Address: e.Address(), Role: role, TLS: encryption,
			Protected: role == wire.RoleController || e.Name == b.Endpoints.InterBroker && brokerListeners > 1,
		})
	}
	return out, nil
}

// notServed is the error for a listener's protocol.
func notServed(key, listener, protocol string) error {
	return fmt.Errorf("%s: %s uses %s, which this version doesn't serve; only PLAINTEXT and SSL are", key, listener, protocol)
}

func limits(b *config.Broker) wire.Limits {
	n := &b.Network
	l := wire.Limits{
		MaxRequestBytes: int(n.SocketRequestMaxBytes),
		MaxIdle:         time.Duration(n.ConnectionsMaxIdleMs) * time.Millisecond,
		Connections:     connectionLimits(n),
	}
	// Kafka's default of 50 is lower than the system's.
	if b.IsSet("socket.listen.backlog.size") {
		l.ListenBacklog = int(n.SocketListenBacklog)
	}
	// Kafka's default of 100 KiB is left to the system, which grows buffers as a connection needs.
	if b.IsSet("socket.send.buffer.bytes") {
		l.SendBufferBytes = int(n.SocketSendBufferBytes)
	}
	if b.IsSet("socket.receive.buffer.bytes") {
		l.ReceiveBufferBytes = int(n.SocketReceiveBufferBytes)
	}
	if n.QueuedMaxRequestBytes > 0 {
		l.QueuedRequestBytes = n.QueuedMaxRequestBytes
	}
	return l
}

// connectionLimits is what may be changed while the broker runs.
func connectionLimits(n *config.Network) wire.ConnectionLimits {
	l := wire.ConnectionLimits{
		Max: int(n.MaxConnections), PerIP: int(n.MaxConnectionsPerIP),
		PerIPOverrides: make(map[netip.Addr]int, len(n.MaxConnectionsPerIPByHost)),
		PerListener:    make(map[string]int, len(n.MaxConnectionsByListener)),
	}
	for name, most := range n.MaxConnectionsByListener {
		l.PerListener[name] = int(most)
	}
	if l.PerIP == 0 {
		l.PerIP = -1 // Kafka's 0 refuses everyone without an override.
	}
	for host, most := range n.MaxConnectionsPerIPByHost {
		if addr, err := netip.ParseAddr(host); err == nil {
			l.PerIPOverrides[addr] = int(most)
			continue
		}
		if addrs, err := net.LookupHost(host); err == nil {
			for _, a := range addrs {
				if addr, err := netip.ParseAddr(a); err == nil {
					l.PerIPOverrides[addr] = int(most)
				}
			}
		}
	}
	return l
}

// hasControllerListener tells whether other nodes can reach this node's controller.
func (s *Server) hasControllerListener(b *config.Broker) bool {
	for _, e := range b.Endpoints.Listeners {
		if b.Endpoints.IsController(e.Name) {
			return true
		}
	}
	return false
}

// controllerEndpoint is where this node's controller is reached: its controller listener, or, without
// one, the first listener.
func (s *Server) controllerEndpoint(b *config.Broker) image.Endpoint {
	for _, e := range b.Endpoints.Listeners {
		if !b.Endpoints.IsController(e.Name) {
			continue
		}
		out := image.Endpoint{Name: e.Name, Host: e.Host, Port: uint16(e.Port), SecurityProtocol: securityProtocols[e.SecurityProtocol]}
		if e.Wildcard() {
			out.Host = s.env.Hostname
		}
		if tcp, ok := s.Addr(e.Name).(*net.TCPAddr); ok {
			out.Port = uint16(tcp.Port)
		}
		return out
	}
	if all := s.advertised(b); len(all) > 0 {
		return all[0]
	}
	return image.Endpoint{}
}

// advertised is what this broker tells others of its listeners, with ports that the system chose
// filled in.
func (s *Server) advertised(b *config.Broker) []image.Endpoint {
	var out []image.Endpoint
	for _, a := range b.Endpoints.Advertised {
		host, port := a.Host, a.Port
		if a.Auto {
			host = s.env.Hostname
		}
		if tcp, ok := s.Addr(a.Name).(*net.TCPAddr); ok && port == 0 {
			port = int32(tcp.Port)
		}
		out = append(out, image.Endpoint{Name: a.Name, Host: host, Port: uint16(port), SecurityProtocol: securityProtocols[a.SecurityProtocol]})
	}
	return out
}

// describe names every listener with its address and what clients are told, for the ready line.
func (s *Server) describe(endpoints []image.Endpoint) string {
	told := map[string]string{}
	for _, e := range endpoints {
		told[e.Name] = fmt.Sprintf("%s:%d", e.Host, e.Port)
	}
	var parts []string
	for _, b := range s.bound {
		part := b.Name + "://" + b.Addr.String()
		if a := told[b.Name]; a != "" {
			part += " (advertised as " + a + ")"
		}
		parts = append(parts, part)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
