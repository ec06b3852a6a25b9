package service

import (
	"context"
	"log/slog"
	"unicode/utf16"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/coordinator/shard"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Topic is the internal topic of groups and their offsets.
const Topic = config.OffsetsTopic

// Config is what Groups needs. All fields are needed.
type Config struct {
	NodeID int32
	Group  group.Config
	Shard  shard.Config
	// Partitions is how many partitions the internal topic is created with (offsets.topic.num.partitions).
	Partitions int32
	// Image is the newest committed cluster metadata.
	Image func() *image.Image
	// OpenLog returns the log of a partition of the internal topic that this broker leads.
	OpenLog func(partition, leaderEpoch int32) (shard.Log, error)
	// CreateTopic makes the internal topic and returns once it is in Image. An existing one is no error.
	CreateTopic func(ctx context.Context) error
	Logger      *slog.Logger
}

// Groups is the group coordinator of this broker. All methods may be called from any goroutine.
type Groups struct {
	cfg    Config
	shards *shard.Directory
	// creating has room for one: who creates the internal topic, so that a crowd of new clients asks for
	// it once. Who waits gives up when its request ends.
	creating chan struct{}
}

// New returns a coordinator that leads nothing yet.
func New(cfg Config) *Groups {
	g := &Groups{cfg: cfg, creating: make(chan struct{}, 1)}
	g.shards = shard.NewDirectory(cfg.Shard, func(partition, leaderEpoch int32) (shard.Log, machine.Machine, error) {
		log, err := cfg.OpenLog(partition, leaderEpoch)
		return log, group.New(&g.cfg.Group), err
	})
	return g
}

// BecomeLeader starts to coordinate the groups of a partition of the internal topic.
func (g *Groups) BecomeLeader(partition, leaderEpoch int32) error {
	return g.shards.BecomeLeader(partition, leaderEpoch)
}

// Resign stops to coordinate the groups of a partition; newer leader epochs stay.
func (g *Groups) Resign(partition, leaderEpoch int32) { g.shards.Resign(partition, leaderEpoch) }

// ImageChanged follows the cluster's metadata: which partitions of the internal topic this broker
// leads, and which topics are gone. Called in order, after the replicas have followed.
func (g *Groups) ImageChanged(_, after *image.Image, delta *image.Delta) {
	var deleted []string
	for _, change := range delta.Topics {
		old, now := change.Old, change.New
		if old != nil && now == nil {
			deleted = append(deleted, old.Name)
		}
		if old != nil && old.Name == Topic || now != nil && now.Name == Topic {
			g.follow(old, now)
		}
	}
	if len(deleted) > 0 {
		g.shards.PostAll(&group.TopicsDeleted{Topics: deleted})
	}
}

// follow takes up and gives up shards as the leaders of the internal topic's partitions change.
func (g *Groups) follow(old, now *image.Topic) {
	if old != nil {
		for index, was := range old.Partitions() {
			is := partitionOf(now, index)
			if was.Leader == g.cfg.NodeID && (is == nil || is.Leader != g.cfg.NodeID) {
				g.Resign(index, was.LeaderEpoch)
			}
		}
	}
	if now == nil {
		return
	}
	for index, is := range now.Partitions() {
		was := partitionOf(old, index)
		if is.Leader != g.cfg.NodeID || was != nil && was.Leader == is.Leader && was.LeaderEpoch == is.LeaderEpoch {
			continue
		}
		if err := g.BecomeLeader(index, is.LeaderEpoch); err != nil {
			g.cfg.Logger.Error("Could not take over a coordinator shard.", "partition", index, "leaderEpoch", is.LeaderEpoch, "error", err)
		}
	}
}

func partitionOf(t *image.Topic, index int32) *image.Partition {
	if t == nil {
		return nil
	}
	return t.Partition(index)
}

// Close stops all shards and waits for them.
func (g *Groups) Close() { g.shards.Close() }

// Coordinator names the broker that leads the group's partition, creating the topic first if there
// is none. COORDINATOR_NOT_AVAILABLE if there is no such broker now.
func (g *Groups) Coordinator(ctx context.Context, id string) (int32, error) {
	if g.cfg.Image().Topic(Topic) == nil {
		if err := g.create(ctx); err != nil {
			return -1, kerror.Wrap(kerr.CoordinatorNotAvailable, err)
		}
	}
	m := g.cfg.Image()
	t := m.Topic(Topic)
	if t == nil {
		return -1, kerror.Wrap(kerr.CoordinatorNotAvailable, nil)
	}
	p := t.Partition(partitionFor(id, int32(t.NumPartitions())))
	if p == nil || p.Leader < 0 {
		return -1, kerror.Wrap(kerr.CoordinatorNotAvailable, nil)
	}
	return p.Leader, nil
}

func (g *Groups) create(ctx context.Context) error {
	select {
	case g.creating <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.creating }()
	if g.cfg.Image().Topic(Topic) != nil {
		return nil
	}
	return g.cfg.CreateTopic(ctx)
}

// partition is where a group lives.
func (g *Groups) partition(id string) int32 {
	n := g.cfg.Partitions
	if t := g.cfg.Image().Topic(Topic); t != nil {
		n = int32(t.NumPartitions())
	}
	return partitionFor(id, n)
}

// partitionFor is Kafka's: the absolute value of Java's String.hashCode, over UTF-16 units, modulo
// the number of partitions.
func partitionFor(id string, partitions int32) int32 {
	var h int32
	for _, unit := range utf16.Encode([]rune(id)) {
		h = 31*h + int32(unit)
	}
	if h < 0 {
		h = -h // stays negative for the smallest value, which Kafka takes as 0
	}
	return max(h, 0) % partitions
}
