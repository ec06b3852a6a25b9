// Command compaction measures log compaction in Ottla beside Kafka; compaction.sh calls it, README.md tells the method.
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
	rounds, warm                    int
	data                            dataset
	codec                           string
	skipKafka                       bool
}

// settings are those of both brokers' cleaners.
var settings = []string{
	"log.cleaner.threads=1",
	"log.cleaner.dedupe.buffer.size=134217728",
	"log.cleaner.io.buffer.size=524288",
	// A cleaner that looks often: the wait for its look is part of what is measured.
	"log.cleaner.backoff.ms=20",
	"auto.create.topics.enable=false",
}

func main() {
	var o options
	flag.StringVar(&o.ottla, "ottla", "../bin/ottla", "Ottla's binary")
	flag.StringVar(&o.java, "java", "java", "the Java command")
	flag.StringVar(&o.libs, "libs", "", "folder of Kafka's jars")
	flag.StringVar(&o.dir, "dir", "", "scratch folder, on the disk to be measured")
	flag.StringVar(&o.results, "results", "results", "folder for the table")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds that count")
	flag.IntVar(&o.warm, "warm", 2, "rounds before them that don't, for Java to compile what it needs")
	flag.Int64Var(&o.data.bytes, "bytes", 1<<30, "size of what is compacted, before its compression")
	flag.IntVar(&o.data.recordBytes, "record", 200, "size of a record, in bytes")
	flag.IntVar(&o.data.keys, "keys", 1_000_000, "number of different keys, all alike frequent")
	flag.StringVar(&o.codec, "codec", "none", "none, gzip, snappy, lz4 or zstd")
	flag.BoolVar(&o.skipKafka, "only-ottla", false, "leave Kafka out; for profiles")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "compaction:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) (err error) {
	began := time.Now()
	var known bool
	if o.data.codec, known = codecs[o.codec]; !known {
		return fmt.Errorf("unknown codec %q", o.codec)
	}
	source := filepath.Join(o.dir, "source")
	dirtyBytes, err := o.data.make(ctx, o.ottla, source)
	if err != nil {
		return fmt.Errorf("the data set: %w", err)
	}
	progress(began, "made %d records, %d MiB", o.data.records(), dirtyBytes>>20)
	starts := []func(dir string) (*node.Node, error){func(dir string) (*node.Node, error) {
		return node.StartOttla(ctx, o.ottla, dir, settings...)
	}}
	names := []string{"ottla"}
	if !o.skipKafka {
		names = append(names, "kafka")
		starts = append(starts, func(dir string) (*node.Node, error) {
			return node.StartKafka(ctx, o.java, o.libs, dir, settings...)
		})
	}
	total := o.warm + o.rounds
	var brokers []*broker
	for i, start := range starts {
		b, err := prepare(ctx, filepath.Join(o.dir, names[i]), source, total, start)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.node.Stop()) }()
		brokers = append(brokers, b)
		progress(began, "started %s", names[i])
	}
	rep := &report{o: o, began: began, dirtyBytes: dirtyBytes}
	for round := range total {
		for _, b := range brokers { // A B A B: what disturbs the machine meets both.
			m, err := b.compact(ctx, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", b.node.Name, round, err)
			}
			progress(began, "%s, round %d: %.2f s, CPU %.2f s, load average %.1f", b.node.Name, round, m.took.Seconds(), m.cpu.Seconds(), proc.LoadAverage())
			if round >= o.warm {
				rep.add(b.node.Name, m)
			}
		}
	}
	if err := rep.compare(ctx, brokers, total); err != nil {
		return err
	}
	return rep.write()
}

func progress(began time.Time, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s: %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}
