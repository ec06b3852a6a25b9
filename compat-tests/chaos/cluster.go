package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster is the nodes with an administrator's view of them.
type cluster struct {
	network *network
	nodes   []*node // nodes[i] has id i+1
	admin   *kadm.Client
	client  *kgo.Client
	topic   string
	// clientLog is what clients log.
	clientLog *os.File
}

func (c *cluster) node(id int32) *node { return c.nodes[id-1] }

func (c *cluster) bootstrap() []string {
	var list []string
	for _, n := range c.nodes {
		list = append(list, n.bootstrap())
	}
	return list
}

// awaitEqual waits until all replicas of each partition are of one size; nobody produces any more.
func (c *cluster) awaitEqual(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for {
		last := "nothing was heard"
		if dirs, err := c.admin.DescribeAllLogDirs(ctx, nil); err == nil && len(dirs) == len(c.nodes) {
			sizes := map[int32][]int64{}
			dirs.Each(func(d kadm.DescribedLogDir) {
				d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
					if p.Topic == c.topic {
						sizes[p.Partition] = append(sizes[p.Partition], p.Size)
					}
				})
			})
			last = ""
			for p, s := range sizes {
				if len(s) < len(c.nodes) || slices.Min(s) != slices.Max(s) {
					last = fmt.Sprintf("partition %d has replicas of %v bytes", p, s)
				}
			}
			if last == "" && len(sizes) > 0 {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("replicas aren't equal after %v: %s", within, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stopAll stops all nodes at once, in order as far as they manage without each other. What the rest has written is
// in the page cache.
func (c *cluster) stopAll() error {
	for _, n := range c.nodes {
		if err := n.signal(syscall.SIGTERM); err != nil {
			return err
		}
	}
	late := time.After(stopTimeout)
	for _, n := range c.nodes {
		select {
		case <-n.exited:
		case <-late:
		}
		if err := n.kill(); err != nil {
			return err
		}
	}
	return nil
}

// stopTimeout is how long nodes may take to stop in order.
const stopTimeout = 20 * time.Second

// newClient is a client that tries for as long as it takes.
func (c *cluster) newClient(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.bootstrap()...), kgo.DialTimeout(2 * time.Second), kgo.RequestTimeoutOverhead(5 * time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RecordRetries(1 << 30), kgo.ConnIdleTimeout(time.Minute),
		kgo.WithLogger(kgo.BasicLogger(c.clientLog, kgo.LogLevelInfo, func() string { return time.Now().Format("15:04:05.000 ") })),
	}, opts...)...)
}

// leader is the node that leads a partition; -1 if that isn't known.
func (c *cluster) leader(ctx context.Context, partition int32) int32 {
	t, err := c.describe(ctx)
	if err != nil {
		return -1
	}
	p, ok := t.Partitions[partition]
	if !ok || p.Leader < 1 || int(p.Leader) > len(c.nodes) {
		return -1
	}
	return p.Leader
}

func (c *cluster) describe(ctx context.Context) (kadm.TopicDetail, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	topics, err := c.admin.ListTopics(ctx, c.topic)
	if err != nil {
		return kadm.TopicDetail{}, err
	}
	t, ok := topics[c.topic]
	if !ok {
		return kadm.TopicDetail{}, errors.New("the topic isn't there")
	}
	return t, t.Err
}

// activeController is the node that leads the metadata quorum; -1 if that isn't known.
func (c *cluster) activeController(ctx context.Context) int32 {
	q, err := c.quorum(ctx)
	if err != nil || q.LeaderID < 1 || int(q.LeaderID) > len(c.nodes) {
		return -1
	}
	return q.LeaderID
}

// quorum describes the metadata quorum.
func (c *cluster) quorum(ctx context.Context) (*kmsg.DescribeQuorumResponseTopicPartition, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return nil, err
	}
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errors.New("the metadata quorum isn't described")
	}
	p := &resp.Topics[0].Partitions[0]
	return p, kerr.ErrorForCode(p.ErrorCode)
}

// votersMissing says whose vote the metadata quorum lacks; empty if every node is a voter that has all that is
// committed. A node that lost its disk has to be made a voter again, and until then another fault is one too many.
func (c *cluster) votersMissing(ctx context.Context) string {
	q, err := c.quorum(ctx)
	if err != nil {
		return err.Error()
	}
	if len(q.CurrentVoters) != len(c.nodes) {
		return fmt.Sprintf("%d voters", len(q.CurrentVoters))
	}
	for _, v := range q.CurrentVoters {
		if v.LogEndOffset < q.HighWatermark {
			return fmt.Sprintf("voter %d is at %d of %d", v.ReplicaID, v.LogEndOffset, q.HighWatermark)
		}
	}
	return ""
}

// silentNode names a node that doesn't answer yet; empty if all do. Until a node that was down for a moment only has
// registered anew, the metadata are those of its former life.
func (c *cluster) silentNode(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for _, n := range c.nodes {
		cl, err := kgo.NewClient(kgo.SeedBrokers(n.bootstrap()), kgo.DialTimeout(time.Second))
		if err != nil {
			return err.Error()
		}
		_, err = kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, cl)
		cl.Close()
		if err != nil {
			return fmt.Sprintf("node %d doesn't answer: %v", n.id, err)
		}
	}
	return ""
}

// lacks says what the cluster lacks to be whole, empty if nothing.
func (c *cluster) lacks(ctx context.Context) (string, error) {
	t, err := c.describe(ctx)
	if err != nil {
		return "", err
	}
	if len(t.Partitions) == 0 {
		return "the topic has no partitions", nil
	}
	for _, p := range t.Partitions {
		if p.Leader < 0 || len(p.ISR) < len(p.Replicas) || len(p.Replicas) != len(c.nodes) {
			slices.Sort(p.ISR)
			return fmt.Sprintf("partition %d has leader %d and in sync %v", p.Partition, p.Leader, p.ISR), nil
		}
	}
	if silent := c.silentNode(ctx); silent != "" {
		return silent, nil
	}
	return c.votersMissing(ctx), nil
}

// awaitWhole waits until every partition has a leader and all of its replicas are in sync, and all nodes answer and vote.
func (c *cluster) awaitWhole(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	last := "nothing was heard"
	for {
		if lack, err := c.lacks(ctx); err == nil {
			if lack == "" {
				return nil
			}
			last = lack
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not whole after %v: %s", within, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
