package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// inFlight is how many records a loader has unacknowledged.
const inFlight = 300

// loader is an idempotent producer with acks=all whose client bears the broker's ends by retrying.
type loader struct {
	id         byte
	client     *kgo.Client
	topic      string
	partitions int32
	// sent and acked count records a partition; an acknowledgement out of order is a failure.
	sent, acked []atomic.Int64
	failure     atomic.Pointer[error]
}

func newLoader(t *testing.T, n *node, id byte, topic string, partitions int32, codec kgo.CompressionCodec) *loader {
	return &loader{
		id: id, topic: topic, partitions: partitions, sent: make([]atomic.Int64, partitions), acked: make([]atomic.Int64, partitions),
		client: newClient(t, n, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(0),
			kgo.MaxBufferedRecords(inFlight)),
	}
}

// load is what record number seq of a loader and partition holds.
func load(id byte, partition int32, seq int64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{id, byte(partition)}, uint64(seq))
	return append(b, bytes.Repeat([]byte{byte(seq)}, int(seq%500))...)
}

// run produces until ctx ends, then waits for what is in flight.
func (l *loader) run(ctx context.Context) {
	for i := 0; ctx.Err() == nil && l.failed() == nil; i++ {
		p := int32(i) % l.partitions
		seq := l.sent[p].Add(1) - 1
		// Blocks while inFlight records aren't acknowledged.
		l.client.Produce(context.WithoutCancel(ctx), &kgo.Record{Topic: l.topic, Partition: p, Value: load(l.id, p, seq)}, func(_ *kgo.Record, err error) {
			if got := l.acked[p].Add(1) - 1; err == nil && got != seq {
				err = fmt.Errorf("record %d acknowledged before record %d", seq, got)
			}
			if err != nil {
				err = fmt.Errorf("loader %d, partition %d, record %d: %w", l.id, p, seq, err)
				l.failure.CompareAndSwap(nil, &err)
			}
		})
	}
	if err := l.client.Flush(context.WithoutCancel(ctx)); err != nil {
		l.failure.CompareAndSwap(nil, &err)
	}
}

func (l *loader) failed() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// total is how many records were acknowledged.
func (l *loader) total() (n int64) {
	for i := range l.acked {
		n += l.acked[i].Load()
	}
	return n
}

// checkLoad reads a topic and compares it with what its loaders had acknowledged: each record once, in each loader's order.
func checkLoad(t *testing.T, n *node, topic string, partitions int32, loaders []*loader) {
	t.Helper()
	next := map[[2]byte]int64{}
	readAll(t, n, func(r *kgo.Record) {
		if len(r.Value) < 10 {
			t.Fatalf("%s-%d offset %d: %d bytes", topic, r.Partition, r.Offset, len(r.Value))
		}
		k := [2]byte{r.Value[0], r.Value[1]}
		if want := load(k[0], r.Partition, next[k]); !bytes.Equal(r.Value, want) {
			t.Fatalf("%s-%d offset %d: record %d of loader %d, want %d", topic, r.Partition, r.Offset,
				binary.BigEndian.Uint64(r.Value[2:]), k[0], next[k])
		}
		next[k]++
	}, map[string]int32{topic: partitions})
	for _, l := range loaders {
		for p := range partitions {
			if got, want := next[[2]byte{l.id, byte(p)}], l.acked[p].Load(); got != want {
				t.Errorf("loader %d, partition %d: %d records, %d were acknowledged", l.id, p, got, want)
			}
		}
	}
}

// committer commits growing offsets as a consumer without a group's membership does.
type committer struct {
	client *kgo.Client
	group  string
	topic  string
	// tried is the last offset sent, acked the last one acknowledged.
	tried, acked atomic.Int64
}

// run commits until ctx ends.
func (c *committer) run(ctx context.Context) {
	for ctx.Err() == nil {
		offset := c.tried.Add(1)
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = c.group, -1
		topic, partition := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
		topic.Topic, partition.Offset = c.topic, offset
		topic.Partitions = append(topic.Partitions, partition)
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, c.client)
		if err == nil && len(resp.Topics) == 1 && resp.Topics[0].Partitions[0].ErrorCode == 0 {
			c.acked.Store(offset)
		}
	}
}

// committed asks for the group's offset.
func (c *committer) committed(ctx context.Context) (int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = c.group
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.Partitions = c.topic, []int32{0}
	group.Topics = append(group.Topics, topic)
	req.Group = c.group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: c.topic, Partitions: []int32{0}}}
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(ctx, c.client)
	for errors.Is(err, io.EOF) && ctx.Err() == nil {
		// The client has just found out that one of its connections was to the broker that was ended.
		resp, err = req.RequestWith(ctx, c.client)
	}
	if err != nil {
		return 0, err
	}
	if len(resp.Groups) == 1 && len(resp.Groups[0].Topics) == 1 {
		p := resp.Groups[0].Topics[0].Partitions[0]
		return p.Offset, errors.Join(kerr.ErrorForCode(resp.Groups[0].ErrorCode), kerr.ErrorForCode(p.ErrorCode))
	}
	if len(resp.Topics) == 1 {
		return resp.Topics[0].Partitions[0].Offset, kerr.ErrorForCode(resp.ErrorCode)
	}
	return 0, errors.New("the answer has no offset")
}

// together runs functions until the returned one is called, which waits for them.
func together(ctx context.Context, run ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, f := range run {
		all.Go(func() { f(ctx) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}
