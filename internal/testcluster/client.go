package testcluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/wire"
)

// topic is what clients write to and read from.
const topic = "t"

const (
	// requestTimeout is how long clients wait for an answer, and what they tell brokers.
	requestTimeout = 3 * time.Second
	// maxBackoff is the longest pause between two attempts.
	maxBackoff = 200 * time.Millisecond
)

// client is what producers, consumers and the committer have in common: connections, one to each node, and what
// they know of who leads. It is used by one goroutine.
type client struct {
	cluster *cluster
	history *history
	name    string
	rng     *rand.Rand
	conns   map[int32]*wire.Client
	// leaders and epochs are the partitions' leaders as last heard of.
	leaders, epochs map[int32]int32
	topicID         [16]byte
}

func newClient(c *cluster, h *history, name string) *client {
	return &client{cluster: c, history: h, name: name, rng: rand.New(rand.NewPCG(c.seed, hash(name, "", 0))), conns: map[int32]*wire.Client{},
		leaders: map[int32]int32{}, epochs: map[int32]int32{}}
}

func (c *client) close() {
	for _, conn := range c.conns {
		_ = conn.Close() // Nobody waits for anything.
	}
}

// anyNode is some node of the cluster.
func (c *client) anyNode() int32 { return int32(1 + c.rng.IntN(len(c.cluster.nodes))) }

// ask sends a request to a node. After an error the connection isn't used again.
func (c *client) ask(node int32, req kmsg.Request) (kmsg.Response, error) {
	responses, err := c.askAll(node, []kmsg.Request{req})
	if err != nil {
		return nil, err
	}
	return responses[0], nil
}

// askAll sends requests to a node without waiting in between, and returns the responses up to the first that
// doesn't come, of which err tells. After an error the connection isn't used again.
func (c *client) askAll(node int32, reqs []kmsg.Request) (responses []kmsg.Response, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	conn, err := c.connect(ctx, node)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close() // What is told of it is err.
			delete(c.conns, node)
		}
	}()
	var sent []*wire.Pending
	for _, req := range reqs {
		p, err := conn.Start(ctx, req)
		if err != nil {
			return nil, err
		}
		sent = append(sent, p)
	}
	for _, p := range sent {
		resp, err := p.Wait(ctx)
		if err != nil {
			return responses, err
		}
		responses = append(responses, resp)
	}
	return responses, nil
}

// connect returns the connection to a node, a new one if there is none that lives.
func (c *client) connect(ctx context.Context, node int32) (*wire.Client, error) {
	if conn := c.conns[node]; conn != nil {
		select {
		case <-conn.Done():
		default:
			return conn, nil
		}
	}
	conn, err := wire.Dial(ctx, wire.ClientConfig{Address: fmt.Sprintf("n%d:9092", node), ClientID: c.name, Clock: clock.System{}, Dial: c.cluster.network.dialer(c.name, nil)})
	if err == nil {
		c.conns[node] = conn
	}
	return conn, err
}

// refresh learns who leads, from some node.
func (c *client) refresh() error {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	t := kmsg.NewMetadataRequestTopic()
	name := topic
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	resp, err := c.ask(c.anyNode(), req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.MetadataResponse).Topics {
		if t.ErrorCode != 0 || t.Topic == nil || *t.Topic != topic {
			continue
		}
		c.topicID = t.TopicID
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				c.history.leader(term{p.Partition, p.LeaderEpoch}, p.Leader)
			}
			if p.LeaderEpoch >= c.epochs[p.Partition] {
				c.leaders[p.Partition], c.epochs[p.Partition] = p.Leader, p.LeaderEpoch
			}
		}
	}
	return nil
}

// leader is who leads a partition, as far as the client knows; false if it doesn't.
func (c *client) leader(partition int32) (node, epoch int32, ok bool) {
	node, ok = c.leaders[partition]
	return node, c.epochs[partition], ok && node > 0
}

// backoff waits after a failed attempt, longer with each.
func (c *client) backoff(attempt int) {
	d := min(maxBackoff, 10*time.Millisecond<<min(attempt, 10))
	time.Sleep(d/2 + time.Duration(c.rng.Int64N(int64(d/2)+1)))
}

// createTopic creates the topic, and waits for it.
func (c *client) createTopic(partitions int32) error {
	for attempt := 0; ; attempt++ {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = 7, int32(requestTimeout/time.Millisecond)
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, int16(len(c.cluster.nodes))
		req.Topics = append(req.Topics, t)
		resp, err := c.ask(c.anyNode(), req)
		if err == nil {
			err = kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
		}
		if err == nil || errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		if attempt > 100 {
			return fmt.Errorf("create the topic: %w", err)
		}
		c.backoff(attempt)
	}
}
