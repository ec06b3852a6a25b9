package crash

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/harness"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxRestart is how long a restart may take until requests are answered.
const maxRestart = 3 * time.Second

// node is a broker that is ended and started again; a complaint in its log fails the test.
type node struct {
	*harness.Broker
	t       *testing.T
	options harness.Options
}

func startNode(t *testing.T, properties string) *node {
	t.Helper()
	bin := os.Getenv("OTTLA_BIN")
	if bin == "" {
		t.Fatal("set OTTLA_BIN to the binary to test (make build puts it in bin/ottla)")
	}
	n := &node{t: t, options: harness.Options{Bin: bin, Dir: t.TempDir(), Properties: harness.OneNode +
		"offsets.topic.num.partitions=4\ngroup.initial.rebalance.delay.ms=0\n" + properties}}
	var err error
	if n.Broker, err = harness.Start(t.Context(), n.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Kill(); err != nil {
			t.Error(err)
		}
		n.checkLog()
	})
	return n
}

// path is a file of the data directory.
func (n *node) path(names ...string) string {
	return filepath.Join(append([]string{n.options.Dir, "data"}, names...)...)
}

// cleanlyStopped says whether the data directory has the mark of an orderly stop.
func (n *node) cleanlyStopped() bool {
	_, err := os.Stat(n.path(".kafka_cleanshutdown"))
	return err == nil
}

func (n *node) checkLog() {
	n.t.Helper()
	if complaints, err := n.LogComplaints(); err != nil || complaints != "" {
		n.t.Errorf("the broker logged (%v):\n%s", err, complaints)
	}
}

// kill ends the broker as kill -9 does.
func (n *node) kill() {
	n.t.Helper()
	if err := n.Kill(); err != nil {
		n.t.Fatal(err)
	}
	n.checkLog()
	if n.cleanlyStopped() {
		n.t.Fatal("a broker that was killed left the mark of an orderly stop")
	}
}

// term ends the broker orderly.
func (n *node) term() {
	n.t.Helper()
	if err := n.Stop(); err != nil {
		n.t.Fatalf("the broker's end: %v", err)
	}
	n.checkLog()
	if !n.cleanlyStopped() {
		n.t.Fatal("a broker that stopped orderly left no mark of it")
	}
}

// restart starts the broker, which was ended, on its port.
func (n *node) restart() time.Duration {
	n.t.Helper()
	start := time.Now()
	b, err := harness.Restart(n.t.Context(), n.options, n.Broker)
	if err != nil {
		n.t.Fatal(err)
	}
	n.Broker = b
	took := time.Since(start)
	if took > maxRestart {
		n.t.Errorf("the restart took %s", took)
	}
	return took
}

// newClient returns a client that bears a broker's end at any moment: AlwaysRetryEOF since a connection may be accepted just before it.
func newClient(t *testing.T, n *node, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(n.Address), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.AlwaysRetryEOF(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(20*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func createTopic(t *testing.T, client *kgo.Client, topic string, partitions int32, configs map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, partitions, 1
	for k, v := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readAll reads topics from the start until each partition has been read to the end offset that it has now.
func readAll(t *testing.T, n *node, each func(*kgo.Record), partitions map[string]int32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	assigned := map[string]map[int32]kgo.Offset{}
	left := map[string]map[int32]int64{}
	for topic, count := range partitions {
		assigned[topic], left[topic] = map[int32]kgo.Offset{}, map[int32]int64{}
		for p := range count {
			if end := endOffset(t, n, topic, p); end > 0 {
				assigned[topic][p], left[topic][p] = kgo.NewOffset().At(0), end
			}
		}
		if len(left[topic]) == 0 {
			delete(left, topic)
			delete(assigned, topic)
		}
	}
	if len(left) == 0 {
		return
	}
	client := newClient(t, n, kgo.ConsumePartitions(assigned))
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading back: %v, still to come: %v", err, left)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			each(r)
			if r.Offset+1 >= left[r.Topic][r.Partition] {
				delete(left[r.Topic], r.Partition)
				if len(left[r.Topic]) == 0 {
					delete(left, r.Topic)
				}
			}
		})
	}
}

// endOffset is the offset that a partition's next record gets.
func endOffset(t *testing.T, n *node, topic string, partition int32) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req := kmsg.NewPtrListOffsetsRequest()
	rt, rp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Timestamp = topic, partition, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, newClient(t, n))
	if err != nil {
		t.Fatal(err)
	}
	p := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		t.Fatalf("end offset of %s-%d: %v", topic, partition, err)
	}
	return p.Offset
}
