package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/results"
	"github.com/ottla/ottla/bench/internal/stat"
	"github.com/twmb/franz-go/pkg/kgo"
)

// report collects the measurements and writes the table.
type report struct {
	o          *options
	began      time.Time
	dirtyBytes int64
	names      []string
	all        map[string][]measurement
	loads      []float64
	// same tells what the comparison of the results found.
	same string
}

func (r *report) add(name string, m measurement) {
	if r.all == nil {
		r.all = map[string][]measurement{}
	}
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
	r.all[name] = append(r.all[name], m)
	r.loads = append(r.loads, proc.LoadAverage())
}

// compare demands that all brokers and rounds left the same records.
func (r *report) compare(ctx context.Context, brokers []*broker, rounds int) error {
	var first string
	for round := r.o.warm; round < rounds; round++ {
		for _, b := range brokers {
			got, err := digest(ctx, b.node.Address, topic(round), b.activeOffset)
			if err != nil {
				return fmt.Errorf("reading what %s left: %w", b.node.Name, err)
			}
			if first == "" {
				first = got
			}
			if got != first {
				return fmt.Errorf("%s left %s in round %d, the first one %s", b.node.Name, got, round, first)
			}
		}
	}
	r.same = "every compaction left " + first
	return nil
}

// digest reads a partition from its beginning to offset end or beyond, and sums up all records before it: offset, key and value.
func digest(ctx context.Context, address, topic string, end int64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	if err != nil {
		return "", err
	}
	defer client.Close()
	h, n := sha256.New(), 0
	// The active segment, which no compaction touches, has records at and after end.
	for last := int64(-1); last < end; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return "", err
		}
		fetches.EachRecord(func(rec *kgo.Record) {
			last = rec.Offset
			if last >= end {
				return
			}
			var head [24]byte
			binary.BigEndian.PutUint64(head[:], uint64(rec.Offset))
			binary.BigEndian.PutUint64(head[8:], uint64(len(rec.Key)))
			binary.BigEndian.PutUint64(head[16:], uint64(len(rec.Value)))
			h.Write(head[:])
			h.Write(rec.Key)
			h.Write(rec.Value)
			n++
		})
	}
	return fmt.Sprintf("%d records, SHA-256 %x", n, h.Sum(nil)[:12]), nil
}

// figure is a line of the table.
type figure struct {
	name string
	of   func(measurement) float64
}

func (r *report) figures() []figure {
	mib := float64(r.dirtyBytes) / (1 << 20)
	return []figure{
		{"s", func(m measurement) float64 { return m.took.Seconds() }},
		{"MiB/s", func(m measurement) float64 { return mib / m.took.Seconds() }},
		{"CPU s", func(m measurement) float64 { return m.cpu.Seconds() }},
		{"MiB afterwards", func(m measurement) float64 { return float64(m.bytes) / (1 << 20) }},
		{"RSS MiB", func(m measurement) float64 { return float64(m.rss) / (1 << 20) }},
	}
}

func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Compaction in Ottla (A) beside Kafka (B), %s\n", r.began.UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(&b, "# machine: %s\n", proc.Machine())
	fmt.Fprintf(&b, "# versions: %s\n", node.Versions(r.o.ottla, r.o.java, r.o.libs))
	fmt.Fprintf(&b, "# data: %d records of %d bytes, %d keys, codec %s, batches of %d KiB; %d MiB in closed segments of at most %d MiB\n", r.o.data.records(),
		r.o.data.recordBytes, r.o.data.keys, r.o.codec, batchBytes>>10, r.dirtyBytes>>20, segmentBytes>>20)
	fmt.Fprintf(&b, "# rounds: %d, A B A B, after %d that don't count; load average: median %.1f, from %.1f to %.1f\n", r.o.rounds, r.o.warm,
		stat.Median(r.loads), slices.Min(r.loads), slices.Max(r.loads))
	fmt.Fprintf(&b, "# settings: %s\n", strings.Join(settings, " "))
	fmt.Fprintf(&b, "# %s\n", r.same)
	fmt.Fprintln(&b, "# ± is the largest distance from the median. Ratio is A/B: above 1 is better for MiB/s, below 1 for everything else.")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tOttla\t±\tKafka\t±\tratio")
	for _, f := range r.figures() {
		fmt.Fprint(w, f.name)
		var medians []float64
		for _, name := range r.names {
			var v []float64
			for _, m := range r.all[name] {
				v = append(v, f.of(m))
			}
			medians = append(medians, stat.Median(v))
			fmt.Fprintf(w, "\t%.4g\t%.0f%%", stat.Median(v), 100*stat.Spread(v))
		}
		if len(medians) == 2 && medians[1] > 0 {
			fmt.Fprintf(w, "\t%.2f", medians[0]/medians[1])
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // A strings.Builder doesn't fail.
	return b.String()
}

// write prints the table and puts it into the folder of results.
func (r *report) write() error {
	return results.Print(r.o.results, r.began, "compaction-"+r.o.codec, r.table())
}
