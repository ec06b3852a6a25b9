// Command workload [-create] BOOTSTRAP writes what a broker writes most kinds of files for: all codecs, idempotent and plain producers, compacted,
// recompressed and append-time topics, several segments, and a group's commits. Topics that exist are used. It ends with an error if anything
// fails. With -create it makes the topics only.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	partitions = 2
	records    = 6000
)

// topic is one of the workload's.
type topic struct {
	name    string
	codec   kgo.CompressionCodec
	plain   bool
	configs map[string]string
}

func topics() []topic {
	return []topic{
		{name: "none", codec: kgo.NoCompression()},
		{name: "gzip", codec: kgo.GzipCompression()},
		{name: "snappy", codec: kgo.SnappyCompression()},
		{name: "lz4", codec: kgo.Lz4Compression()},
		{name: "zstd", codec: kgo.ZstdCompression()},
		{name: "plain-none", codec: kgo.NoCompression(), plain: true},
		{name: "plain-lz4", codec: kgo.Lz4Compression(), plain: true},
		{name: "compacted", codec: kgo.SnappyCompression(), configs: map[string]string{"cleanup.policy": "compact"}},
		{name: "recompressed", codec: kgo.NoCompression(), configs: map[string]string{"compression.type": "zstd"}},
		{name: "uncompressed", codec: kgo.GzipCompression(), configs: map[string]string{"compression.type": "uncompressed"}},
		{name: "append-time", codec: kgo.Lz4Compression(), configs: map[string]string{"message.timestamp.type": "LogAppendTime"}},
		{name: "append-time-none", codec: kgo.NoCompression(), configs: map[string]string{"message.timestamp.type": "LogAppendTime"}},
	}
}

func main() {
	createOnly := flag.Bool("create", false, "create the topics and write nothing")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: workload [-create] BOOTSTRAP")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := run(ctx, flag.Arg(0), *createOnly); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bootstrap string, createOnly bool) error {
	if createOnly {
		client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
		if err != nil {
			return err
		}
		defer client.Close()
		for _, t := range topics() {
			if err := create(ctx, client, t); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		return nil
	}
	for _, t := range topics() {
		if err := write(ctx, bootstrap, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return consume(ctx, bootstrap)
}

// write fills a topic; a third of its records are large, so that batches differ.
func write(ctx context.Context, bootstrap string, t topic) error {
	options := []kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(t.codec), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(20_000), kgo.MaxBufferedRecords(1000)}
	if t.plain {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := create(ctx, client, t); err != nil {
		return err
	}
	var failed error
	for i := range records {
		r := &kgo.Record{
			Topic: t.name, Partition: int32(i % partitions), Key: fmt.Appendf(nil, "key-%d", i%100),
			Value:   bytes.Repeat(fmt.Appendf(nil, "%d ", i), 20+i%3*100),
			Headers: []kgo.RecordHeader{{Key: "number", Value: fmt.Append(nil, i)}},
		}
		if t.name == "compacted" && i%10 == 0 {
			r.Value = nil
		}
		client.Produce(ctx, r, func(_ *kgo.Record, err error) { failed = errors.Join(failed, err) })
	}
	return errors.Join(client.Flush(ctx), failed)
}

func create(ctx context.Context, client *kgo.Client, t topic) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, partitions, 1
	for k, v := range t.configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return err
	}
	return nil
}

// consume reads everything in a group, with a commit after each poll.
func consume(ctx context.Context, bootstrap string) error {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup("workload"), kgo.ConsumeTopics(names...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer client.Close()
	for left := records * len(names); left > 0; {
		fetches := client.PollRecords(ctx, 5000)
		if err := fetches.Err(); err != nil {
			return err
		}
		left -= fetches.NumRecords()
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
	return nil
}
