// Command startup fills a broker with many partitions of several small segments, starts it again after a
// clean stop, a kill -9 and the loss of its checkpoints, and prints how long it takes until every
// partition is led, and what it needs then. A last start has segments of a gibibyte each, all holes.
//
//	startup -ottla ../bin/ottla -partitions 10000 -segments 3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/results"
)

type options struct {
	ottla, dir, results                       string
	partitions, segments, topics, size, large int
	wait                                      time.Duration
	keep                                      bool
}

func main() {
	var o options
	flag.StringVar(&o.ottla, "ottla", "../bin/ottla", "the program")
	flag.StringVar(&o.dir, "dir", "", "an empty folder for the data; a temporary one if empty")
	flag.StringVar(&o.results, "results", "", "a folder for a copy of the table; none if empty")
	flag.IntVar(&o.partitions, "partitions", 10_000, "partitions of all topics together")
	flag.IntVar(&o.topics, "topics", 10, "topics; they share the partitions evenly")
	flag.IntVar(&o.segments, "segments", 3, "segments of a partition")
	flag.IntVar(&o.size, "size", 1024, "bytes of the one batch of a segment")
	flag.IntVar(&o.large, "large", 100, "how many segments get a length of one gibibyte for the last start")
	flag.DurationVar(&o.wait, "limit", 10*time.Minute, "how long a start may take")
	flag.BoolVar(&o.keep, "keep", false, "keep the data")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "ottla-startup.")
		if err != nil {
			return err
		}
		o.dir = dir
	}
	if !o.keep {
		defer os.RemoveAll(o.dir)
	}
	t := newTable(o)
	if err := t.measure(ctx, o); err != nil {
		return fmt.Errorf("%w; the broker's log is %s", err, filepath.Join(o.dir, "ottla.log"))
	}
	text := t.String()
	fmt.Print(text)
	if o.results == "" {
		return nil
	}
	return os.WriteFile(results.Base(o.results, time.Now(), "startup")+".txt", []byte(text), 0o644)
}

// head tells of machine and work.
func head(o options) string {
	return fmt.Sprintf("%d partitions of %d topics, %d segments each, one batch of %d bytes a segment\n%s, load average %.1f\n\n",
		o.partitions, o.topics, o.segments, o.size, proc.CPUModel(), proc.LoadAverage())
}
