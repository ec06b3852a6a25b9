package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"time"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/service"
	"github.com/ottla/ottla/handlers"
	"github.com/ottla/ottla/internal/config"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

func (s *Server) start(ctx context.Context) error {
	began := s.env.Clock.Now()
	b := s.settings.Broker()
	if err := s.startSockets(b); err != nil {
		return err
	}
	var err error
	if s.logs, err = commitlog.Open(ctx, s.env.FS, s.env.Clock, s.logger, s.logManagerConfig(b)); err != nil {
		return err
	}
	if err := s.newController(b); err != nil {
		return err
	}
	if b.Roles.Broker {
		s.newBroker(b)
	}
	if err := s.startController(ctx); err != nil {
		return err
	}
	if err := s.logs.SetClusterID(s.ClusterID()); err != nil {
		return err
	}
	if s.metadataDir != nil {
		if err := s.metadataDir.SetClusterID(s.ClusterID()); err != nil {
			return err
		}
	}
	endpoints := s.advertised(b)
	if b.Roles.Broker {
		l, err := s.register(ctx, b, endpoints)
		if err != nil {
			return err
		}
		s.lifecycle.Store(l)
		l.hurry() // A directory may have failed since.
		s.logs.SetBrokerEpoch(l.epoch)
		s.replicas.SetAsideStrays()
	}
	if s.env.MetricsAddress != "" {
		if s.metrics, err = startMetrics(s.env.MetricsAddress, &collector{s}); err != nil {
			return err
		}
	}
	if b.Roles.Broker {
		s.replicas.Start()
		s.gate.opens(handlers.New(s.deps()))
	}
	s.logger.Info("ready", "node_id", b.NodeID, "cluster_id", s.ClusterID(), "listeners", s.describe(endpoints),
		"took", s.env.Clock.Now().Sub(began).Round(time.Millisecond))
	return nil
}

// startSockets binds the listeners; requests are held back by the gates.
func (s *Server) startSockets(b *config.Broker) error {
	ls, err := listeners(b, func(name string) (*tls.Config, error) { return s.encryption.listener(b, name) })
	if err != nil {
		return err
	}
	if err := s.encryption.clients(b); err != nil {
		return err
	}
	for i := range ls {
		if ls[i].Role == wire.RoleController {
			ls[i].Divert = s.divert
		}
	}
	deps := handlers.Deps{
		Logger: s.logger, Clock: s.env.Clock, NodeID: b.NodeID, Image: image.Empty, Configs: s.settings, Random: s.random.Uint64,
	}
	clients, nodes := handlers.New(deps), handlers.NewController(deps, nil)
	s.gate, s.controllerGate = newGate(clients), newGate(nodes)
	s.wire, err = wire.NewServer(wire.Config{
		Listeners: ls, Limits: limits(b), Logger: s.logger, Clock: s.env.Clock, Loops: cmp.Or(loops(b), s.env.Processors), Listen: s.env.Listen,
		Handler: &byListener{endpoints: &b.Endpoints, broker: s.gate, controller: s.controllerGate},
		Supports: func(listener string, key, version int16) bool {
			if b.Endpoints.IsController(listener) {
				return nodes.Supports(listener, key, version)
			}
			return clients.Supports(listener, key, version)
		},
		Place: func(listener string, key, _ int16) wire.Place {
			if place := clients.Place(key); place != wire.OnWorker && !b.Endpoints.IsController(listener) && s.gate.isOpen() {
				return place
			}
			return wire.OnWorker
		},
	})
	if err != nil {
		return err
	}
	s.bound, err = s.wire.Start()
	return err
}

// byListener hands requests to the role that their listener is for.
type byListener struct {
	endpoints          *config.Endpoints
	broker, controller wire.Handler
}

// ServeRequest implements wire.Handler.
func (l *byListener) ServeRequest(r *wire.Request) {
	if l.endpoints.IsController(r.Session.Listener) {
		l.controller.ServeRequest(r)
		return
	}
	l.broker.ServeRequest(r)
}

// divert hands connections of other controllers over. Before there is a controller they are closed: the other
// side comes again.
func (s *Server) divert(first []byte, c net.Conn) bool {
	if !controller.IsStream(first) {
		return false
	}
	if at := s.diverted.Load(); at != nil {
		return at.Divert(first, c)
	}
	_ = c.Close() // Nothing was said yet.
	return true
}

// loops is num.network.threads where it is set; one a processor where it isn't.
func loops(b *config.Broker) int {
	if b.IsSet("num.network.threads") {
		return int(b.Network.NumNetworkThreads)
	}
	return 0
}

