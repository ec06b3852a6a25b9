// Command cluster measures three Ottla nodes beside three of Kafka: many partitions, failover, and replicated loads; cluster.sh
// calls it, README.md tells the method.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
)

// options are the command's flags.
type options struct {
	ottla, java, libs, dir, results string
	partitions, perTopic            int
	idle, limit                     time.Duration
	rounds                          int
	megabytes                       int
	skipKafka, skipScale, skipLoad  bool
}

func main() {
	var o options
	flag.StringVar(&o.ottla, "ottla", "../bin/ottla", "Ottla's binary")
	flag.StringVar(&o.java, "java", "java", "the Java command")
	flag.StringVar(&o.libs, "libs", "", "folder of Kafka's jars")
	flag.StringVar(&o.dir, "dir", "", "scratch folder, on the disk to be measured")
	flag.StringVar(&o.results, "results", "results", "folder for the table")
	flag.IntVar(&o.partitions, "partitions", 10_000, "partitions, with three replicas each")
	flag.IntVar(&o.perTopic, "per-topic", 100, "partitions of a topic")
	flag.DurationVar(&o.idle, "idle", 30*time.Second, "how long idle nodes are watched")
	flag.DurationVar(&o.limit, "limit", 3*time.Minute, "give up a step after this time")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds of the loads")
	flag.IntVar(&o.megabytes, "mb", 200, "size of a load without a rate, in MiB")
	flag.BoolVar(&o.skipKafka, "only-ottla", false, "leave Kafka out; for profiles")
	flag.BoolVar(&o.skipScale, "only-load", false, "leave the many partitions out")
	flag.BoolVar(&o.skipLoad, "only-partitions", false, "leave the loads out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// system is one of the two that are compared.
type system struct {
	name  string
	start func(dir string, more ...string) (*node.Cluster, error)
}

func run(ctx context.Context, o *options) error {
	rep := newReport(o, time.Now())
	systems := []system{{"ottla", func(dir string, more ...string) (*node.Cluster, error) {
		return node.StartOttlaCluster(ctx, o.ottla, dir, more...)
	}}}
	if !o.skipKafka {
		systems = append(systems, system{"kafka", func(dir string, more ...string) (*node.Cluster, error) {
			return node.StartKafkaCluster(ctx, o.java, o.libs, dir, more...)
		}})
	}
	if !o.skipScale {
		for _, s := range systems { // One after the other: both at once don't fit into the machine.
			if err := manyPartitions(ctx, o, rep, s); err != nil {
				rep.note("%s with %d partitions: %v", s.name, o.partitions, err)
			}
		}
	}
	var err error
	if !o.skipLoad {
		err = loads(ctx, o, rep, systems)
	}
	return errors.Join(err, rep.write())
}

// loads runs the replicated loads on both systems, A B A B.
func loads(ctx context.Context, o *options, rep *report, systems []system) (err error) {
	var clusters []*node.Cluster
	for _, s := range systems {
		c, err := s.start(filepath.Join(o.dir, "load"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Stop()) }()
		clusters = append(clusters, c)
	}
	for round := -1; round < o.rounds; round++ { // Round -1 warms.
		for _, l := range replicatedLoads(o) {
			for _, c := range clusters {
				m, err := measure(ctx, c, l, fmt.Sprintf("load-%d-%d", round+1, l.number))
				switch {
				case err != nil:
					rep.note("%s, %s, round %d: %v", l.name, c.Name, round+1, err)
				case round >= 0:
					rep.Add(l.name, c.Name, m)
				}
				rep.progress("%s, %s, round %d: %v, load average %.1f", l.name, c.Name, round+1, m, proc.LoadAverage())
			}
		}
	}
	return ctx.Err()
}
