package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/tlsconfig"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/wire"
)

// encryption is the TLS of a node: of its SSL listeners, and of its connections to other nodes' SSL listeners. All of
// it follows the dynamic settings; connections that exist go on as they are.
type encryption struct {
	source tlsconfig.Source
	logger *slog.Logger
	// listeners is by listener's name; fixed once the sockets are open.
	listeners map[string]*tlsconfig.Reloadable
	// brokers and controllers are for connections to them; they hold nil where those are plaintext.
	brokers, controllers atomic.Pointer[tls.Config]
}

// maxStoreBytes bounds what is read of a keystore or truststore; they have some thousand bytes.
const maxStoreBytes = 64 << 20

func newEncryption(env *Environment, logger *slog.Logger) *encryption {
	return &encryption{
		source:    tlsconfig.Source{ReadFile: func(name string) ([]byte, error) { return vfs.ReadFile(env.FS, name, maxStoreBytes) }, Now: env.Clock.Now},
		logger:    logger,
		listeners: map[string]*tlsconfig.Reloadable{},
	}
}

// listener makes the configuration of a listener.
func (e *encryption) listener(b *config.Broker, name string) (*tls.Config, error) {
	built, err := e.source.Server(b.Listener(name))
	if err != nil {
		return nil, err
	}
	e.warn(name, built.Warnings)
	r := tlsconfig.NewReloadable(built.Config)
	e.listeners[name] = r
	return r.Config(), nil
}

// clients makes the configurations of connections to other nodes.
func (e *encryption) clients(b *config.Broker) error {
	for _, c := range []struct {
		key, listener, protocol string
		place                   *atomic.Pointer[tls.Config]
	}{
		{"inter.broker.listener.name", b.Endpoints.InterBroker, b.Endpoints.InterBrokerProtocol, &e.brokers},
		{"controller.listener.names", firstOf(b.Endpoints.Controllers), b.Endpoints.ControllerProtocol, &e.controllers},
	} {
		switch {
		case c.protocol == config.Plaintext, c.place == &e.brokers && !b.Roles.Broker:
			continue
		case c.protocol != config.SSL:
			return notServed(c.key, c.listener, c.protocol)
		}
		built, err := e.source.Client(b.Listener(c.listener))
		if err != nil {
			return err
		}
		if e.listeners[c.listener] == nil { // The listener of that name has said it already.
			e.warn(c.listener, built.Warnings)
		}
		c.place.Store(built.Config)
	}
	return nil
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func (e *encryption) warn(listener string, sentences []string) {
	for _, s := range sentences {
		e.logger.Warn(s, "listener", listener)
	}
}

// reload takes new settings, and what the files hold now. What can't be loaded leaves the one before in force.
func (e *encryption) reload(b *config.Broker) {
	for name, r := range e.listeners {
		built, err := e.source.Server(b.Listener(name))
		if err != nil {
			e.logger.Error("an SSL listener keeps its former settings", "err", err)
			continue
		}
		r.Store(built.Config)
	}
	if err := e.clients(b); err != nil {
		e.logger.Error("connections to other nodes keep their former SSL settings", "err", err)
	}
}

// network is how other nodes' controllers are reached; dial connects, nil means TCP.
func (e *encryption) network(dial func(ctx context.Context, address string) (net.Conn, error)) controller.Network {
	if dial == nil {
		dial = controller.TCP{}.Dial
	}
	return dialNetwork(func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dial(ctx, address)
		if config := e.controllers.Load(); err == nil && config != nil {
			return wire.Handshake(ctx, conn, config, address)
		}
		return conn, err
	})
}
