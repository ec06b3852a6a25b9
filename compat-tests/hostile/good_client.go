package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	goodTopic      = "good"
	goodPartitions = 3
	// goodPace is how often the client produces goodRecords to each partition.
	goodPace    = 10 * time.Millisecond
	goodRecords = 5
	// catchUpTimeout is how long the last records may take to the consumer.
	catchUpTimeout = 20 * time.Second
)

// goodClient produces with acks=all and consumes in a group, and keeps account of what a user would notice.
type goodClient struct {
	produce, consume *kgo.Client
	// The client's two goroutines and what ends each.
	stopProducing, stopConsuming context.CancelFunc
	producing, consuming         sync.WaitGroup
	// progress says that something was consumed.
	progress chan struct{}

	// produced and consumed are how many records each partition had so far.
	produced, consumed [goodPartitions]atomic.Int64
	disconnects        atomic.Int64

	mu sync.Mutex
	// latencies are those of acknowledgements, one a batch; guarded by mu as is failure.
	latencies []time.Duration
	failure   error
}

// startGood creates the client's topic and lets it work until stop. It returns once records go through.
func startGood(ctx context.Context, address string) (*goodClient, error) {
	g := &goodClient{progress: make(chan struct{}, 1)}
	options := []kgo.Opt{kgo.SeedBrokers(address), kgo.WithHooks(g), kgo.ClientID("good"), kgo.ConnIdleTimeout(15 * time.Minute)}
	var err error
	g.produce, err = kgo.NewClient(append(options, kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))...)
	if err != nil {
		return nil, err
	}
	if err := createTopic(ctx, g.produce, goodTopic, goodPartitions); err != nil {
		g.produce.Close()
		return nil, err
	}
	g.consume, err = kgo.NewClient(append(options, kgo.ConsumerGroup("good"), kgo.ConsumeTopics(goodTopic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(time.Second))...)
	if err != nil {
		g.produce.Close()
		return nil, err
	}
	produceContext, stopProducing := context.WithCancel(ctx)
	consumeContext, stopConsuming := context.WithCancel(ctx)
	g.stopProducing, g.stopConsuming = stopProducing, stopConsuming
	g.consuming.Go(func() { g.consumeAll(consumeContext) })
	g.producing.Go(func() { g.produceAll(produceContext) })
	for g.consumed[0].Load() == 0 {
		select {
		case <-g.progress:
		case <-time.After(catchUpTimeout):
			_, err := g.stop()
			return nil, errors.Join(errors.New("nothing was consumed"), err)
		}
	}
	return g, nil
}

// createTopic creates a topic with one replica a partition.
func createTopic(ctx context.Context, client *kgo.Client, topic string, partitions int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

// OnBrokerDisconnect implements kgo.HookBrokerDisconnect.
func (g *goodClient) OnBrokerDisconnect(kgo.BrokerMetadata, net.Conn) { g.disconnects.Add(1) }

// value is what record number n of a partition holds.
func value(partition int32, n int64) []byte {
	r := rand.New(rand.NewPCG(uint64(partition), uint64(n)))
	b := binary.BigEndian.AppendUint64(nil, uint64(n))
	return append(b, bytes.Repeat([]byte{byte(r.Uint32())}, 10+r.IntN(1000))...)
}

func (g *goodClient) produceAll(ctx context.Context) {
	tick := time.NewTicker(goodPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var records []*kgo.Record
		for p := range int32(goodPartitions) {
			for i := range int64(goodRecords) {
				records = append(records, &kgo.Record{Topic: goodTopic, Partition: p, Value: value(p, g.produced[p].Load()+i)})
			}
		}
		start := time.Now()
		// Not cancelled by ctx: a batch that was begun is to be finished.
		if err := g.produce.ProduceSync(context.WithoutCancel(ctx), records...).FirstErr(); err != nil {
			g.fail(fmt.Errorf("producing: %w", err))
			return
		}
		g.mu.Lock()
		g.latencies = append(g.latencies, time.Since(start))
		g.mu.Unlock()
		for p := range goodPartitions {
			g.produced[p].Add(goodRecords)
		}
	}
}

func (g *goodClient) consumeAll(ctx context.Context) {
	for ctx.Err() == nil {
		fetches := g.consume.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) {
			if ctx.Err() == nil {
				g.fail(fmt.Errorf("consuming %s-%d: %w", topic, partition, err))
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			n := g.consumed[r.Partition].Add(1) - 1
			if r.Offset != n || !bytes.Equal(r.Value, value(r.Partition, n)) {
				g.fail(fmt.Errorf("partition %d: record %d at offset %d is not what was produced", r.Partition, n, r.Offset))
			}
		})
		select {
		case g.progress <- struct{}{}:
		default:
		}
	}
}

// summary is what a user would say of the time until stop.
type summary struct {
	records, disconnects int64
	// median, p99 and longest are times from produce to acknowledgement.
	median, p99, longest time.Duration
}

func (s summary) String() string {
	return fmt.Sprintf("good client: %d records, acknowledged in %s (median), %s (p99), %s (longest); %d disconnects",
		s.records, s.median.Round(time.Microsecond), s.p99.Round(time.Microsecond), s.longest.Round(time.Microsecond), s.disconnects)
}

// stop ends the client once it has consumed all that it produced.
func (g *goodClient) stop() (summary, error) {
	g.stopProducing()
	g.producing.Wait()
	timeout := time.NewTimer(catchUpTimeout)
	defer timeout.Stop()
	for late := false; !late && g.failed() == nil && !g.caughtUp(); {
		select {
		case <-g.progress:
		case <-timeout.C:
			late = true
		}
	}
	s := summary{disconnects: g.disconnects.Load()}
	g.stopConsuming()
	g.consuming.Wait()
	g.produce.Close()
	g.consume.CloseAllowingRebalance()
	for p := range goodPartitions {
		produced, consumed := g.produced[p].Load(), g.consumed[p].Load()
		s.records += produced
		if produced != consumed {
			g.fail(fmt.Errorf("partition %d: %d records produced, %d consumed", p, produced, consumed))
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.latencies); n > 0 {
		slices.Sort(g.latencies)
		s.median, s.p99, s.longest = g.latencies[n/2], g.latencies[n*99/100], g.latencies[n-1]
	}
	return s, g.failure
}

func (g *goodClient) caughtUp() bool {
	for p := range goodPartitions {
		if g.consumed[p].Load() < g.produced[p].Load() {
			return false
		}
	}
	return true
}

func (g *goodClient) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure == nil {
		g.failure = err
	}
}

func (g *goodClient) failed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}
