package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/service"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// Environment is what a node takes from the machine; tests replace it.
type Environment struct {
	FS    vfs.FS
	Clock clock.Clock
	// Rand is the source of ids and placements; used under a lock of the server's own.
	Rand *rand.Rand
	// Stores keeps the metadata log; nil keeps it on disk in metadata.log.dir.
	Stores controller.StoreFactory
	// Hostname is told to clients where no address is configured for a listener bound to all.
	Hostname string
	// LogLevel is the level of the logger, for kafka-configs to change (KIP-412); nil if it is fixed.
	LogLevel *slog.LevelVar
	// Listen opens the sockets of listeners, Dial connects to other nodes; nil means TCP.
	Listen func(address string) (net.Listener, error)
	Dial   func(ctx context.Context, address string) (net.Conn, error)
	// Processors is how many processors the node may use; 0 means what Go was told.
	Processors int
	// MetricsAddress is where /metrics is served over HTTP; empty means nowhere.
	MetricsAddress string
}

// Server is a running node.
type Server struct {
	settings *config.Store
	env      Environment
	logger   *slog.Logger
	random   *lockedRand
	codecs   *batch.Codecs

	// gate holds back clients' requests, controllerGate those of other nodes to this node's controller.
	gate           *gate
	controllerGate *gate

	wire  *wire.Server
	bound []wire.Bound
	logs  *commitlog.Manager
	// metadataDir is set where metadata.log.dir isn't one of the log directories.
	metadataDir *commitlog.MetadataDir
	replicas    *replica.Manager
	groups      *service.Groups
	controller  *controller.Controller
	// diverted is controller once it takes connections over.
	diverted  atomic.Pointer[controller.Controller]
	forwarder *forwarder
	peers     *peers
	// encryption is the TLS of listeners, and of connections to other nodes.
	encryption *encryption
	metrics    *metricsPage
	// lifecycle is nil until this broker is registered.
	lifecycle atomic.Pointer[lifecycle]

	// failedDirs counts the log directories that went offline; each does so once.
	failedDirs atomic.Int32

	failed   chan struct{}
	failOnce sync.Once
	err      error
}

// Start starts a node and returns once it serves. After an error nothing is left running.
func Start(ctx context.Context, settings *config.Broker, env Environment, logger *slog.Logger) (*Server, error) {
	s := &Server{
		settings: config.NewStore(settings), env: env, logger: logger, random: &lockedRand{r: env.Rand},
		codecs: batch.NewCodecs(), failed: make(chan struct{}),
	}
	s.encryption = newEncryption(&s.env, logger)
	if err := s.start(ctx); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		return nil, errors.Join(err, s.Close(stop))
	}
	return s, nil
}

// abortTimeout bounds the closing of a node whose start failed.
const abortTimeout = 10 * time.Second

// Failed is closed when the node can't go on; Err says why.
func (s *Server) Failed() <-chan struct{} { return s.failed }

// Err is why the node can't go on, once Failed is closed.
func (s *Server) Err() error { return s.err }

func (s *Server) fail(err error) {
	s.failOnce.Do(func() {
		s.err = err
		close(s.failed)
	})
}

// Addr is the address that a listener is bound to; nil if there is no such listener.
func (s *Server) Addr(listener string) net.Addr {
	for _, b := range s.bound {
		if b.Name == listener {
			return b.Addr
		}
	}
	return nil
}

// MetricsAddr is the address that /metrics is served on; nil if it isn't.
func (s *Server) MetricsAddr() net.Addr {
	if s.metrics == nil {
		return nil
	}
	return s.metrics.listener.Addr()
}

// ClusterID is the id of the cluster that the node belongs to.
func (s *Server) ClusterID() string { return s.controller.Image().ClusterID() }

// Image is the newest metadata that the node has. Requires: Start has returned.
func (s *Server) Image() *image.Image { return s.controller.Image() }

// Close stops the node in order: leadership, coordinators, replicas, sockets, metadata, logs. The clean
// shutdown markers are written last. Close may be called on a node that was started in part.
func (s *Server) Close(ctx context.Context) error {
	var errs []error
	note := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	if l := s.lifecycle.Load(); l != nil {
		note("controlled shutdown", l.stop(ctx))
	}
	if s.metrics != nil {
		note("metrics", s.metrics.stop(ctx))
	}
	s.gate.close()
	// Parked joins and fetches are answered, with an error that sends their clients elsewhere, before
	// the sockets close.
	if s.groups != nil {
		s.groups.Close()
	}
	if s.replicas != nil {
		s.replicas.Close()
	}
	if s.peers != nil {
		s.peers.close()
	}
	s.controllerGate.close()
	if s.wire != nil {
		note("sockets", s.wire.Shutdown(ctx))
	}
	if s.controller != nil {
		note("controller", s.controller.Close())
	}
	if s.forwarder != nil {
		note("connections to controllers", s.forwarder.close())
	}
	if s.logs != nil {
		note("logs", s.logs.Close())
	}
	if s.metadataDir != nil {
		note("metadata directory", s.metadataDir.Close())
	}
	return errors.Join(errs...)
}

// Run runs a node until ctx ends, then stops it. It returns nil after an orderly stop.
func Run(ctx context.Context, settings *config.Broker, env Environment, logger *slog.Logger) error {
	s, err := Start(ctx, settings, env, logger)
	if err != nil && ctx.Err() != nil {
		logger.Info("stopped while starting", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		logger.Info("stopping")
	case <-s.failed:
		logger.Error("can't go on", "error", s.err)
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	return errors.Join(s.err, s.Close(stop))
}

// shutdownTimeout bounds an orderly stop; what isn't done by then is recovered at the next start.
const shutdownTimeout = 30 * time.Second

// lockedRand shares one random source between goroutines.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (l *lockedRand) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Uint64()
}

func (s *Server) newUUID() [16]byte { return uuid.New(s.random.Uint64) }
