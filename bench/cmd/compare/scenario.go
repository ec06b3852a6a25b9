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
	// unit is what the CPU time is told for, besides bytes: request or record. Without one, run tells of it.
	unit string
	// rounds is the most rounds that it runs in, 0 for all.
	rounds int
	// configs are settings of the topic, names and values.
	configs [][2]string
	// topics is where it runs.
	topics topics
	run    func(ctx context.Context, n *node.Node, topic string) (outcome, error)
}

// topics says which topic a scenario gets.
type topics int

const (
	fresh  topics = iota // a new one with one partition
	filled               // the one to read from, which stays
	own                  // none: it makes its own
)

type outcome struct {
	bytes, units float64
	figures      measurement
}

// measure runs a scenario and reads what it cost the broker.
func measure(ctx context.Context, n *node.Node, s scenario) (m measurement, err error) {
	topic := readTopic
	if s.topics == fresh {
		topic = fmt.Sprintf("bench-%d", time.Now().UnixNano())
		if err := load.CreateTopic(n.Address, topic, 1, s.configs...); err != nil {
			return nil, err
		}
		defer func() {
			if derr := load.DeleteTopic(n.Address, topic); err == nil {
				err = derr
			}
		}()
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
	if s.unit == "" {
		return out.figures, nil
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
		produce("produce 2 KiB acks=1", load.Produce{BatchBytes: 2 << 10, Depth: 5, Acks: 1, Requests: n(40_000)}),
		produce("produce 16 KiB acks=1", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: 1, Requests: n(20_000)}),
		produce("produce 16 KiB acks=all", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: -1, Requests: n(20_000)}),
		produce("produce 16 KiB acks=1, 50 connections", load.Produce{BatchBytes: 16 << 10, Depth: 1, Acks: 1, Connections: 50, Requests: n(20_000)}),
		produce("produce 512 KiB acks=1", load.Produce{BatchBytes: 512 << 10, Depth: 5, Acks: 1, Requests: n(1_200)}),
		flushEach("flush.messages=1, 16 KiB, 1 connection", 1, flushTime/time.Duration(o.scale)),
		flushEach("flush.messages=1, 16 KiB, 8 connections", 8, flushTime/time.Duration(o.scale)),
		compressed(16<<10, n(60_000)),
		stream("end to end 5,000 records/s", load.Stream{PerSecond: 5_000, Records: n(20_000), RunIn: n(2_500), Consumers: 1}),
		fetch("fetch 16 KiB", 16<<10, n(20_000)),
		fetch("fetch 1 MiB", 1<<20, n(2_500)),
		fetch("fetch 8 MiB", 8<<20, n(400)),
		secured("TLS produce 16 KiB acks=1", produce("", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: 1, Requests: n(20_000)})),
		secured("TLS fetch 1 MiB", fetch("", 1<<20, n(1_500))),
		producerPerf(o, "producer-perf 1 KiB acks=all", 1024, "all", n(900_000)),
		producerPerf(o, "producer-perf 100 B acks=1", 100, "1", n(4_500_000)),
		consumerPerf(o, "consumer-perf 1 KiB", min(n(400_000), filledBytes(o)>>10*9/10)),
		coldRead(),
		neverRead(hoardTime / time.Duration(o.scale)),
		fewer(2, stream("200 consumers wait, 100 records/s", load.Stream{PerSecond: 100, Records: n(400), RunIn: n(50), Consumers: 200})),
	}
}

// fewer lets a scenario run in so many rounds only.
func fewer(rounds int, s scenario) scenario {
	s.rounds = rounds
	return s
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

// flushTime is how long a connection sends to a topic that flushes each batch.
const flushTime = 2 * time.Second

// flushEach measures produce requests that each have to be on the disk before they are answered.
func flushEach(name string, connections int, d time.Duration) scenario {
	s := produce(name, load.Produce{BatchBytes: 16 << 10, Depth: 1, Acks: -1, Connections: connections, For: d})
	s.configs = [][2]string{{"flush.messages", "1"}}
	return s
}

func fetch(name string, maxBytes int, requests int64) scenario {
	return scenario{name: name, unit: "request", topics: filled,
		run: func(_ context.Context, n *node.Node, topic string) (outcome, error) {
			r, err := load.Fetch{Address: n.Address, Topic: topic, Partitions: 1, MaxBytes: maxBytes, Connections: 1, Requests: requests}.Run()
			return rawOutcome(&r), err
		}}
}

func rawOutcome(r *load.Result) outcome {
	return outcome{bytes: float64(r.Bytes), units: float64(r.Requests), figures: measurement{
		"MiB/s": r.MiBPerSecond(), "p50 ms": ms(r, 50), "p99 ms": ms(r, 99),
	}}
}

// ms is a percentile of latencies in milliseconds.
func ms(r *load.Result, percentile float64) float64 {
	return float64(r.Latency(percentile).Microseconds()) / 1000
}

// warm gives the JVM what its compilers need: requests and records of each kind, and fills the topic that is
// read. A quick run makes do with a quarter, which flatters Ottla.
func warm(ctx context.Context, o options, n *node.Node) error {
	if err := fill(o, n); err != nil {
		return err
	}
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
		secured("", produce("", load.Produce{BatchBytes: 16 << 10, Depth: 5, Acks: 1, Requests: 20_000 / part})),
		secured("", fetch("", 1<<20, 1_000/part)),
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