// newController makes this node's part of the metadata quorum, and lets other nodes reach it.
func (s *Server) newController(b *config.Broker) error {
	var err error
	stores := s.env.Stores
	if stores == nil {
		stores = controller.DiskStores(b.MetadataLogDir, s.logger)
	}
	cfg := controller.Config{
		NodeID: b.NodeID, Settings: b, ClusterID: s.logs.ClusterID(), Voters: b.Quorum.Voters, Bootstrap: b.Quorum.BootstrapServers,
		Endpoint: s.controllerEndpoint(b), Stores: stores, Logger: s.logger, Clock: s.env.Clock, OnFatal: s.fail,
		Rand: rand.New(rand.NewPCG(s.random.Uint64(), s.random.Uint64())),
	}
	if !b.Roles.Controller {
		cfg.Role = controller.RoleBroker
	}
	if cfg.DirectoryID, err = s.metadataDirectory(b); err != nil {
		return err
	}
	if cfg.Role == controller.RoleBroker || s.hasControllerListener(b) {
		s.forwarder = newForwarder(s.env.Clock, b.NodeID, milliseconds(b.Quorum.RequestTimeoutMs), s.env.Dial, &s.encryption.controllers)
		cfg.Forwarder, cfg.Network = s.forwarder, s.encryption.network(s.env.Dial)
	}
	if s.controller, err = controller.New(cfg); err != nil {
		return err
	}
	s.diverted.Store(s.controller)
	s.controllerGate.opens(handlers.NewController(s.deps(), s.controller))
	return nil
}

// metadataDirectory is the id of the directory that holds the metadata: one of the log directories, or one of its own.
func (s *Server) metadataDirectory(b *config.Broker) (id [16]byte, err error) {
	for _, d := range s.logs.Dirs() {
		if filepath.Clean(d.Path) == filepath.Clean(b.MetadataLogDir) {
			return d.ID, nil
		}
	}
	s.metadataDir, err = commitlog.OpenMetadataDir(s.env.FS, s.env.Clock, s.logger, b.MetadataLogDir, b.NodeID, s.logs.ClusterID(), s.newUUID)
	if err != nil {
		return id, err
	}
	return s.metadataDir.ID(), nil
}

// dialNetwork is controller.Network over a function.
type dialNetwork func(ctx context.Context, address string) (net.Conn, error)

// Dial implements controller.Network.
func (d dialNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	return d(ctx, address)
}

// newBroker makes what a broker consists of; all of it follows the metadata.
func (s *Server) newBroker(b *config.Broker) {
	s.peers = &peers{
		image: s.controller.Image, listener: b.Endpoints.InterBroker,
		conns: newConnections[peerKey](wire.ClientConfig{
			ClientID: fmt.Sprintf("broker-%d", b.NodeID), Clock: s.env.Clock, Timeout: milliseconds(b.Replication.SocketTimeoutMs), Dial: s.env.Dial,
			ReuseFetches: true, // Each fetcher has a connection of its own, and one fetch at a time.
		}, &s.encryption.brokers, errPeersClosed),
	}
	s.replicas = replica.NewManager(replica.Config{
		NodeID: b.NodeID, IncarnationID: s.controller.Incarnation(), Logs: s.logs, Clock: s.env.Clock, Logger: s.logger,
		Settings: s.topicSettings, Replication: replication(b), Peers: s.peers, ISRChanges: isrChanges{s.controller},
		MoveThreads: int(b.Logs.AlterLogDirsThreads), AssignDirs: s.assignDirs,
	})
	s.replicas.SetMoveRate(b.AlterLogDirsBytesPerSecond())
	if class := b.Replication.SelectorClass; class != "" && class != config.RackAwareSelector {
		s.logger.Warn("replica.selector.class is unknown: consumers read from leaders", "class", class)
	}
	s.replicas.SetThrottles(b.Replication.LeaderThrottledRate, b.Replication.FollowerThrottledRate)
	s.groups = service.New(service.Config{
		NodeID: b.NodeID, Group: s.groupConfig(b), Shard: s.shardConfig(b, service.Topic), Partitions: b.Offsets.TopicPartitions,
		Image: s.controller.Image, OpenLog: s.openCoordinatorLog, CreateTopic: s.createOffsetsTopic, Logger: s.logger,
	})
	// In this order: settings before those who resolve them, replicas before those who append to them.
	s.controller.Subscribe(s.followSettings)
	s.controller.Subscribe(s.replicas.ApplyImage)
	s.controller.Subscribe(s.present(s.groups.ImageChanged))
}

// quorumPatience is how long a start waits for the metadata quorum before it says so.
const quorumPatience = 3 * time.Second

// startController returns once the metadata is there.
func (s *Server) startController(ctx context.Context) error {
	waiting := s.env.Clock.AfterFunc(quorumPatience, func() {
		s.logger.Info("waiting for the metadata quorum: a majority of the controllers must be up and reach each other")
	})
	defer waiting.Stop()
	return s.controller.Start(ctx)
}

func (s *Server) deps() handlers.Deps {
	d := handlers.Deps{
		Logger: s.logger, Clock: s.env.Clock, NodeID: s.settings.Broker().NodeID, Image: s.controller.Image, Controller: s.controller,
		Configs: s.settings, Random: s.random.Uint64, LogLevel: s.env.LogLevel,
	}
	if s.replicas != nil {
		d.Replicas, d.Groups = s.replicas, s.groups
	}
	return d
}
