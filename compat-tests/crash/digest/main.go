// Command digest BOOTSTRAP prints, for each partition that isn't internal, its offsets and a hash over all that consumers see of its
// records, with either isolation level and with control records; and each offset that groups have committed. Two brokers that print the same hold the same.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// partition is what was seen of one.
type partition struct {
	topic        string
	number       int32
	start, end   int64
	records      int
	lastConsumed int64
	hash         hash.Hash
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: digest BOOTSTRAP")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bootstrap string) error {
	// Versions that name topics, and one group a request.
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.MaxVersions(kversion.V2_8_0()))
	if err != nil {
		return err
	}
	defer client.Close()
	partitions, err := list(ctx, client)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		line := fmt.Sprintf("%s-%d %d %d", p.topic, p.number, p.start, p.end)
		for _, level := range []kgo.IsolationLevel{kgo.ReadUncommitted(), kgo.ReadCommitted()} {
			p.hash, p.records, p.lastConsumed = sha256.New(), 0, 0
			if err := p.read(ctx, bootstrap, level); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
			line += fmt.Sprintf(" %d records %s", p.records, hex.EncodeToString(p.hash.Sum(nil))[:32])
		}
		fmt.Println(line)
	}
	return printGroups(ctx, client, partitions)
}

// printGroups prints what groups have committed for the partitions.
func printGroups(ctx context.Context, client *kgo.Client, partitions []*partition) error {
	groups, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(groups.ErrorCode)
	}
	if err != nil {
		return err
	}
	var lines []string
	for _, g := range groups.Groups {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group = g.Group
		for _, p := range partitions {
			req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: p.topic, Partitions: []int32{p.number}})
		}
		resp, err := req.RequestWith(ctx, client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("group %s: %w", g.Group, err)
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 || p.Offset >= 0 {
					lines = append(lines, fmt.Sprintf("group %s %s-%d committed %d error %d", g.Group, t.Topic, p.Partition, p.Offset, p.ErrorCode))
				}
			}
		}
	}
	sort.Strings(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	return nil
}

// list asks for all partitions, sorted, and for where they start and end.
func list(ctx context.Context, client *kgo.Client) ([]*partition, error) {
	req := kmsg.NewPtrMetadataRequest()
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	var out []*partition
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil || t.IsInternal || t.Topic == nil {
			continue
		}
		for _, p := range t.Partitions {
			out = append(out, &partition{topic: *t.Topic, number: p.Partition})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].topic < out[j].topic || out[i].topic == out[j].topic && out[i].number < out[j].number
	})
	for _, p := range out {
		if p.start, err = offset(ctx, client, p, -2); err == nil {
			p.end, err = offset(ctx, client, p, -1)
		}
		if err != nil {
			return nil, fmt.Errorf("%s-%d: %w", p.topic, p.number, err)
		}
	}
	return out, nil
}

// offset asks for the offset of a special timestamp.
func offset(ctx context.Context, client *kgo.Client, p *partition, timestamp int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	topic, part := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	topic.Topic, part.Partition, part.Timestamp = p.topic, p.number, timestamp
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("the answer lacks the partition")
	}
	return resp.Topics[0].Partitions[0].Offset, kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}

// read consumes from start to end.
func (p *partition) read(ctx context.Context, bootstrap string, level kgo.IsolationLevel) error {
	if p.start == p.end {
		return nil
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		p.topic: {p.number: kgo.NewOffset().At(p.start)},
	}))
	if err != nil {
		return err
	}
	defer client.Close()
	for p.lastConsumed < p.end-1 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Fprintf(p.hash, "%d %d %d %d %t %q %q", r.Offset, r.Timestamp.UnixMilli(), r.Attrs.TimestampType(), r.LeaderEpoch, r.Value == nil, r.Key, r.Value)
			fmt.Fprintf(p.hash, " %d %d", r.ProducerID, r.ProducerEpoch)
			for _, h := range r.Headers {
				fmt.Fprintf(p.hash, " %s=%q", h.Key, h.Value)
			}
			p.records++
			p.lastConsumed = r.Offset
		})
	}
	return nil
}
