// Command franz-go plays the matrix of ../cells with github.com/twmb/franz-go.
package main

import (
	"context"
	"time"

	"github.com/ottla/ottla/compat-tests/cells"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type client struct {
	bootstrap string
	cl        *kgo.Client
	adm       *kadm.Client
}

func main() {
	cells.Main(func(bootstrap string) (cells.Client, error) {
		cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
		if err != nil {
			return nil, err
		}
		return &client{bootstrap, cl, kadm.NewClient(cl)}, nil
	})
}

func (c *client) CreateTopic(ctx context.Context, topic string, partitions int32) error {
	_, err := c.adm.CreateTopic(ctx, partitions, 1, nil, topic)
	return err
}

func (c *client) DeleteTopic(ctx context.Context, topic string) error {
	rs, err := c.adm.DeleteTopics(ctx, topic)
	if err != nil {
		return err
	}
	return rs[topic].Err
}

func (c *client) ListTopics(ctx context.Context) ([]string, error) {
	ts, err := c.adm.ListTopics(ctx)
	return ts.Names(), err
}

func (c *client) Produce(ctx context.Context, topic string, o cells.ProduceOptions, records []cells.Record) error {
	codec := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[o.Codec]
	acks := map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}[o.Acks]
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.bootstrap), kgo.ProducerBatchCompression(codec), kgo.RequiredAcks(acks),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
	if !o.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	var rs []*kgo.Record
	for _, r := range records {
		rs = append(rs, &kgo.Record{
			Topic: topic, Partition: r.Partition, Key: []byte(r.Key), Value: []byte(r.Value),
			Headers:   []kgo.RecordHeader{{Key: r.HeaderKey, Value: []byte(r.HeaderValue)}},
			Timestamp: time.UnixMilli(r.TimestampMs),
		})
	}
	if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		return err
	}
	return cl.Flush(ctx)
}

func record(r *kgo.Record) cells.Record {
	out := cells.Record{
		Key: string(r.Key), Value: string(r.Value), Partition: r.Partition,
		Offset: r.Offset, TimestampMs: r.Timestamp.UnixMilli(),
	}
	for _, h := range r.Headers {
		out.HeaderKey, out.HeaderValue = h.Key, string(h.Value)
	}
	return out
}

func (c *client) Assign(ctx context.Context, topic string, partition int32, from cells.Position, n int) ([]cells.Record, error) {
	offset := kgo.NewOffset().AtStart()
	switch from.Start {
	case cells.End:
		offset = kgo.NewOffset().AtEnd()
	case cells.AtOffset:
		offset = kgo.NewOffset().At(from.At)
	case cells.AtTime:
		offset = kgo.NewOffset().AfterMilli(from.At)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: offset}}))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var out []cells.Record
	for len(out) < n {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return out, err
		}
		fs.EachRecord(func(r *kgo.Record) { out = append(out, record(r)) })
	}
	return out, nil
}

type group struct {
	cl       *kgo.Client
	assigned chan int
	owns     int
}

func (c *client) JoinGroup(_ context.Context, topic, name string) (cells.Group, error) {
	g := &group{assigned: make(chan int, 64)}
	change := func(sign int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, m map[string][]int32) { g.assigned <- sign * len(m[topic]) }
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.bootstrap), kgo.ConsumerGroup(name), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.HeartbeatInterval(300*time.Millisecond),
		kgo.OnPartitionsAssigned(change(1)), kgo.OnPartitionsRevoked(change(-1)), kgo.OnPartitionsLost(change(-1)))
	g.cl = cl
	return g, err
}

func (g *group) Poll(ctx context.Context) ([]cells.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	fs := g.cl.PollFetches(ctx)
	if err := fs.Err(); err != nil && ctx.Err() == nil {
		return nil, err
	}
	var out []cells.Record
	fs.EachRecord(func(r *kgo.Record) { out = append(out, record(r)) })
	return out, nil
}

func (g *group) Commit(ctx context.Context) error { return g.cl.CommitUncommittedOffsets(ctx) }

func (g *group) Assigned() int {
	for {
		select {
		case n := <-g.assigned:
			g.owns += n
		default:
			return g.owns
		}
	}
}

func (g *group) Close() error {
	g.cl.Close()
	return nil
}
