package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// broker is one of those that are compared, with a copy of the data set as a topic for each round.
type broker struct {
	node   *node.Node
	data   string
	client *kgo.Client
	// activeOffset is where the active segment begins: there a compaction ends.
	activeOffset int64
}

func topic(round int) string { return fmt.Sprintf("round-%d", round) }

// prepare starts a broker, creates the topics, and starts it again with the data set in each.
func prepare(ctx context.Context, dir, source string, rounds int, start func(dir string) (*node.Node, error)) (*broker, error) {
	n, err := start(dir)
	if err != nil {
		return nil, err
	}
	b := &broker{data: node.DataDir(dir)}
	err = b.connect(n)
	for round := 0; err == nil && round < rounds; round++ {
		err = createTopic(ctx, b.client, topic(round), "delete")
	}
	if err = errors.Join(err, n.Stop()); err != nil {
		return nil, err
	}
	for round := range rounds {
		if err := place(source, b.partition(round)); err != nil {
			return nil, err
		}
	}
	if b.activeOffset, err = lastBaseOffset(b.partition(0)); err != nil {
		return nil, err
	}
	if n, err = start(dir); err != nil {
		return nil, err
	}
	if err := b.connect(n); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return b, nil
}

func (b *broker) partition(round int) string { return filepath.Join(b.data, topic(round)+"-0") }

func (b *broker) connect(n *node.Node) (err error) {
	b.node = n
	b.client, err = kgo.NewClient(kgo.SeedBrokers(n.Address))
	return err
}

// lastBaseOffset is the base offset of a partition's active segment.
func lastBaseOffset(partition string) (offset int64, err error) {
	logs, err := filepath.Glob(filepath.Join(partition, "*.log"))
	if err != nil || len(logs) == 0 {
		return 0, fmt.Errorf("no segment in %s (%w)", partition, err)
	}
	_, err = fmt.Sscanf(filepath.Base(logs[len(logs)-1]), "%d.log", &offset)
	return offset, err
}

// measurement is one compaction.
type measurement struct {
	took time.Duration
	cpu  time.Duration
	// bytes is the size of all segments afterwards.
	bytes int64
	rss   int64
}

// pollEvery is how often the checkpoint is looked at.
const pollEvery = 2 * time.Millisecond

// compact makes the topic of a round a compacted one and waits until the cleaner's checkpoint tells that it is done.
func (b *broker) compact(ctx context.Context, round int) (m measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	before, err := proc.Read(b.node.Pid)
	if err != nil {
		return m, err
	}
	began := time.Now()
	if err := alterTopic(ctx, b.client, topic(round), "cleanup.policy", "compact"); err != nil {
		return m, err
	}
	want := fmt.Sprintf("%s 0 %d", topic(round), b.activeOffset)
	for !b.cleaned(want) {
		select {
		case <-ctx.Done():
			return m, fmt.Errorf("not compacted: %w", ctx.Err())
		case <-time.After(pollEvery):
		}
	}
	m.took = time.Since(began)
	after, err := proc.Read(b.node.Pid)
	if err != nil {
		return m, err
	}
	m.cpu, m.rss = after.Sub(before).CPU, after.RSS
	logs, err := filepath.Glob(filepath.Join(b.partition(round), "*.log"))
	for _, name := range logs {
		if info, err := os.Stat(name); err == nil {
			m.bytes += info.Size()
		}
	}
	return m, err
}

// cleaned says whether the cleaner's checkpoint has a line.
func (b *broker) cleaned(want string) bool {
	text, err := os.ReadFile(filepath.Join(b.data, "cleaner-offset-checkpoint"))
	return err == nil && strings.Contains(string(text), "\n"+want+"\n")
}

func createTopic(ctx context.Context, client *kgo.Client, name, policy string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 30_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	for k, v := range map[string]string{
		"cleanup.policy": policy, "segment.bytes": fmt.Sprint(segmentBytes), "min.cleanable.dirty.ratio": "0",
		"retention.ms": "-1", "segment.ms": "604800000",
	} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func alterTopic(ctx context.Context, client *kgo.Client, name, key, value string) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, kmsg.StringPtr(value)
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Resources[0].ErrorCode)
}
