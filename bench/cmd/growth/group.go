package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

// batchBytes is the size of the batch that each request has.
const batchBytes = 2 << 10

// eachTopic is the most partitions of a topic; Kafka's controller makes no more than some thousands at once.
const eachTopic = 100

// createLimit is how long topics may take to have leaders.
const createLimit = 5 * time.Minute

// group has the sizes that are compared; the first one is what the others are told by.
type group struct {
	name  string
	sizes []int
	// prepare makes what the largest size needs, and has used all of it once.
	prepare func(n *node.Node, largest int) (*prepared, error)
}

// prepared is what requests can be sent to.
type prepared struct {
	// send sends the requests of a run to so much of it.
	send func(size int) (load.Result, error)
	// done cleans up.
	done func() error
}

// sample is the figures of a run.
type sample struct {
	cpuMicros, p99Ms, perSecond float64
	rssMiB, load                float64
}

// groups lists the sizes.
func groups(o options) (out []group) {
	for _, inFlight := range []int{1, 100} {
		out = append(out, group{
			fmt.Sprintf("connections, %d in flight", inFlight), sizes(inFlight, o.most, 1, 100, 5_000),
			func(n *node.Node, largest int) (*prepared, error) { return connections(o, n, largest, inFlight) },
		})
	}
	return append(out, group{
		"partitions", sizes(1, o.most, 1, 10, 100, 1_000, 9_000),
		func(n *node.Node, largest int) (*prepared, error) { return partitions(o, n, largest) },
	})
}

// sizes are those of all that aren't too small or too large.
func sizes(least, most int, all ...int) []int {
	return slices.DeleteFunc(all, func(n int) bool { return n < least || n > most })
}

// run measures the sizes of a group in turn, so that what disturbs the machine meets all.
func run(ctx context.Context, o options, n *node.Node, g group) (samples [][]sample, err error) {
	p, err := g.prepare(n, g.sizes[len(g.sizes)-1])
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", n.Name, g.name, err)
	}
	defer func() { err = errors.Join(err, p.done()) }()
	if err := proc.Settle(ctx, n.Pid, settleLimit); err != nil {
		return nil, err
	}
	samples = make([][]sample, len(g.sizes))
	for range o.rounds {
		for i, size := range g.sizes {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			s, err := measure(n, func() (load.Result, error) { return p.send(size) })
			if err != nil {
				return nil, fmt.Errorf("%s, %s, %d: %w", n.Name, g.name, size, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	return samples, nil
}

// warm gives a JVM what its compilers need.
func warm(o options, n *node.Node) error {
	o.requests *= 4
	p, err := partitions(o, n, 1)
	if err != nil {
		return err
	}
	_, err = p.send(1)
	return errors.Join(err, p.done())
}

// partitions are requests that go to some of so many partitions in turn.
func partitions(o options, n *node.Node, count int) (*prepared, error) {
	topics := names(count)
	done := func() error { return load.DeleteTopics(n.Address, topics) }
	if err := load.CreateTopics(n.Address, topics, min(count, eachTopic), createLimit); err != nil {
		return nil, errors.Join(err, done())
	}
	send := func(size int, requests int64) (load.Result, error) {
		w := load.Walk{Address: n.Address, Topics: topics[:(size+eachTopic-1)/eachTopic], Partitions: min(size, eachTopic),
			BatchBytes: batchBytes, RecordBytes: 1024, Depth: o.depth, Acks: 1, Requests: requests}
		return w.Run()
	}
	// A first append makes files.
	if _, err := send(count, max(int64(count), o.requests/10)); err != nil {
		return nil, errors.Join(err, done())
	}
	return &prepared{func(size int) (load.Result, error) { return send(size, o.requests) }, done}, nil
}

// connections are requests on some of so many connections, of which inFlight have one in flight at a time.
func connections(o options, n *node.Node, count, inFlight int) (*prepared, error) {
	topic := names(1)
	done := func() error { return load.DeleteTopics(n.Address, topic) }
	if err := load.CreateTopics(n.Address, topic, 1, createLimit); err != nil {
		return nil, errors.Join(err, done())
	}
	t := load.Turns{Address: n.Address, Topic: topic[0], Connections: count, InFlight: inFlight, BatchBytes: batchBytes, RecordBytes: 1024, Acks: 1, Requests: o.requests}
	send, hangUp, err := t.Open()
	if err != nil {
		return nil, errors.Join(err, done())
	}
	return &prepared{send, func() error {
		hangUp()
		return done()
	}}, nil
}

// measure reads what a run cost the broker.
func measure(n *node.Node, send func() (load.Result, error)) (sample, error) {
	before, err := proc.Read(n.Pid)
	if err != nil {
		return sample{}, err
	}
	r, err := send()
	if err != nil {
		return sample{}, err
	}
	after, err := proc.Read(n.Pid)
	requests := float64(r.Requests)
	return sample{
		cpuMicros: float64(after.Sub(before).CPU.Microseconds()) / requests, p99Ms: float64(r.Latency(99).Microseconds()) / 1000,
		perSecond: requests / r.Elapsed.Seconds(), rssMiB: float64(after.RSS) / (1 << 20), load: proc.LoadAverage(),
	}, err
}

// names are new names for the topics that so many partitions need.
func names(partitions int) []string {
	now := time.Now().UnixNano()
	out := make([]string, (partitions+eachTopic-1)/eachTopic)
	for i := range out {
		out[i] = fmt.Sprintf("growth-%d-%03d", now, i)
	}
	return out
}
