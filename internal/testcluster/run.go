package testcluster

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/ottla/ottla/log/batch"
)

// Options say what to run.
type Options struct {
	Seed uint64
	// LogLevel is from which level on the nodes' own log lines are kept.
	LogLevel slog.Level
}

// Result is what came of a run.
type Result struct {
	Seed uint64
	// Violations are the rules that were broken; none if all is well.
	Violations []string
	// Acked is how many records were acknowledged, Read how many were read.
	Acked, Read int
	// Faults counts the nemesis's deeds by kind.
	Faults map[string]int
	// Took is the simulated time.
	Took   time.Duration
	events *events
}

// Log is what happened, a line an event.
func (r *Result) Log() string { return r.events.String() }

const (
	// trouble is how long the nemesis works, at most.
	trouble = 20 * time.Second
	// healing bounds the time in which a cluster without trouble must be whole again.
	healing = 90 * time.Second
	// afterwards is how long clients go on in the whole cluster, and must have succeeded in.
	afterwards = 2 * time.Second
)

// Run makes one run. It must be called in a bubble of testing/synctest, and leaves nothing running in it.
func Run(o Options) *Result {
	c := newCluster(o.Seed, 3, o.LogLevel)
	s := &simulation{cluster: c, history: newHistory(), rng: rand.New(rand.NewPCG(o.Seed, 1)), codecs: batch.NewCodecs()}
	s.nemesis = &nemesis{cluster: c, rng: rand.New(rand.NewPCG(o.Seed, 2)), count: map[string]int{}}
	s.run()
	for _, n := range c.nodes {
		if n.up {
			n.up = false
			n.bury(false)
		}
	}
	for _, n := range c.nodes {
		if n.ended != nil {
			<-n.ended
		}
	}
	return &Result{Seed: o.Seed, Violations: c.violations, Acked: len(s.history.acks), Read: len(s.history.reads), Faults: s.nemesis.count,
		Took: time.Since(c.events.start), events: c.events}
}

// simulation is one run.
type simulation struct {
	cluster    *cluster
	history    *history
	rng        *rand.Rand
	codecs     *batch.Codecs
	nemesis    *nemesis
	partitions int32
	producers  []*producer
	consumers  []*consumer
	committer  *committer
}

func (s *simulation) run() {
	c := s.cluster
	c.network.setWeather(calm)
	for _, n := range c.nodes {
		n.start()
	}
	if !await(healing, func() bool { return c.lacks() == "" }) {
		c.violate("the cluster doesn't come up: %s", c.lacks())
		return
	}
	s.partitions = 1 + s.rng.Int32N(2)
	admin := newClient(c, s.history, "admin")
	defer admin.close()
	if err := admin.createTopic(s.partitions); err != nil {
		c.violate("%v", err)
		return
	}
	s.makeClients()
	// Made by a part of the cluster, the group's topic would have fewer replicas.
	if !await(healing, func() bool { return s.committer.find() }) || !await(healing, func() bool { return c.lacks() == "" }) {
		c.violate("there is no coordinator: %s", c.lacks())
		return
	}

	var producing, others sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	patience, giveUp := context.WithCancel(context.Background())
	stop := make(chan struct{})
	for _, p := range s.producers {
		producing.Go(func() { p.run(patience, stop) })
	}
	for _, k := range s.consumers {
		others.Go(func() { k.run(ctx) })
	}
	others.Go(func() { s.committer.run(ctx) })

	time.Sleep(s.nemesis.between(0, time.Second))
	s.nemesis.run(s.nemesis.between(trouble/4, trouble))
	healed := s.recover()
	close(stop)
	if !healed {
		giveUp()
	}
	done := make(chan struct{})
	go func() {
		producing.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(healing):
		c.violate("producers don't finish in a cluster that is whole")
		giveUp()
		<-done
	}
	giveUp()
	cancel()
	others.Wait()
	if healed {
		s.finish()
	}
}

func (s *simulation) makeClients() {
	c := s.cluster
	client := func(name string) *client {
		s.nemesis.clients = append(s.nemesis.clients, name)
		return newClient(c, s.history, name)
	}
	for i := range 2 + s.rng.IntN(2) {
		s.producers = append(s.producers, &producer{client: client(fmt.Sprintf("p%d", i+1)), partition: int32(i) % s.partitions, codecs: s.codecs,
			pause: time.Duration(20+s.rng.IntN(200)) * time.Millisecond})
	}
	for i := range 2 {
		s.consumers = append(s.consumers, &consumer{client: client(fmt.Sprintf("c%d", i+1)), codecs: s.codecs, partitions: s.partitions, next: map[int32]int64{}})
	}
	s.committer = &committer{client: client("committer")}
}

// recover waits until the cluster is whole, and clients succeed; it reports whether that was so.
func (s *simulation) recover() bool {
	c := s.cluster
	if c.failed() {
		return false
	}
	if !await(healing, func() bool { return c.lacks() == "" || c.failed() }) {
		c.violate("the cluster doesn't heal: %s; %v", c.lacks(), c.offsets())
		stacks := make([]byte, 4<<20)
		c.events.add("goroutines", "\n%s", stacks[:runtime.Stack(stacks, true)]) // Who waits for what.
	}
	if c.failed() {
		return false
	}
	c.events.add("cluster", "is whole")
	before := s.history.numAcked()
	time.Sleep(afterwards)
	if s.history.numAcked() == before {
		c.violate("nothing was acknowledged in %v after the cluster was whole", afterwards)
	}
	return !c.failed()
}

// finish reads what every replica stores, and checks the history against it.
func (s *simulation) finish() {
	c := s.cluster
	reader := &consumer{client: newClient(c, s.history, "reader"), codecs: s.codecs, partitions: s.partitions}
	defer reader.close()
	var logs []replicaLog
	settled := func() bool {
		logs = nil
		for partition := range s.partitions {
			size := -1
			for _, n := range c.nodes {
				records, err := reader.all(n.id, partition)
				if err != nil {
					c.events.add("reader", "partition %d on %s: %v", partition, n.name, err)
					return false
				}
				logs = append(logs, replicaLog{partition, n.id, records})
				if size >= 0 && len(records) != size {
					return false // A follower hears of the high watermark a little later.
				}
				size = len(records)
			}
		}
		return true
	}
	if !await(10*time.Second, settled) {
		c.events.add("reader", "replicas don't become equal")
	}
	fetched := await(10*time.Second, func() bool {
		return (s.committer.coordinator > 0 || s.committer.find()) && s.committer.fetch() == nil
	})
	s.committer.close()
	if !fetched {
		c.violate("the group's offset can't be fetched from a cluster that is whole")
	}
	if len(logs) != int(s.partitions)*len(c.nodes) {
		c.violate("the replicas can't be read: %d of %d logs", len(logs), int(s.partitions)*len(c.nodes))
		return
	}
	for _, text := range s.history.check(logs) {
		c.violate("%s", text)
	}
}
