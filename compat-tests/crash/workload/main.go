// Command workload [-create] [-transactions] BOOTSTRAP writes what a broker writes most kinds of files for: all codecs, idempotent and plain producers,
// compacted, recompressed and append-time topics, segments that retention deletes, deleted records, several segments, and a group's commits. Topics
// that exist are used. It ends with an error if anything fails. With -create it makes the topics only, and the group's; the topics of transactions are filled
// only with -transactions.
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
	"github.com/twmb/franz-go/pkg/kversion"
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
	// uneven says that not all records stay, so that the group doesn't read them.
	uneven bool
	// transactions says that a transactional producer writes it.
	transactions bool
}

// compact compacts as soon as a segment is closed, which holds a minute of record time.
var compact = map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "0", "segment.ms": "60000"}

func topics() []topic {
	return []topic{
		{name: "none", codec: kgo.NoCompression()},
		{name: "gzip", codec: kgo.GzipCompression()},
		{name: "snappy", codec: kgo.SnappyCompression()},
		{name: "lz4", codec: kgo.Lz4Compression()},
		{name: "zstd", codec: kgo.ZstdCompression()},
		{name: "plain-none", codec: kgo.NoCompression(), plain: true},
		{name: "plain-lz4", codec: kgo.Lz4Compression(), plain: true},
		{name: "compacted", codec: kgo.SnappyCompression(), configs: compact, uneven: true},
		{name: "compacted-none", codec: kgo.NoCompression(), configs: compact, uneven: true},
		{name: "compacted-plain-zstd", codec: kgo.ZstdCompression(), configs: compact, uneven: true, plain: true},
		{name: "retention", codec: kgo.NoCompression(), configs: map[string]string{"retention.bytes": "600000"}, uneven: true},
		{name: "records-deleted", codec: kgo.NoCompression(), uneven: true},
		{name: "transactions", codec: kgo.Lz4Compression(), transactions: true, uneven: true},
		{name: "transactions-compacted", codec: kgo.NoCompression(), configs: compact, transactions: true, uneven: true},
		{name: "recompressed", codec: kgo.NoCompression(), configs: map[string]string{"compression.type": "zstd"}},
		{name: "uncompressed", codec: kgo.GzipCompression(), configs: map[string]string{"compression.type": "uncompressed"}},
		{name: "append-time", codec: kgo.Lz4Compression(), configs: map[string]string{"message.timestamp.type": "LogAppendTime"}},
		{name: "append-time-none", codec: kgo.NoCompression(), configs: map[string]string{"message.timestamp.type": "LogAppendTime"}},
	}
}

func main() {
	createOnly := flag.Bool("create", false, "create the topics and write nothing but a commit")
	transactions := flag.Bool("transactions", false, "fill the topics of transactions too")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: workload [-create] [-transactions] BOOTSTRAP")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, flag.Arg(0), *createOnly, *transactions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bootstrap string, createOnly, transactions bool) error {
	// Versions that name topics, not their ids.
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.MaxVersions(kversion.V3_0_0()))
	if err != nil {
		return err
	}
	defer client.Close()
	for _, t := range topics() {
		if err := create(ctx, client, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if createOnly {
		// A cluster takes producer ids in blocks: after its next start it gives none that another cluster's records may have.
		if _, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(ctx, client); err != nil {
			return err
		}
		return commitOne(ctx, client)
	}
	for _, t := range topics() {
		switch {
		case !t.transactions:
			err = write(ctx, bootstrap, t)
		case transactions:
			err = transact(ctx, bootstrap, t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if err := deleteRecords(ctx, client, "records-deleted", records/partitions/3); err != nil {
		return err
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
	var failed error
	for i := range records {
		client.Produce(ctx, record(t, i), func(_ *kgo.Record, err error) { failed = errors.Join(failed, err) })
	}
	return errors.Join(client.Flush(ctx), failed)
}

func record(t topic, i int) *kgo.Record {
	r := &kgo.Record{
		Topic: t.name, Partition: int32(i % partitions), Key: fmt.Appendf(nil, "key-%d", i%100),
		Value:   bytes.Repeat(fmt.Appendf(nil, "%d ", i), 20+i%3*100),
		Headers: []kgo.RecordHeader{{Key: "number", Value: fmt.Append(nil, i)}},
	}
	if t.configs["cleanup.policy"] == "compact" {
		r.Timestamp = time.Now().Add(-time.Hour + time.Duration(i)*100*time.Millisecond)
		if i%17 == 0 {
			r.Key = fmt.Appendf(nil, "once-%d", i)
		}
		if i%10 == 0 {
			r.Value = nil
		}
	}
	return r
}

// transact fills a topic with transactions of two producers, of which every third is aborted.
func transact(ctx context.Context, bootstrap string, t topic) error {
	const each = 300
	for producer := range 2 {
		client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(t.codec), kgo.RecordPartitioner(kgo.ManualPartitioner()),
			kgo.ProducerBatchMaxBytes(20_000), kgo.TransactionalID(fmt.Sprintf("%s-%d", t.name, producer)))
		if err != nil {
			return err
		}
		defer client.Close()
		for i := 0; i < records/2; i += each {
			if err := client.BeginTransaction(); err != nil {
				return err
			}
			for j := range each {
				client.Produce(ctx, record(t, producer*records/2+i+j), nil)
			}
			if err := client.Flush(ctx); err != nil {
				return err
			}
			if err := client.EndTransaction(ctx, kgo.TransactionEndTry(i/each%3 != 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRecords moves the log start of a topic's partitions.
func deleteRecords(ctx context.Context, client *kgo.Client, topic string, offset int64) error {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	for p := range int32(partitions) {
		one := kmsg.NewDeleteRecordsRequestTopicPartition()
		one.Partition, one.Offset = p, offset
		t.Partitions = append(t.Partitions, one)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, p := range resp.Topics[0].Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// commitOne commits an offset for a group of its own, so that __consumer_offsets is there.
func commitOne(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = "create", -1
	t, p := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	t.Topic, p.Offset = "none", 0
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	for {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
		if err == nil || !kerr.IsRetriable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
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

// consume reads everything but uneven topics in a group, with a commit after each poll.
func consume(ctx context.Context, bootstrap string) error {
	var names []string
	for _, t := range topics() {
		if !t.uneven {
			names = append(names, t.name)
		}
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
