// Command compare measures Ottla beside Kafka; compare.sh calls it, README.md tells the method.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
)

// options are the command's flags.
type options struct {
	ottla, java, libs, dir, results string
	rounds                          int
	starts, kafkaStarts             int
	scale                           int64
	quick                           bool
	only                            string
	cold                            bool
	limit                           time.Duration
	// reserve is the end of limit that is kept for the many partitions.
	reserve time.Duration
}

// usualScale is the fraction of the work with which five rounds fit into the limit. The many partitions are all of them.
const usualScale = 2

func main() {
	var o options
	flag.StringVar(&o.ottla, "ottla", "../bin/ottla", "Ottla's binary")
	flag.StringVar(&o.java, "java", "java", "the Java command")
	flag.StringVar(&o.libs, "libs", "", "folder of Kafka's jars")
	flag.StringVar(&o.dir, "dir", "", "scratch folder, on the disk to be measured")
	flag.StringVar(&o.results, "results", "results", "folder for the table")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each scenario")
	flag.IntVar(&o.starts, "starts", 10, "starts of Ottla to time")
	flag.IntVar(&o.kafkaStarts, "kafka-starts", 3, "starts of Kafka to time")
	flag.Int64Var(&o.scale, "scale", usualScale, "do this fraction of the work: 3 is a third")
	flag.BoolVar(&o.quick, "quick", false, "little warming, a quarter of the work, two rounds, four minutes; for a look, not for quoting")
	flag.StringVar(&o.only, "only", "", "regular expression of scenarios to run")
	flag.DurationVar(&o.limit, "limit", 19*time.Minute, "begin no run after this time")
	flag.DurationVar(&o.reserve, "reserve", 200*time.Second, "how much of that to keep for the scenario with many partitions, which comes last")
	flag.BoolVar(&o.cold, "no-warming", false, "leave the warming out, to see whether scenarios work; figures say nothing then")
	flag.Parse()
	if o.quick {
		o.rounds, o.kafkaStarts, o.starts = min(o.rounds, 2), 1, min(o.starts, 5)
		o.scale = max(o.scale, 5)
		o.limit, o.reserve = min(o.limit, 225*time.Second), min(o.reserve, 45*time.Second)
	}
	o.scale = max(o.scale, 1)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	began := time.Now()
	rep := newReport(o, began)
	ottla, kafka, err := startBoth(ctx, o, rep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ottla.StopWithin(stopLimit), kafka.StopWithin(stopLimit)) }()
	nodes := []*node.Node{ottla, kafka}
	idle(rep, nodes)
	if err := parked(rep, nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		prepare := warm
		if o.cold {
			prepare = func(_ context.Context, o options, n *node.Node) error { return fill(o, n) }
		}
		if err := prepare(ctx, o, n); err != nil {
			return fmt.Errorf("warming %s: %w", n.Name, err)
		}
	}
	rep.note("warmed after %.0f s", time.Since(began).Seconds())
	runRounds(ctx, o, rep, only, nodes, began)
	for _, n := range nodes {
		u, err := proc.Read(n.Pid)
		if err != nil {
			return err
		}
		rep.single("RSS after the run, MiB", n.Name, float64(u.RSS)/(1<<20))
	}
	// Last: so many partitions stay a load of their own on a broker for a while when they are deleted.
	if err := manyPartitions(ctx, o, rep, only, nodes, began); err != nil {
		rep.note("many partitions: FAILED: %v", err)
	}
	return rep.write()
}

// stopLimit is how long a broker may take to stop that has deleted 10,000 partitions.
const stopLimit = time.Minute

// runRounds measures every scenario against every broker, round by round, until the time is up.
func runRounds(ctx context.Context, o options, rep *report, only *regexp.Regexp, nodes []*node.Node, began time.Time) {
	all := scenarios(o)
	for _, s := range all {
		if s.rounds > 0 && s.rounds < o.rounds && only.MatchString(s.name) {
			rep.note("%s: %d rounds of %d", s.name, s.rounds, o.rounds)
		}
	}
	for r := range o.rounds {
		for _, s := range all {
			if !only.MatchString(s.name) || s.rounds > 0 && r >= s.rounds {
				continue
			}
			for _, n := range nodes { // A B A B: what disturbs the machine meets both.
				if ctx.Err() != nil || time.Since(began) > o.limit-o.reserve {
					rep.note("stopped in round %d: out of time", r+1)
					return
				}
				m, err := measure(ctx, n, s)
				if err != nil {
					rep.note("%s, round %d, %s: FAILED: %v", s.name, r+1, n.Name, err)
					continue
				}
				rep.Add(s.name, n.Name, m)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d done after %.0f s, load average %.1f\n", r+1, o.rounds, time.Since(began).Seconds(), proc.LoadAverage())
	}
}
