// Package ottla runs a Kafka-compatible broker inside a Go process: the same server as the ottla
// command.
//
//	broker, err := ottla.Start(ctx, ottla.Config{Dir: t.TempDir()})
//	…
//	defer broker.Close(ctx)
//	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()))
package ottla

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/server"
	"github.com/ottla/ottla/internal/vfs"
)

// Config is how a broker is started. The zero value but for Dir is a single node on a free port of
// the loopback interface.
type Config struct {
	// Dir holds the broker's data; it is created if absent and found again by the next Start.
	Dir string
	// Properties are settings as in Kafka's server.properties; they win over everything here.
	Properties map[string]string
	// Logger takes the broker's log; nil drops it.
	Logger *slog.Logger
	// MetricsAddress is where /metrics is served over HTTP; empty means nowhere.
	MetricsAddress string
}

// Broker is a running broker.
type Broker struct{ s *server.Server }

// Start starts a broker and returns once it serves requests.
func Start(ctx context.Context, c Config) (*Broker, error) {
	properties := map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0"}
	if c.Dir != "" {
		properties["log.dirs"] = c.Dir
	}
	maps.Copy(properties, c.Properties)
	settings, _, err := config.Load(properties)
	if err != nil {
		return nil, err
	}
	logger := c.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s, err := server.Start(ctx, settings, server.Environment{
		FS: vfs.OS{}, Clock: clock.System{}, Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), Hostname: "localhost",
		MetricsAddress: c.MetricsAddress,
	}, logger)
	if err != nil {
		return nil, err
	}
	return &Broker{s}, nil
}

// Addr is the bootstrap address: host and port of the PLAINTEXT listener, empty if there is none.
func (b *Broker) Addr() string { return b.ListenerAddr("PLAINTEXT") }

// ListenerAddr is host and port of a listener by its name in capitals, empty if there is none.
func (b *Broker) ListenerAddr(name string) string {
	if a := b.s.Addr(name); a != nil {
		return a.String()
	}
	return ""
}

// MetricsAddr is the address that /metrics is served on, empty if it isn't.
func (b *Broker) MetricsAddr() string {
	if a := b.s.MetricsAddr(); a != nil {
		return a.String()
	}
	return ""
}

// ClusterID is the id of the broker's cluster.
func (b *Broker) ClusterID() string { return b.s.ClusterID() }

// Failed is closed when the broker can't go on, for instance because its disk failed; Err says why.
func (b *Broker) Failed() <-chan struct{} { return b.s.Failed() }

// Err is why the broker can't go on, once Failed is closed.
func (b *Broker) Err() error { return b.s.Err() }

// Close stops the broker in order; everything is on disk when it returns nil. ctx bounds how long
// requests in flight are waited for.
func (b *Broker) Close(ctx context.Context) error { return b.s.Close(ctx) }
