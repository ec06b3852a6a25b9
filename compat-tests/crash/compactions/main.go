// Command compactions prepares on a broker what record-compactions.sh lets it compact:
//
//	compactions create BOOTSTRAP      topics that aren't compacted yet
//	compactions fill 1|2 BOOTSTRAP    batches for the first or the second compaction
//	compactions policy P BOOTSTRAP    sets cleanup.policy of all
//	compactions topics                lists them, with delete.retention.ms
//
// Record timestamps, by which the broker rolls segments, begin at START (ms). Keys, values and batches are fixed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// topic is a case. Of a batch each word is a record, "key=value" or "key" for a tombstone, "=value" without a key. A batch that begins with
// "p" and a number is of that idempotent producer; "begin N", "commit N" and "abort N" are of a transactional one; "roll" begins a segment.
type topic struct {
	name        string
	codec       kgo.CompressionCodec
	retentionMs int
	configs     map[string]string
	fills       [2][]string
}

func topics() []topic {
	plain := [2][]string{
		{"p1 a=1 b=1 c=1 a=2", "p1 d=1 a=3 e=1", "=nokey f=1 d", "p2 g=1 h=1", "roll", "p1 c=2 b", "x=1 y=1 z=1", "p2 x=2", "roll", "p3 h=2 i=1 i=2", "p3 e", "roll", "p4 q=1"},
		{"p1 j=1 j=2", "a=4 d=2", "roll", "p2 j=3 z", "roll", "p1 r=1"},
	}
	all := []topic{
		{name: "tombstones", codec: kgo.NoCompression(), retentionMs: 86_400_000, fills: plain},
		{name: "tombstones-expired", codec: kgo.NoCompression(), retentionMs: 0, fills: plain},
		{name: "log-append-time", codec: kgo.NoCompression(), retentionMs: 0, configs: map[string]string{"message.timestamp.type": "LogAppendTime", "segment.ms": "700"}, fills: plain},
		{name: "transactions", codec: kgo.NoCompression(), retentionMs: 0, fills: transactions},
		{name: "transactions-kept", codec: kgo.Lz4Compression(), retentionMs: 86_400_000, fills: transactions},
		{name: "empty-batches", codec: kgo.NoCompression(), retentionMs: 0, fills: [2][]string{
			{"p1 a=1 b=1", "p1 a=2 b=2", "p2 c=1", "p2 c=2", "p3 d", "roll", "a=3 b=3 c=3 d=3", "roll", "w=1"},
			{"p1 a=4", "roll", "p9 a=5", "roll", "w=2"},
		}},
		{name: "nothing-dropped", codec: kgo.NoCompression(), retentionMs: 0, fills: [2][]string{
			{"a=1", "roll", "b=1 c=1", "roll", "d=1", "roll", "e=1"},
			{"f=1", "roll", "g=1", "roll", "h=1"},
		}},
	}
	for name, codec := range map[string]kgo.CompressionCodec{"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()} {
		all = append(all, topic{name: name, codec: codec, retentionMs: 0, fills: plain})
	}
	return all
}

var transactions = [2][]string{
	{
		"begin 1", "t1 a=1 b=1", "begin 2", "t2 a=2 c=1", "abort 2", "t1 a=3", "commit 1", "roll",
		"begin 1", "t1 a=4 d=1", "begin 2", "t2 e=1 d", "commit 2", "abort 1", "plain=1 e=2", "roll",
		"begin 1", "t1 f=1", "roll", "t1 f=2", "abort 1", "begin 2", "t2 g=1", "commit 2", "begin 1", "commit 1", "roll", "h=1",
	},
	{"begin 2", "t2 g=2", "roll", "t2 a=9 b", "commit 2", "begin 1", "t1 g=3", "abort 1", "g=4", "roll", "w=1"},
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "topics":
		for _, t := range topics() {
			fmt.Println(t.name, t.retentionMs)
		}
		return nil
	case len(args) == 2 && args[0] == "create":
		return admin(ctx, args[1], create)
	case len(args) == 3 && args[0] == "policy":
		return admin(ctx, args[2], func(ctx context.Context, c *kgo.Client, t topic) error { return policy(ctx, c, t, args[1]) })
	case len(args) == 3 && args[0] == "fill" && (args[1] == "1" || args[1] == "2"):
		for _, t := range topics() {
			if err := fill(ctx, args[2], t, int(args[1][0]-'1')); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
		return nil
	}
	return errors.New("usage: see the head of main.go")
}

func admin(ctx context.Context, bootstrap string, each func(context.Context, *kgo.Client, topic) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.MaxVersions(kversion.V3_0_0()))
	if err != nil {
		return err
	}
	defer client.Close()
	for _, t := range topics() {
		if err := each(ctx, client, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

func create(ctx context.Context, client *kgo.Client, t topic) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, 1, 1
	configs := map[string]string{
		"cleanup.policy": "delete", "retention.ms": "-1", "segment.ms": "60000", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": fmt.Sprint(t.retentionMs),
	}
	for k, v := range t.configs {
		configs[k] = v
	}
	for k, v := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func policy(ctx context.Context, client *kgo.Client, t topic, value string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, t.name
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = "cleanup.policy", &value
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Resources[0].ErrorCode)
}

// fill plays the batches of a topic. Its producers live for one fill.
func fill(ctx context.Context, bootstrap string, t topic, which int) error {
	clients := map[string]*kgo.Client{}
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	client := func(name string) (*kgo.Client, error) {
		if c := clients[name]; c != nil {
			return c, nil
		}
		options := []kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.ProducerBatchCompression(t.codec), kgo.ProducerLinger(100 * time.Millisecond)}
		switch name[0] {
		case 't':
			options = append(options, kgo.TransactionalID(t.name+name))
		case 'n':
			options = append(options, kgo.DisableIdempotentWrite())
		}
		c, err := kgo.NewClient(options...)
		clients[name] = c
		return c, err
	}
	start, err := strconv.ParseInt(os.Getenv("START"), 10, 64)
	if err != nil {
		return err
	}
	at := time.UnixMilli(start).Add(time.Duration(which) * time.Hour)
	for _, line := range t.fills[which] {
		words := strings.Fields(line)
		if words[0] == "roll" {
			at = at.Add(2 * time.Minute)
			if t.configs["segment.ms"] != "" {
				time.Sleep(time.Second) // It is the broker's time that counts.
			}
			continue
		}
		if words[0] == "begin" || words[0] == "commit" || words[0] == "abort" {
			c, err := client("t" + words[1])
			if err != nil {
				return err
			}
			if words[0] == "begin" {
				err = c.BeginTransaction()
			} else {
				err = c.EndTransaction(ctx, kgo.TransactionEndTry(words[0] == "commit"))
			}
			if err != nil {
				return err
			}
			continue
		}
		name := "none"
		if f := words[0]; len(f) == 2 && (f[0] == 'p' || f[0] == 't') {
			name, words = f, words[1:]
		}
		c, err := client(name)
		if err != nil {
			return err
		}
		var records []*kgo.Record
		for _, w := range words {
			at = at.Add(7 * time.Millisecond) // So that a batch's base timestamp moves when its first record goes.
			key, value, ok := strings.Cut(w, "=")
			r := &kgo.Record{Topic: t.name, Timestamp: at}
			if key != "" {
				r.Key = []byte(key)
			}
			if ok {
				r.Value = []byte(strings.Repeat(value, 30))
				r.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte(key)}}
			}
			records = append(records, r)
		}
		if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}
