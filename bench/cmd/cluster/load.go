package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/stat"
	generator "github.com/ottla/ottla/bench/load"
	"github.com/twmb/franz-go/pkg/kgo"
)

// load is records with acks=all to a topic with three replicas, of which two must be in sync.
type load struct {
	name       string
	number     int
	partitions int
	records    int
	size       int
	// rate is records a second, 0 for as many as go.
	rate int
	// single waits for each record before the next one.
	single bool
	linger time.Duration
	// raw sends requests of one batch to the leader, without a client library, on one connection with five in flight;
	// records and size are those of requests and batches.
	raw bool
}

func replicatedLoads(o *options) []load {
	loads := []load{
		{name: "16 KiB requests, one connection, five in flight", partitions: 1, records: o.megabytes << 10 / 16, size: 16 << 10, raw: true},
		{name: "1 KiB, 6 partitions, as fast as it goes", partitions: 6, records: o.megabytes << 10, size: 1 << 10, linger: 5 * time.Millisecond},
		{name: "100 B, 6 partitions, as fast as it goes", partitions: 6, records: o.megabytes << 20 / 8 / 100, size: 100, linger: 5 * time.Millisecond},
		{name: "1 KiB, 6 partitions, 2,000 a second", partitions: 6, records: 10_000, size: 1 << 10, rate: 2000},
		{name: "1 KiB, one at a time, 100 a second", partitions: 1, records: 500, size: 1 << 10, rate: 100, single: true},
	}
	for i := range loads {
		loads[i].number = i
	}
	return loads
}

// measure runs a load against a new topic.
func measure(ctx context.Context, c *node.Cluster, l load, topic string) (measurement, error) {
	w, err := newWatcher(c, time.Minute)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.create(ctx, l.partitions, topic); err != nil {
		return nil, err
	}
	if _, _, err := w.until(ctx, time.Now(), everyone, func(v view) bool { return v.partitions > 0 && v.inSync == v.partitions }); err != nil {
		return nil, err
	}
	if l.raw {
		return measureRaw(c, l, topic)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addresses()...), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(l.linger), kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	value := make([]byte, l.size)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(value) //nolint:errcheck // ChaCha8 doesn't fail.
	if err := cl.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
		return nil, err
	}

	var mu sync.Mutex
	var failed error
	latencies := make([]float64, 0, l.records)
	before, began := cpu(c), time.Now()
	for i := range l.records {
		due := time.Now()
		if l.rate > 0 {
			// Latency is counted from when the record was due, so that a stall isn't hidden by what it holds up.
			due = began.Add(time.Duration(i) * time.Second / time.Duration(l.rate))
			time.Sleep(time.Until(due))
		}
		done := func(_ *kgo.Record, err error) {
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
			}
			latencies = append(latencies, took.Seconds()*1000)
		}
		if l.single {
			r := cl.ProduceSync(ctx, &kgo.Record{Value: value})
			done(nil, r.FirstErr())
			continue
		}
		cl.Produce(ctx, &kgo.Record{Value: value}, done)
	}
	if err := cl.Flush(ctx); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	used := (cpu(c) - before).Seconds()
	mu.Lock()
	defer mu.Unlock()
	if failed != nil {
		return nil, failed
	}
	slices.Sort(latencies)
	gigabytes := float64(l.records*l.size) / 1e9
	m := measurement{"p50 ms": stat.Percentile(latencies, 50), "p99 ms": stat.Percentile(latencies, 99), "CPU s/GB": used / gigabytes}
	if l.rate == 0 {
		m["MB/s"] = gigabytes * 1000 / took
	}
	return m, nil
}

// measureRaw is measure of a load of requests.
func measureRaw(c *node.Cluster, l load, topic string) (measurement, error) {
	leader, err := generator.Leader(c.Addresses()[0], topic, 0)
	if err != nil {
		return nil, err
	}
	p := generator.Produce{Address: leader, Topic: topic, Partitions: 1, BatchBytes: l.size, RecordBytes: 1 << 10, Connections: 1, Depth: 5, Acks: -1, Requests: 200}
	if _, err := p.Run(); err != nil { // Followers fetch by now.
		return nil, err
	}
	p.Requests = int64(l.records)
	before := cpu(c)
	r, err := p.Run()
	if err != nil {
		return nil, err
	}
	gigabytes := float64(r.Bytes) / 1e9
	ms := func(percentile float64) float64 { return r.Latency(percentile).Seconds() * 1000 }
	return measurement{"p50 ms": ms(50), "p99 ms": ms(99), "CPU s/GB": (cpu(c) - before).Seconds() / gigabytes, "MB/s": gigabytes * 1000 / r.Elapsed.Seconds()}, nil
}
