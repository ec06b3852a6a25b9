package server

import (
	"context"
	"fmt"
	"math/rand/v2"
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
	if err := supported(b); err != nil {
		return err
	}
	if err := s.startSockets(b); err != nil {
		return err
	}
	var err error
	if s.logs, err = commitlog.Open(ctx, s.env.FS, s.env.Clock, s.logger, s.logManagerConfig(b)); err != nil {
		return err
	}
	s.replicas = replica.NewManager(replica.Config{
		NodeID: b.NodeID, Logs: s.logs, Clock: s.env.Clock, Logger: s.logger, Settings: s.topicSettings,
		MoveThreads: int(b.Logs.AlterLogDirsThreads), AssignDirs: s.assignDirs,
	})
	s.replicas.SetMoveRate(b.AlterLogDirsBytesPerSecond())
	if err := s.startController(ctx, b); err != nil {
		return err
	}
	if err := s.logs.SetClusterID(s.ClusterID()); err != nil {
		return err
	}
	endpoints := s.advertised(b)
	l, err := s.register(ctx, b, endpoints)
	if err != nil {
		return err
	}
	s.lifecycle.Store(l)
	l.hurry() // A directory may have failed since.
	s.logs.SetBrokerEpoch(l.epoch)
	s.replicas.SetAsideStrays()
	if s.env.MetricsAddress != "" {
		if s.metrics, err = startMetrics(s.env.MetricsAddress, &collector{s}); err != nil {
			return err
		}
	}
	s.replicas.Start()
	s.gate.opens(handlers.New(s.deps(b)))
	s.logger.Info("ready", "node_id", b.NodeID, "cluster_id", s.ClusterID(), "listeners", s.describe(endpoints),
		"took", s.env.Clock.Now().Sub(began).Round(time.Millisecond))
	return nil
}

// supported refuses what a later version will do, rather than doing half of it.
func supported(b *config.Broker) error {
	if !b.Roles.Broker || !b.Roles.Controller {
		return fmt.Errorf("process.roles: this version runs broker and controller in one process; set process.roles=broker,controller")
	}
	if len(b.Quorum.Voters) > 1 || len(b.Quorum.Voters) == 1 && b.Quorum.Voters[0].ID != b.NodeID {
		return fmt.Errorf("controller.quorum.voters: this version runs a quorum of one, this node")
	}
	return nil
}

// startSockets binds the listeners; requests are held back by the gate.
func (s *Server) startSockets(b *config.Broker) error {
	ls, err := listeners(b)
	if err != nil {
		return err
	}
	early := handlers.New(handlers.Deps{
		Logger: s.logger, Clock: s.env.Clock, NodeID: b.NodeID, Image: image.Empty, Configs: s.settings, Random: s.random.Uint64,
	})
	s.gate = newGate(early)
	s.wire, err = wire.NewServer(wire.Config{
		Listeners: ls, Limits: limits(b), Handler: s.gate, Supports: early.Supports, Logger: s.logger, Clock: s.env.Clock,
		Loops: loops(b),
	})
	if err != nil {
		return err
	}
	s.bound, err = s.wire.Start()
	return err
}

// loops is num.network.threads where it is set; one a processor where it isn't.
func loops(b *config.Broker) int {
	if b.IsSet("num.network.threads") {
		return int(b.Network.NumNetworkThreads)
	}
	return 0
}

// startController loads the metadata and lets every part follow it.
func (s *Server) startController(ctx context.Context, b *config.Broker) error {
	stores := s.env.Stores
	if stores == nil {
		stores = controller.DiskStores(b.MetadataLogDir, s.logger)
	}
	var directory image.ID
	for _, d := range s.logs.Dirs() {
		if d.Path == b.MetadataLogDir {
			directory = d.ID
		}
	}
	var err error
	s.controller, err = controller.New(controller.Config{
		NodeID: b.NodeID, Settings: b, ClusterID: s.logs.ClusterID(), Endpoint: s.controllerEndpoint(b), DirectoryID: directory,
		Stores: stores, Logger: s.logger, Clock: s.env.Clock, OnFatal: s.fail,
		Rand: rand.New(rand.NewPCG(s.random.Uint64(), s.random.Uint64())),
	})
	if err != nil {
		return err
	}
	s.groups = service.New(service.Config{
		NodeID: b.NodeID, Group: s.groupConfig(b), Shard: s.shardConfig(b, service.Topic), Partitions: b.Offsets.TopicPartitions,
		Image: s.controller.Image, OpenLog: s.openCoordinatorLog, CreateTopic: s.createOffsetsTopic, Logger: s.logger,
	})
	// In this order: settings before those who resolve them, replicas before those who append to them.
	s.controller.Subscribe(s.followSettings)
	s.controller.Subscribe(s.replicas.ApplyImage)
	s.controller.Subscribe(s.groups.ImageChanged)
	return s.controller.Start(ctx)
}

func (s *Server) deps(b *config.Broker) handlers.Deps {
	return handlers.Deps{
		Logger: s.logger, Clock: s.env.Clock, NodeID: b.NodeID, Image: s.controller.Image, Controller: s.controller,
		Replicas: s.replicas, Groups: s.groups, Configs: s.settings, Random: s.random.Uint64,
		LogLevel: s.env.LogLevel,
	}
}
