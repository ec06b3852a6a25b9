package server

import (
	"net/netip"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/wire"
)

// TestNetworkSettings translates the settings of the network to those of wire: what isn't set is left to
// wire where Kafka's default is worse, and what is set counts.
func TestNetworkSettings(t *testing.T) {
	load := func(static map[string]string) *config.Broker {
		b, _, err := config.Load(static)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := load(config.ZeroConfig())
	l := limits(b)
	if l.SendBufferBytes != 0 || l.ReceiveBufferBytes != 0 || l.ListenBacklog != 0 || l.QueuedRequestBytes != 0 || loops(b) != 0 {
		t.Errorf("nothing is set: %+v, %d loops", l, loops(b))
	}
	if l.MaxRequestBytes != 100<<20 || l.MaxIdle != 10*time.Minute {
		t.Errorf("Kafka's defaults: %+v", l)
	}
	b = load(map[string]string{
		"listeners": "PLAINTEXT://localhost:9092,In://localhost:9093", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT",
		"socket.send.buffer.bytes": "1000", "socket.receive.buffer.bytes": "2000", "socket.listen.backlog.size": "7",
		"socket.request.max.bytes": "3000", "queued.max.request.bytes": "4000", "num.network.threads": "5",
		"connections.max.idle.ms": "6000", "max.connections": "8", "max.connections.per.ip": "0",
		"max.connections.per.ip.overrides": "192.0.2.1:9", "listener.name.in.max.connections": "10",
	})
	l = limits(b)
	if l.SendBufferBytes != 1000 || l.ReceiveBufferBytes != 2000 || l.ListenBacklog != 7 || l.MaxRequestBytes != 3000 ||
		l.QueuedRequestBytes != 4000 || loops(b) != 5 || l.MaxIdle != 6*time.Second {
		t.Errorf("%+v, %d loops", l, loops(b))
	}
	want := wire.ConnectionLimits{Max: 8, PerIP: -1}
	c := l.Connections
	if c.Max != want.Max || c.PerIP != want.PerIP || c.PerIPOverrides[netip.MustParseAddr("192.0.2.1")] != 9 || c.PerListener["IN"] != 10 {
		t.Errorf("%+v", c)
	}
}

// TestSecurityProtocols refuses a listener whose protocol isn't served, rather than serve it in the clear.
func TestSecurityProtocols(t *testing.T) {
	for _, protocol := range []string{"SASL_PLAINTEXT", "SASL_SSL"} {
		b, _, err := config.Load(map[string]string{"listeners": protocol + "://localhost:9093", "security.inter.broker.protocol": protocol})
		if err != nil {
			t.Fatal(err)
		}
		want := "listeners: " + protocol + " uses " + protocol + ", which this version doesn't serve; only PLAINTEXT and SSL are"
		if ls, err := listeners(b, nil); err == nil || err.Error() != want {
			t.Errorf("%+v, %v", ls, err)
		}
	}
}
