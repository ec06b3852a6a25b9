package config

import (
	"net"
	"strings"
)

// Security protocols of a listener.
const (
	Plaintext     = "PLAINTEXT"
	SSL           = "SSL"
	SASLPlaintext = "SASL_PLAINTEXT"
	SASLSSL       = "SASL_SSL"
)

// Endpoint is one entry of listeners or advertised.listeners.
type Endpoint struct {
	// Name is the listener's name, in capitals.
	Name             string
	SecurityProtocol string
	// Host is empty where it binds to every address.
	Host string
	// Port is 0 where the system chooses one.
	Port int32
}

// Address is host:port as net.Listen takes it.
func (e Endpoint) Address() string {
	return HostPort{Host: e.Host, Port: e.Port}.String()
}

// String is NAME://host:port.
func (e Endpoint) String() string { return e.Name + "://" + e.Address() }

// Wildcard tells whether the endpoint binds to every address.
func (e Endpoint) Wildcard() bool {
	ip := net.ParseIP(e.Host)
	return e.Host == "" || ip != nil && ip.IsUnspecified()
}

// Endpoints is the listeners of a node.
type Endpoints struct {
	// Listeners is what is bound, without those that only name a controller elsewhere.
	Listeners []Endpoint
	// Advertised is what clients are told, one for each listener that clients may use and in the order
	// of advertised.listeners. Host is empty where Auto.
	Advertised []Advertised
	// InterBroker is the name of the listener that brokers use among themselves.
	InterBroker string
	// InterBrokerProtocol is the security protocol of that listener.
	InterBrokerProtocol string
	// Controllers is controller.listener.names.
	Controllers []string
	// ControllerProtocol is the security protocol by which this node reaches controllers: that of the first of
	// Controllers, PLAINTEXT where there is none.
	ControllerProtocol string
}

// unreachable warns of listeners that accept connections from everywhere and then send their clients to the
// clients' own machine.
func (e *Endpoints) unreachable() (warnings []string) {
	for _, a := range e.Advertised {
		ip := net.ParseIP(a.Host)
		loopback := strings.EqualFold(a.Host, "localhost") || ip != nil && ip.IsLoopback()
		for _, b := range e.Listeners {
			if loopback && b.Name == a.Name && b.Wildcard() {
				warnings = append(warnings, "listener "+a.Name+" is bound to all addresses but advertised as "+a.Address()+
					": only clients on this machine will reach it; set advertised.listeners, or leave it out to advertise the address that each client uses")
			}
		}
	}
	return warnings
}

// Advertised is one entry of advertised.listeners.
type Advertised struct {
	Endpoint
	// Auto is set where nothing was configured for a listener that is bound to every address: a client
	// is told the address that it has connected to, others the host's name.
	Auto bool
}

// IsController tells whether the listener is one of controller.listener.names.
func (e *Endpoints) IsController(name string) bool {
	for _, c := range e.Controllers {
		if c == name {
			return true
		}
	}
	return false
}
