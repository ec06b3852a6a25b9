package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/load"
)

// measurement is a set of named figures of one run.
type measurement map[string]float64

// scenario is one load. run returns the bytes of records that were moved, how many requests or
// records did it (units), and figures of its own.
type scenario struct {
	name string
	// unit is what the CPU time is told for, besides bytes: request or record.
	unit string
	// fill, if any, makes data to be read; it isn't measured.
	fill func(ctx context.Context, n *node.Node, topic string) error
	run  func(ctx context.Context, n *node.Node, topic string) (outcome, error)
}

type outcome struct {
	bytes, units float64
	figures      measurement
}

// measure runs a scenario on a new topic and reads what it cost the broker.
func measure(ctx context.Context, n *node.Node, s scenario) (m measurement, err error) {
	topic := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	if err := load.CreateTopic(n.Address, topic, 1); err != nil {
		return nil, err
	}
	defer func() {
		if derr := load.DeleteTopic(n.Address, topic); err == nil {
			err = derr
		}
	}()
	if s.fill != nil {
		if err := s.fill(ctx, n, topic); err != nil {
			return nil, err
		}
	}
	before, err := proc.Read(n.Pid)
	if err != nil {
		return nil, err
	}
	out, err := s.run(ctx, n, topic)
	if err != nil {
		return nil, err
	}
	after, err := proc.Read(n.Pid)
	if err != nil {
		return nil, err
	}
	d := after.Sub(before)
	m = out.figures
	m["CPU s/GB"] = d.CPU.Seconds() / out.bytes * 1e9
	m["CPU us/"+s.unit] = float64(d.CPU.Microseconds()) / out.units
	m["switches/"+s.unit] = float64(d.Switches) / out.units
	m["RSS MiB"] = float64(d.RSS) / (1 << 20)
	return m, nil
}

// scenarios lists what is measured.
func scenarios(o options) []scenario {
	n := func(full int64) int64 { return full / o.scale }
	return []scenario{
		produce("produce 2 KiB acks=1", load.Produce{BatchBytes: 2 << 10, Depth: 5, Acks: 1, Requests: n(60_000)}),
		produce("produce 16 KiB acks=1", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: 1, Requests: n(30_000)}),
		produce("produce 16 KiB acks=all", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: -1, Requests: n(30_000)}),
		produce("produce 16 KiB acks=1, 50 connections", load.Produce{BatchBytes: 16 << 10, Depth: 1, Acks: 1, Connections: 50, Requests: n(30_000)}),
		produce("produce 512 KiB acks=1", load.Produce{BatchBytes: 512 << 10, Depth: 5, Acks: 1, Requests: n(1_500)}),
		fetch("fetch 16 KiB", 16<<10, n(30_000)),
		fetch("fetch 1 MiB", 1<<20, n(3_000)),
		fetch("fetch 8 MiB", 8<<20, n(450)),
		producerPerf(o, "producer-perf 1 KiB acks=all", 1024, "all", n(600_000)),
		producerPerf(o, "producer-perf 100 B acks=1", 100, "1", n(3_000_000)),
		consumerPerf(o, "consumer-perf 1 KiB", n(600_000)),
	}
}

func produce(name string, p load.Produce) scenario {
	p.Partitions, p.RecordBytes, p.Connections = 1, 1024, max(p.Connections, 1)
	return scenario{name: name, unit: "request", run: func(_ context.Context, n *node.Node, topic string) (outcome, error) {
		p := p
		p.Address, p.Topic = n.Address, topic
		r, err := p.Run()
		return rawOutcome(&r), err
	}}
}

// fillBytes is how much data a fetch scenario reads, again and again: more than any CPU cache.
const fillBytes = 256 << 20

func fetch(name string, maxBytes int, requests int64) scenario {
	return scenario{name: name, unit: "request",
		fill: func(_ context.Context, n *node.Node, topic string) error { return fillTopic(n, topic, fillBytes) },
		run: func(_ context.Context, n *node.Node, topic string) (outcome, error) {
			r, err := load.Fetch{Address: n.Address, Topic: topic, Partitions: 1, MaxBytes: maxBytes, Connections: 1, Requests: requests}.Run()
			return rawOutcome(&r), err
		}}
}

// fillTopic writes batches of 16 KiB, as many clients do.
func fillTopic(n *node.Node, topic string, bytes int64) error {
	const batch = 16 << 10
	_, err := load.Produce{Address: n.Address, Topic: topic, Partitions: 1, BatchBytes: batch, RecordBytes: 1024, Connections: 1, Depth: 5, Acks: 1, Requests: bytes / batch}.Run()
	return err
}

func rawOutcome(r *load.Result) outcome {
	ms := func(p float64) float64 { return float64(r.Latency(p).Microseconds()) / 1000 }
	return outcome{bytes: float64(r.Bytes), units: float64(r.Requests), figures: measurement{
		"MiB/s": r.MiBPerSecond(), "p50 ms": ms(50), "p99 ms": ms(99),
	}}
}

// warm gives the JVM what its compilers need: requests and records of each kind. A quick run makes
// do with a quarter, which flatters Ottla.
func warm(ctx context.Context, o options, n *node.Node) error {
	part := int64(1)
	if o.quick {
		part = 4
	}
	for _, s := range []scenario{
		produce("", load.Produce{BatchBytes: 2 << 10, Depth: 5, Acks: 1, Requests: 60_000 / part}),
		produce("", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: -1, Requests: 40_000 / part}),
		produce("", load.Produce{BatchBytes: 512 << 10, Depth: 5, Acks: 1, Requests: 1_000 / part}),
		fetch("", 16<<10, 80_000/part),
		fetch("", 1<<20, 2_000/part),
		producerPerf(o, "", 100, "1", 3_000_000/part),
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := measure(ctx, n, s); err != nil {
			return err
		}
	}
	return nil
}
