package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	interval = 4 * time.Millisecond // between two records
	enough   = 200                  // records that were acknowledged and read before the client calls itself ready
	patience = 90 * time.Second     // for what is left when the work ends
)

func work(ctx context.Context, brokers []string, topic, group string, stop io.Reader) error {
	c := newCounts()
	producing, endProducing := context.WithCancel(ctx)
	consuming, endConsuming := context.WithCancel(ctx)
	defer endProducing()
	defer endConsuming()
	var producer, consumers sync.WaitGroup
	producer.Go(func() { produce(producing, c, brokers, topic) })
	for range 2 {
		consumers.Go(func() { consume(consuming, c, brokers, topic, group) })
	}
	for c.size(c.acked) < enough || c.size(c.read) < enough {
		time.Sleep(20 * time.Millisecond)
	}
	// The two have joined one after the other; from here on nothing is to move.
	time.Sleep(8 * time.Second)
	c.mu.Lock()
	c.ready = true
	c.mu.Unlock()
	fmt.Println("ready")
	<-ended(stop, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.killing = true
	})
	endProducing()
	producer.Wait()
	for until := time.Now().Add(patience); c.size(c.read) < c.size(c.acked) && time.Now().Before(until); {
		time.Sleep(50 * time.Millisecond)
	}
	c.mu.Lock()
	c.ready = false
	c.mu.Unlock()
	endConsuming()
	consumers.Wait()
	behind, err := readAll(ctx, c, brokers, topic, group)
	if err != nil {
		return err
	}
	c.report("franz-go", behind)
	return nil
}

func produce(ctx context.Context, c *counts, brokers []string, topic string) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		c.error("producer", err)
		return
	}
	defer cl.Close()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		value := strconv.Itoa(n)
		cl.Produce(context.Background(), &kgo.Record{Key: []byte(value), Value: []byte(value)}, func(_ *kgo.Record, err error) {
			if err != nil {
				c.error("produce", err)
				return
			}
			c.add(c.acked, value)
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	c.error("flush", cl.Flush(context.Background()))
}

func consume(ctx context.Context, c *counts, brokers []string, topic, group string) {
	var logger kgo.Logger
	if os.Getenv("ROLLING_LOG") != "" {
		logger = kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, func() string { return time.Now().Format("15:04:05.000 ") })
	}
	moved := func(context.Context, *kgo.Client, map[string][]int32) { c.rebalanced() }
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.WithLogger(logger),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.OnPartitionsAssigned(moved), kgo.OnPartitionsRevoked(moved), kgo.OnPartitionsLost(moved))
	if err != nil {
		c.error("consumer", err)
		return
	}
	defer cl.Close()
	for ctx.Err() == nil {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(_ string, _ int32, err error) { c.error("fetch", err) })
		fetches.EachRecord(func(r *kgo.Record) { c.add(c.read, string(r.Value)) })
		c.error("commit", cl.CommitUncommittedOffsets(context.Background()))
	}
}

// readAll reads the topic from its start to its end without a group, and says how many records the group hasn't committed.
func readAll(ctx context.Context, c *counts, brokers []string, topic, group string) (behind int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ends, err := offsets(ctx, cl, topic)
	if err != nil {
		return 0, err
	}
	left := int64(0)
	for _, end := range ends {
		left += end
	}
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return 0, fmt.Errorf("with %d records left: %w", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { c.add(c.stored, string(r.Value)); left-- })
	}
	committed := kmsg.NewPtrOffsetFetchRequest()
	committed.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	committed.Groups = append(committed.Groups, g)
	resp, err := committed.RequestWith(ctx, cl)
	if err != nil {
		return 0, err
	}
	for _, end := range ends {
		behind += end
	}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				behind -= p.Offset
			}
		}
	}
	return behind, nil
}

// offsets asks each leader for the ends of the topic's partitions.
func offsets(ctx context.Context, cl *kgo.Client, topic string) (map[int32]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := range int32(6) {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = i, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	ends := map[int32]int64{}
	for _, shard := range cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, err
				}
				ends[p.Partition] = p.Offset
			}
		}
	}
	return ends, nil
}
