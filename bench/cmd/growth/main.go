// Command growth measures how a broker's CPU time a request grows with its partitions and its connections.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
)

// options are the command's flags.
type options struct {
	ottla, java, libs, results string
	rounds, depth, most        int
	requests                   int64
	only                       string
}

func main() {
	var o options
	flag.StringVar(&o.ottla, "ottla", "../bin/ottla", "Ottla's binary")
	flag.StringVar(&o.java, "java", "java", "the Java command")
	flag.StringVar(&o.libs, "libs", "", "folder of Kafka's jars; with it Kafka is measured as well")
	flag.StringVar(&o.results, "results", "results", "folder for the table")
	flag.IntVar(&o.rounds, "rounds", 9, "runs of each size")
	flag.IntVar(&o.depth, "depth", 5, "requests in flight on the connection that writes to many partitions")
	flag.IntVar(&o.most, "most", 10_000, "most partitions and connections")
	flag.Int64Var(&o.requests, "requests", 40_000, "requests of a run")
	flag.StringVar(&o.only, "only", "", "regular expression of the groups to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, o options) (err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ottla-growth")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := time.Now()
	rep := &report{head: []string{
		"CPU time of a broker a request (Produce, one batch of 2 KiB, acks=1), " + began.UTC().Format("2006-01-02 15:04 UTC"),
		fmt.Sprintf("machine: %d cores, %s, %s", runtime.NumCPU(), proc.CPUModel(), runtime.Version()),
		fmt.Sprintf("%d runs of %d requests each; partitions: one connection, %d in flight", o.rounds, o.requests, o.depth),
	}}
	starts := []func() (*node.Node, error){func() (*node.Node, error) { return node.StartOttla(ctx, o.ottla, filepath.Join(dir, "ottla")) }}
	if o.libs != "" {
		starts = append(starts, func() (*node.Node, error) { return node.StartKafka(ctx, o.java, o.libs, filepath.Join(dir, "kafka")) })
	}
	for _, start := range starts { // One after the other: an idle broker with 10,000 partitions isn't idle.
		if err := one(ctx, o, only, rep, start); err != nil {
			return err
		}
	}
	return rep.write(o.results, began)
}

// settleLimit is how long a broker may take to be done with what was made or deleted.
const settleLimit = 30 * time.Second

func one(ctx context.Context, o options, only *regexp.Regexp, rep *report, start func() (*node.Node, error)) (err error) {
	n, err := start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.StopWithin(time.Minute)) }()
	if err := warm(o, n); err != nil {
		return fmt.Errorf("%s: warming: %w", n.Name, err)
	}
	for _, g := range groups(o) {
		if len(g.sizes) == 0 || !only.MatchString(g.name) {
			continue
		}
		if err := proc.Settle(ctx, n.Pid, settleLimit); err != nil { // Deleting takes a while.
			return err
		}
		samples, err := run(ctx, o, n, g)
		if err != nil {
			return err
		}
		for i, size := range g.sizes {
			rep.add(n.Name, g.name, size, samples[i])
		}
	}
	return nil
}
