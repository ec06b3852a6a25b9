package main

import (
	"context"
	"errors"
	"fmt"
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

// step is one size that is measured.
type step struct {
	// group has the sizes that are compared; the first one is what the others are told by.
	group string
	name  string
	// run makes what it needs, measures and cleans up.
	run func(n *node.Node) ([]sample, error)
}

// sample is the figures of a run.
type sample struct {
	cpuMicros, p99Ms, perSecond float64
	rssMiB, load                float64
}

// steps lists the sizes. The first one comes again at the end of the partitions: what differs there isn't
// growth but drift.
func steps(ctx context.Context, o options) []step {
	var out []step
	add := func(group, name string, run func(n *node.Node) ([]sample, error)) {
		out = append(out, step{group, name, run})
	}
	for _, inFlight := range []int{1, 100} {
		for _, c := range []int{1, 100, 5_000} {
			if c <= o.most && c >= inFlight {
				add(fmt.Sprintf("connections, %d in flight", inFlight), fmt.Sprintf("%d", c), func(n *node.Node) ([]sample, error) { return connections(o, n, c, inFlight) })
			}
		}
	}
	for _, p := range []int{1, 10, 100, 1_000, 10_000, 1} {
		if p <= o.most {
			add("partitions", fmt.Sprintf("%d", p), func(n *node.Node) ([]sample, error) { return partitions(ctx, o, n, p) })
		}
	}
	return out
}

// warm gives a JVM what its compilers need.
func warm(ctx context.Context, o options, n *node.Node) error {
	o.rounds, o.requests = 1, 4*o.requests
	_, err := partitions(ctx, o, n, 1)
	return err
}

// partitions measures requests that go to so many partitions in turn.
func partitions(ctx context.Context, o options, n *node.Node, count int) (out []sample, err error) {
	topics := names(count)
	each := min(count, eachTopic)
	defer func() { err = errors.Join(err, load.DeleteTopics(n.Address, topics)) }()
	if err := load.CreateTopics(n.Address, topics, each, createLimit); err != nil {
		return nil, err
	}
	w := load.Walk{Address: n.Address, Topics: topics, Partitions: each, BatchBytes: batchBytes, RecordBytes: 1024, Depth: o.depth, Acks: 1}
	// Every partition is written to before it counts: a first append makes files.
	w.Requests = max(int64(count), o.requests/10)
	if _, err := w.Run(); err != nil {
		return nil, err
	}
	if err := proc.Settle(ctx, n.Pid, settleLimit); err != nil {
		return nil, err
	}
	w.Requests = o.requests
	for range o.rounds {
		s, err := measure(n, func() (load.Result, error) { return w.Run() })
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// connections measures requests on so many connections, of which inFlight have one in flight at a time.
func connections(o options, n *node.Node, count, inFlight int) (out []sample, err error) {
	topic := names(1)
	defer func() { err = errors.Join(err, load.DeleteTopics(n.Address, topic)) }()
	if err := load.CreateTopics(n.Address, topic, 1, createLimit); err != nil {
		return nil, err
	}
	t := load.Turns{Address: n.Address, Topic: topic[0], Connections: count, InFlight: inFlight, BatchBytes: batchBytes, RecordBytes: 1024, Acks: 1, Requests: o.requests}
	err = t.Run(func(more func() (load.Result, error)) error {
		for range o.rounds {
			s, err := measure(n, more)
			if err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

// measure reads what a run cost the broker.
func measure(n *node.Node, run func() (load.Result, error)) (sample, error) {
	before, err := proc.Read(n.Pid)
	if err != nil {
		return sample{}, err
	}
	r, err := run()
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
