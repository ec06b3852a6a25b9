package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// watcher looks at a cluster through connections of its own to each node.
type watcher struct {
	c       *node.Cluster
	limit   time.Duration
	clients [node.Members]*kgo.Client
}

func newWatcher(c *node.Cluster, limit time.Duration) (*watcher, error) {
	w := &watcher{c: c, limit: limit}
	for i, address := range c.Addresses() {
		var err error
		if w.clients[i], err = kgo.NewClient(kgo.SeedBrokers(address), kgo.RequestRetries(0), kgo.DisableClientMetrics()); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *watcher) close() {
	for _, cl := range w.clients {
		cl.Close()
	}
}

// ask sends a request to one node.
func ask[R kmsg.Response](ctx context.Context, w *watcher, i int, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var none R
	resp, err := w.clients[i].SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return none, err
	}
	return resp.(R), nil
}

// view is what one node says of the partitions.
type view struct {
	partitions, led, inSync, balanced int
	// byLeader are the partitions of each node, by topic.
	byLeader [node.Members]map[string][]int32
}

// look reads the metadata of one node; leaders count if they are among alive.
func (w *watcher) look(ctx context.Context, i int, alive []int) (view, error) {
	req := kmsg.NewPtrMetadataRequest()
	resp, err := ask[*kmsg.MetadataResponse](ctx, w, i, req)
	if err != nil {
		return view{}, err
	}
	var v view
	for n := range v.byLeader {
		v.byLeader[n] = make(map[string][]int32)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			v.partitions++
			if len(p.ISR) == node.Members {
				v.inSync++
			}
			leader := int(p.Leader) - 1
			if p.ErrorCode == kerr.LeaderNotAvailable.Code || !slices.Contains(alive, leader) {
				continue
			}
			v.led++
			if len(p.Replicas) > 0 && p.Replicas[0] == p.Leader {
				v.balanced++
			}
			v.byLeader[leader][*t.Topic] = append(v.byLeader[leader][*t.Topic], p.Partition)
		}
	}
	return v, nil
}

// until returns once every living node says what is wanted, and how long that took since began.
func (w *watcher) until(ctx context.Context, began time.Time, alive []int, want func(v view) bool) (time.Duration, view, error) {
	var last view
	for i := 0; i < len(alive); {
		v, err := w.look(ctx, alive[i], alive)
		if err == nil && want(v) {
			last = v
			i++
			continue
		}
		if time.Since(began) > w.limit {
			return 0, v, fmt.Errorf("not after %v: node %d says %d of %d led, %d in sync; error: %w", w.limit, alive[i]+1, v.led, v.partitions, v.inSync, err)
		}
		select {
		case <-ctx.Done():
			return 0, v, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return time.Since(began), last, nil
}

// untilAnswered is until for leaders, which must also answer for all their partitions.
func (w *watcher) untilAnswered(ctx context.Context, began time.Time, alive []int, partitions int) (time.Duration, error) {
	for {
		_, v, err := w.until(ctx, began, alive, func(v view) bool { return v.led == partitions })
		if err != nil {
			return 0, err
		}
		refused := 0
		for _, i := range alive {
			n, err := w.refused(ctx, i, v.byLeader[i])
			if err != nil {
				return 0, err
			}
			refused += n
		}
		if refused == 0 {
			return time.Since(began), nil
		}
		if time.Since(began) > w.limit {
			return 0, fmt.Errorf("not after %v: %d partitions' leaders refuse", w.limit, refused)
		}
	}
}

// refused is for how many partitions a node doesn't answer a ListOffsets as their leader.
func (w *watcher) refused(ctx context.Context, i int, partitions map[string][]int32) (int, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for topic, indexes := range partitions {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, index := range indexes {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = index, -1
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask[*kmsg.ListOffsetsResponse](ctx, w, i, req)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				n++
			}
		}
	}
	return n, nil
}

// controller is the active controller, as an index.
func (w *watcher) controller(ctx context.Context) (int, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.DescribeQuorumResponse](ctx, w, 0, req)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].LeaderID < 1 {
		return 0, fmt.Errorf("no leader in the answer to DescribeQuorum (error code %d)", resp.ErrorCode)
	}
	return int(resp.Topics[0].Partitions[0].LeaderID) - 1, nil
}

// create makes a topic with three replicas a partition.
func (w *watcher) create(ctx context.Context, partitions int, topics ...string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(w.limit.Milliseconds())
	for _, name := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), node.Members
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask[*kmsg.CreateTopicsResponse](ctx, w, 0, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("create %s: %w", t.Topic, err)
		}
	}
	return nil
}
