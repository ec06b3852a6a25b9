// Command kafka-go plays the matrix of ../cells with github.com/segmentio/kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ottla/ottla/compat-tests/cells"
	"github.com/segmentio/kafka-go"
)

type client struct {
	bootstrap string
	c         *kafka.Client
}

func main() {
	cells.Main(func(bootstrap string) (cells.Client, error) {
		return &client{bootstrap, &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: 20 * time.Second}}, nil
	})
}

func (c *client) CreateTopic(ctx context.Context, topic string, partitions int32) error {
	r, err := c.c.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: int(partitions), ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return r.Errors[topic]
}

func (c *client) DeleteTopic(ctx context.Context, topic string) error {
	r, err := c.c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return r.Errors[topic]
}

func (c *client) ListTopics(ctx context.Context) ([]string, error) {
	r, err := c.c.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range r.Topics {
		names = append(names, t.Name)
	}
	return names, nil
}

func (c *client) Produce(ctx context.Context, topic string, o cells.ProduceOptions, records []cells.Record) error {
	if o.Idempotent {
		return c.produceIdempotent(ctx, topic, records)
	}
	acks := map[string]kafka.RequiredAcks{"0": kafka.RequireNone, "1": kafka.RequireOne, "all": kafka.RequireAll}[o.Acks]
	codec := map[string]kafka.Compression{"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}[o.Codec]
	w := &kafka.Writer{
		Addr: kafka.TCP(c.bootstrap), Topic: topic, RequiredAcks: acks, Compression: codec, BatchTimeout: time.Millisecond,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return m.WriterData.(int) }),
	}
	defer w.Close()
	var ms []kafka.Message
	for _, r := range records {
		ms = append(ms, kafka.Message{
			WriterData: int(r.Partition), Key: []byte(r.Key), Value: []byte(r.Value), Time: time.UnixMilli(r.TimestampMs),
			Headers: []kafka.Header{{Key: r.HeaderKey, Value: []byte(r.HeaderValue)}},
		})
	}
	return w.WriteMessages(ctx, ms...)
}

// produceIdempotent asks for a producer id, which is as far as this library goes: its writer has no
// idempotent mode.
func (c *client) produceIdempotent(ctx context.Context, topic string, records []cells.Record) error {
	r, err := c.c.InitProducerID(ctx, &kafka.InitProducerIDRequest{})
	if err != nil {
		return err
	}
	if r.Error != nil {
		return r.Error
	}
	if r.Producer.ProducerID < 0 {
		return fmt.Errorf("producer id %d", r.Producer.ProducerID)
	}
	return c.Produce(ctx, topic, cells.ProduceOptions{Codec: "none", Acks: "all"}, records)
}

func record(m kafka.Message) cells.Record {
	out := cells.Record{
		Key: string(m.Key), Value: string(m.Value), Partition: int32(m.Partition),
		Offset: m.Offset, TimestampMs: m.Time.UnixMilli(),
	}
	for _, h := range m.Headers {
		out.HeaderKey, out.HeaderValue = h.Key, string(h.Value)
	}
	return out
}

func (c *client) Assign(ctx context.Context, topic string, partition int32, from cells.Position, n int) ([]cells.Record, error) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{c.bootstrap}, Topic: topic, Partition: int(partition), MaxWait: 200 * time.Millisecond})
	defer r.Close()
	var err error
	switch from.Start {
	case cells.Beginning:
		err = r.SetOffset(kafka.FirstOffset)
	case cells.End:
		err = r.SetOffset(kafka.LastOffset)
	case cells.AtOffset:
		err = r.SetOffset(from.At)
	case cells.AtTime:
		err = r.SetOffsetAt(ctx, time.UnixMilli(from.At))
	}
	if err != nil {
		return nil, err
	}
	var out []cells.Record
	for len(out) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return out, err
		}
		out = append(out, record(m))
	}
	return out, nil
}

// group drives the library's ConsumerGroup, whose generations name the partitions that a member
// owns (its Reader hides them).
type group struct {
	g        *kafka.ConsumerGroup
	c        *client
	topic    string
	gens     chan *kafka.Generation
	stop     context.CancelFunc
	gen      *kafka.Generation
	messages chan kafka.Message
	next     map[int]int64
}

func (c *client) JoinGroup(_ context.Context, topic, name string) (cells.Group, error) {
	cg, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: name, Brokers: []string{c.bootstrap}, Topics: []string{topic}, HeartbeatInterval: 300 * time.Millisecond,
		StartOffset: kafka.FirstOffset, JoinGroupBackoff: 100 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	g := &group{g: cg, c: c, topic: topic, gens: make(chan *kafka.Generation), stop: stop, messages: make(chan kafka.Message), next: map[int]int64{}}
	go func() {
		for {
			gen, err := cg.Next(ctx)
			if ctx.Err() != nil || errors.Is(err, kafka.ErrGroupClosed) {
				return
			}
			if err != nil {
				continue
			}
			select {
			case g.gens <- gen:
			case <-ctx.Done():
				return
			}
		}
	}()
	return g, nil
}

func (g *group) start(gen *kafka.Generation) {
	g.gen = gen
	g.next = map[int]int64{}
	for _, a := range gen.Assignments[g.topic] {
		gen.Start(func(ctx context.Context) {
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{g.c.bootstrap}, Topic: g.topic, Partition: a.ID, MaxWait: 200 * time.Millisecond})
			defer r.Close()
			if r.SetOffset(a.Offset) != nil {
				return
			}
			for {
				m, err := r.ReadMessage(ctx)
				if err != nil {
					return
				}
				select {
				case g.messages <- m:
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

func (g *group) Poll(ctx context.Context) ([]cells.Record, error) {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	select {
	case gen := <-g.gens:
		g.start(gen)
	case m := <-g.messages:
		g.next[m.Partition] = m.Offset + 1
		return []cells.Record{record(m)}, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, nil
}

func (g *group) Commit(context.Context) error {
	if len(g.next) == 0 {
		return nil
	}
	return g.gen.CommitOffsets(map[string]map[int]int64{g.topic: g.next})
}

func (g *group) Assigned() int {
	if g.gen == nil {
		return 0
	}
	return len(g.gen.Assignments[g.topic])
}

func (g *group) Close() error {
	g.stop()
	return g.g.Close()
}
