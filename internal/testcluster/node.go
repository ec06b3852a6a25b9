package testcluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/server"
	"github.com/ottla/ottla/internal/vfs"
)

// node is a machine with a disk and a clock that runs a broker and controller, one life after another. Its
// methods are called by the simulation's one director, unless they say otherwise.
type node struct {
	cluster *cluster
	id      int32
	name    string
	clock   nodeClock

	disk  *vfs.Mem
	raft  *raftDisk
	lives int
	life  *life

	// stop ends a start that is under way.
	stop context.CancelFunc
	// started is closed once the start has ended; server and err are its result.
	started chan struct{}
	server  *server.Server
	err     error
	// ended is closed once the former life is over in every respect; nil before the first.
	ended chan struct{}

	// up says that the node runs or starts.
	up bool
	// crashed says that the node died and isn't in sync again yet; forgot, that it may lack what it had.
	crashed, forgot bool
}

// startTimeout bounds a node's start; closeTimeout bounds how long a node's end may take.
const (
	startTimeout = 10 * time.Minute
	closeTimeout = 2 * time.Minute
)

func (n *node) settings() (*config.Broker, error) {
	voters := ""
	for _, other := range n.cluster.nodes {
		if voters != "" {
			voters += ","
		}
		voters += fmt.Sprintf("%d@%s:9093", other.id, other.name)
	}
	// The same in each of a node's lives, and on each node.
	rng := rand.New(rand.NewPCG(n.cluster.seed, 3))
	ms := func(least, most int) string { return strconv.Itoa(least + rng.IntN(most-least)) }
	b, _, err := config.Load(map[string]string{
		"process.roles": "broker,controller", "node.id": strconv.Itoa(int(n.id)),
		"listeners":                 fmt.Sprintf("PLAINTEXT://%s:9092,CONTROLLER://%s:9093", n.name, n.name),
		"controller.listener.names": "CONTROLLER", "controller.quorum.voters": voters,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                       "/data",
		"min.insync.replicas":            "2", "default.replication.factor": "3",
		"offsets.topic.replication.factor": "3", "offsets.topic.num.partitions": "1",
		"broker.session.timeout.ms": ms(1500, 4000), "broker.heartbeat.interval.ms": "500",
		"replica.lag.time.max.ms": ms(400, 3000), "replica.fetch.wait.max.ms": "200", "replica.socket.timeout.ms": "2000",
		"replica.high.watermark.checkpoint.interval.ms": "1000", "log.flush.offset.checkpoint.interval.ms": "3000",
		"log.index.size.max.bytes": "4096", "log.cleaner.enable": "false", "auto.create.topics.enable": "false",
		"controller.quorum.fetch.timeout.ms": "2000", "controller.quorum.request.timeout.ms": "2000",
	})
	return b, err
}

// start begins a life; it doesn't wait for it.
func (n *node) start() {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	n.lives++
	n.up, n.stop, n.started, n.server, n.err = true, cancel, make(chan struct{}), nil, nil
	l := &life{}
	n.life = l
	c := n.cluster
	c.events.add(n.name, "starts, life %d", n.lives)
	c.network.revive(n.name)
	settings, err := n.settings()
	if err != nil {
		c.violate("%s: %v", n.name, err)
		close(n.started)
		return
	}
	env := server.Environment{
		FS: lifeFS{n.disk, l}, Clock: &n.clock, Rand: rand.New(rand.NewPCG(c.seed, uint64(n.id)<<32|uint64(n.lives))), Stores: n.raft.stores,
		Hostname: n.name, Listen: c.network.listener(l), Dial: c.network.dialer(n.name, l),
	}
	started := n.started
	go func() {
		defer close(started)
		s, err := server.Start(ctx, settings, env, c.events.logger(n.name))
		n.server, n.err = s, err
		switch {
		case err == nil:
			c.events.add(n.name, "serves")
		case !l.dead.Load() && ctx.Err() == nil:
			c.violate("%s can't start: %v", n.name, err)
		}
	}()
}

// serving tells whether the node has started.
func (n *node) serving() bool {
	if !n.up {
		return false
	}
	select {
	case <-n.started:
		return n.server != nil
	default:
		return false
	}
}

// crash is how a node dies.
type crash int8

const (
	// killed: the process dies; what it wrote is kept by the system. Its connections are closed.
	killed crash = iota
	// powerLoss: the machine dies, and what wasn't synced is lost in part. Nobody is told.
	powerLoss
	// wiped: as powerLoss, and the disk is replaced by an empty one.
	wiped
)

// crash ends a life at once.
func (n *node) crash(how crash, rng *rand.Rand) {
	n.life.dead.Store(true)
	n.cluster.network.kill(n.name, how != killed)
	n.up, n.crashed = false, true
	time.Sleep(time.Nanosecond) // Calls of the file system that have begun are done then.
	old := n.disk
	switch how {
	case killed:
		n.raft = n.raft.clone()
	case powerLoss:
		n.disk, n.raft, n.forgot = old.AfterCrash(rng), n.raft.clone(), true
	case wiped:
		n.disk, n.raft, n.forgot = vfs.NewMem(), newRaftDisk(), true
	}
	n.bury(true)
}

// shutdown stops a node in order and waits for it.
func (n *node) shutdown() {
	n.up = false
	n.bury(false)
	<-n.ended
	n.cluster.events.add(n.name, "has stopped")
	n.cluster.network.kill(n.name, false)
}

// bury ends what runs of a life, without waiting for it.
func (n *node) bury(dead bool) {
	ended := make(chan struct{})
	n.ended = ended
	started, stop, c := n.started, n.stop, n.cluster
	if dead {
		stop()
	}
	go func() {
		defer close(ended)
		<-started
		defer stop()
		if n.server == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if dead {
			cancel()
		}
		began := time.Now()
		err := n.server.Close(ctx)
		if took := time.Since(began); took > closeTimeout {
			c.violate("%s took %v to close", n.name, took)
		}
		if err != nil && !dead {
			c.events.add(n.name, "closes with an error: %v", err)
		}
	}()
}
