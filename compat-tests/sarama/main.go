// Command sarama plays the matrix of ../cells with github.com/IBM/sarama.
package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"github.com/ottla/ottla/compat-tests/cells"
)

type client struct {
	bootstrap []string
	admin     sarama.ClusterAdmin
}

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.Group.Heartbeat.Interval = 300 * time.Millisecond
	c.Producer.Return.Successes = true
	c.Producer.Return.Errors = true
	return c
}

func main() {
	cells.Main(func(bootstrap string) (cells.Client, error) {
		admin, err := sarama.NewClusterAdmin([]string{bootstrap}, config())
		if err != nil {
			return nil, err
		}
		return &client{[]string{bootstrap}, admin}, nil
	})
}

func (c *client) CreateTopic(_ context.Context, topic string, partitions int32) error {
	return c.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1}, false)
}

func (c *client) DeleteTopic(_ context.Context, topic string) error {
	return c.admin.DeleteTopic(topic)
}

func (c *client) ListTopics(context.Context) ([]string, error) {
	m, err := c.admin.ListTopics()
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names, err
}

func (c *client) Produce(_ context.Context, topic string, o cells.ProduceOptions, records []cells.Record) error {
	conf := config()
	conf.Producer.Partitioner = sarama.NewManualPartitioner
	conf.Producer.Compression = map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[o.Codec]
	conf.Producer.RequiredAcks = map[string]sarama.RequiredAcks{"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll}[o.Acks]
	if o.Idempotent {
		conf.Producer.Idempotent = true
		conf.Net.MaxOpenRequests = 1
	}
	p, err := sarama.NewSyncProducer(c.bootstrap, conf)
	if err != nil {
		return err
	}
	defer p.Close()
	var ms []*sarama.ProducerMessage
	for _, r := range records {
		ms = append(ms, &sarama.ProducerMessage{
			Topic: topic, Partition: r.Partition, Key: sarama.StringEncoder(r.Key), Value: sarama.StringEncoder(r.Value),
			Headers:   []sarama.RecordHeader{{Key: []byte(r.HeaderKey), Value: []byte(r.HeaderValue)}},
			Timestamp: time.UnixMilli(r.TimestampMs),
		})
	}
	return p.SendMessages(ms)
}

func record(m *sarama.ConsumerMessage) cells.Record {
	out := cells.Record{
		Key: string(m.Key), Value: string(m.Value), Partition: m.Partition,
		Offset: m.Offset, TimestampMs: m.Timestamp.UnixMilli(),
	}
	for _, h := range m.Headers {
		out.HeaderKey, out.HeaderValue = string(h.Key), string(h.Value)
	}
	return out
}

func (c *client) Assign(ctx context.Context, topic string, partition int32, from cells.Position, n int) ([]cells.Record, error) {
	cl, err := sarama.NewClient(c.bootstrap, config())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	offset := sarama.OffsetOldest
	switch from.Start {
	case cells.End:
		offset = sarama.OffsetNewest
	case cells.AtOffset:
		offset = from.At
	case cells.AtTime:
		if offset, err = cl.GetOffset(topic, partition, from.At); err != nil {
			return nil, err
		}
	}
	consumer, err := sarama.NewConsumerFromClient(cl)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	pc, err := consumer.ConsumePartition(topic, partition, offset)
	if err != nil {
		return nil, err
	}
	defer pc.Close()
	var out []cells.Record
	for len(out) < n {
		select {
		case m := <-pc.Messages():
			out = append(out, record(m))
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	return out, nil
}

// group runs sarama's session loop on a goroutine; messages and marks pass through channels.
type group struct {
	g        sarama.ConsumerGroup
	cancel   context.CancelFunc
	done     chan struct{}
	messages chan *sarama.ConsumerMessage
	owns     atomic.Int64

	mu      sync.Mutex
	session sarama.ConsumerGroupSession
	polled  []*sarama.ConsumerMessage
}

func (c *client) JoinGroup(_ context.Context, topic, name string) (cells.Group, error) {
	cg, err := sarama.NewConsumerGroup(c.bootstrap, name, config())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &group{g: cg, cancel: cancel, done: make(chan struct{}), messages: make(chan *sarama.ConsumerMessage)}
	go func() {
		defer close(g.done)
		for ctx.Err() == nil {
			if err := cg.Consume(ctx, []string{topic}, g); err != nil {
				return
			}
		}
	}()
	return g, nil
}

// Setup implements sarama.ConsumerGroupHandler.
func (g *group) Setup(s sarama.ConsumerGroupSession) error {
	g.mu.Lock()
	g.session, g.polled = s, nil
	g.mu.Unlock()
	n := 0
	for _, ps := range s.Claims() {
		n += len(ps)
	}
	g.owns.Store(int64(n))
	return nil
}

// Cleanup implements sarama.ConsumerGroupHandler.
func (g *group) Cleanup(sarama.ConsumerGroupSession) error {
	g.owns.Store(0)
	return nil
}

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (g *group) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		select {
		case g.messages <- m:
		case <-s.Context().Done():
			return nil
		}
	}
	return nil
}

func (g *group) Poll(ctx context.Context) ([]cells.Record, error) {
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	select {
	case m := <-g.messages:
		g.mu.Lock()
		g.polled = append(g.polled, m)
		g.mu.Unlock()
		return []cells.Record{record(m)}, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, nil
}

func (g *group) Commit(context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.polled {
		g.session.MarkMessage(m, "")
	}
	g.session.Commit()
	return nil
}

func (g *group) Assigned() int { return int(g.owns.Load()) }

func (g *group) Close() error {
	g.cancel()
	<-g.done
	return g.g.Close()
}
