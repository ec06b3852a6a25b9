package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// valueBytes is the size of a record's value: its number and padding.
const valueBytes = 100

// producer writes numbered records to one partition, several requests in flight, each record until it is
// acknowledged by all replicas in sync.
type producer struct {
	client   *kgo.Client
	history  *history
	topic    string
	interval time.Duration
}

func (p *producer) run(ctx context.Context) {
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	var waiting sync.WaitGroup
	for number := int64(0); ctx.Err() == nil; number++ {
		value := make([]byte, valueBytes)
		binary.BigEndian.PutUint64(value, uint64(number))
		waiting.Add(1)
		// Not bound to ctx: what was sent is waited for, so that its fate is known.
		p.client.Produce(context.Background(), &kgo.Record{Topic: p.topic, Partition: p.history.partition, Value: value}, func(r *kgo.Record, err error) {
			defer waiting.Done()
			if err != nil {
				p.history.fail(number)
				return
			}
			p.history.ack(r.Offset, number)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	waiting.Wait()
}

// consumer reads all partitions from the start on, as a consumer without a group.
type consumer struct {
	client    *kgo.Client
	histories []*history
	// errors counts what fetches failed with.
	errors map[string]int
}

func (c *consumer) run(ctx context.Context) {
	for {
		fetches := c.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(_ string, partition int32, err error) {
			c.errors[fmt.Sprintf("partition %d: %v", partition, err)]++
			var loss *kgo.ErrDataLoss
			if errors.As(err, &loss) && int(partition) < len(c.histories) {
				h := c.histories[partition]
				h.mu.Lock()
				h.violate("a consumer saw the log cut: %v", err)
				h.mu.Unlock()
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			c.histories[r.Partition].see(r.Offset, int64(binary.BigEndian.Uint64(r.Value)))
		})
	}
}
