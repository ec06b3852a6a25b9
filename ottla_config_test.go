package ottla_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// These tests hold config's list of keys in effect to its word: each key is set on a whole broker, and
// what it is for is seen from outside, by a client or in the files. What needs minutes, several brokers or
// a look into the broker is tested where it is done: offsets.retention.minutes and offsets.commit.timeout.ms
// with the group coordinator, min.insync.replicas in replica, buffers and budgets in wire,
// log.initial.task.delay.ms in log.

// configBroker is a broker of one test with a client.
type configBroker struct {
	t    *testing.T
	addr string
	dir  string
	cl   *kgo.Client
}

const configTimeout = 20 * time.Second

// startConfigured starts a broker with these settings: key=value.
func startConfigured(t *testing.T, settings ...string) *configBroker {
	t.Helper()
	b := &configBroker{t: t, dir: t.TempDir()}
	properties := map[string]string{"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		properties[k] = strings.ReplaceAll(v, "DIR", b.dir)
	}
	broker, err := ottla.Start(t.Context(), ottla.Config{Dir: b.dir, Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), configTimeout)
		defer cancel()
		if err := broker.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	b.addr = broker.Addr()
	b.cl = b.client()
	return b
}

// client is a client that is closed with the test, before the broker.
func (b *configBroker) client(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	base := []kgo.Opt{
		kgo.SeedBrokers(b.addr), kgo.DisableIdempotentWrite(), kgo.ProducerLinger(0), kgo.RecordRetries(0), kgo.UnknownTopicRetries(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(3 << 20), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(cl.Close)
	return cl
}

// asks sends a request and returns its response.
func asks[T kmsg.Response](b *configBroker, req kmsg.Request) T {
	b.t.Helper()
	return asksBy[T](b, b.cl, req)
}

func asksBy[T kmsg.Response](b *configBroker, cl *kgo.Client, req kmsg.Request) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), configTimeout)
	defer cancel()
	resp, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		b.t.Fatalf("%T: %v", req, err)
	}
	return resp.(T)
}

// create makes a topic and returns the answer.
func (b *configBroker) create(topic string, partitions int32, factor int16) kmsg.CreateTopicsResponseTopic {
	b.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, factor
	req.Topics = append(req.Topics, t)
	return asks[*kmsg.CreateTopicsResponse](b, req).Topics[0]
}

// produces appends records, each as a batch, to partition 0 of t, which it makes first.
func (b *configBroker) produces(records ...*kgo.Record) {
	b.t.Helper()
	b.create("t", 1, 1)
	for _, r := range records {
		if err := b.produce(b.cl, r); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *configBroker) produce(cl *kgo.Client, r *kgo.Record) error {
	ctx, cancel := context.WithTimeout(b.t.Context(), configTimeout)
	defer cancel()
	r.Topic = "t"
	return cl.ProduceSync(ctx, r).FirstErr()
}

// at is a keyed record of n bytes with a timestamp.
func at(ts time.Time, n int) *kgo.Record {
	return &kgo.Record{Key: []byte("k"), Value: make([]byte, n), Timestamp: ts}
}

// offset is the earliest (-2) or latest (-1) offset of t.
func (b *configBroker) offset(which int64) int64 {
	b.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = which
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	out := asks[*kmsg.ListOffsetsResponse](b, req).Topics[0].Partitions[0]
	if out.ErrorCode != 0 {
		b.t.Fatalf("ListOffsets: %v", kerr.ErrorForCode(out.ErrorCode))
	}
	return out.Offset
}

// files are the files of t's partition that end so.
func (b *configBroker) files(suffix string) []string {
	b.t.Helper()
	names, err := filepath.Glob(filepath.Join(b.dir, "t-0", "*"+suffix))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

// attributes are those of the first batch of a topic's partition 0.
func (b *configBroker) attributes(topic string) byte {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, topic+"-0", "00000000000000000000.log"))
	if err != nil || len(data) < 23 {
		b.t.Fatalf("%d bytes of log: %v", len(data), err)
	}
	return data[22]
}

// becomes waits for a condition.
func (b *configBroker) becomes(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(configTimeout)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatalf("%s: never", what)
		}
	}
}

// checkpointed waits for a line of a checkpoint file.
func (b *configBroker) checkpointed(file, line string) {
	b.t.Helper()
	b.becomes(file+" has "+line, func() bool {
		data, err := os.ReadFile(filepath.Join(b.dir, file))
		return err == nil && strings.Contains("\n"+string(data), "\n"+line+"\n")
	})
}

func (b *configBroker) is(what string, got, want any) {
	b.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// fails checks the error of appending a record.
func (b *configBroker) fails(what string, r *kgo.Record, want error, opts ...kgo.Opt) {
	b.t.Helper()
	if err := b.produce(b.client(opts...), r); !errors.Is(err, want) {
		b.t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// configCase is a broker with settings and what is to be seen of it.
type configCase struct {
	name     string
	settings []string
	check    func(b *configBroker)
}

func runConfigCases(t *testing.T, cases []configCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.check(startConfigured(t, tc.settings...))
		})
	}
}

func settings(s ...string) []string { return s }

func TestConfigOfTopicsAndNode(t *testing.T) {
	t.Parallel()
	runConfigCases(t, []configCase{
		{"refusals", settings("num.partitions=3", "default.replication.factor=2", "delete.topic.enable=false", "auto.create.topics.enable=false"), func(b *configBroker) {
			b.is("default.replication.factor", b.create("x", -1, -1).ErrorCode, kerr.InvalidReplicationFactor.Code)
			b.is("num.partitions", b.create("x", -1, 1).NumPartitions, 3)
			for range 2 {
				b.is("auto.create.topics.enable", b.metadata("auto").Topics[0].ErrorCode, kerr.UnknownTopicOrPartition.Code)
			}
			b.is("delete.topic.enable", b.delete("x"), kerr.TopicDeletionDisabled.Code)
		}},
		{"auto-creation", settings("num.partitions=2"), func(b *configBroker) {
			b.is("first answer", b.metadata("auto").Topics[0].ErrorCode, kerr.UnknownTopicOrPartition.Code)
			b.is("partitions", len(b.metadata("auto").Topics[0].Partitions), 2)
			b.is("deletion", b.delete("auto"), 0)
		}},
		{"node", settings("node.id=7", "broker.rack=r9", "log.dirs=DIR/a,DIR/b", "metadata.log.dir=DIR/m"), func(b *configBroker) {
			b.create("t", 4, 1)
			node := b.metadata("t").Brokers[0]
			b.is("node.id", node.NodeID, 7)
			b.is("broker.rack", *node.Rack, "r9")
			for _, dir := range []string{"a", "b"} {
				names, _ := filepath.Glob(filepath.Join(b.dir, dir, "t-*"))
				b.is("partitions in "+dir, len(names), 2)
			}
			names, _ := filepath.Glob(filepath.Join(b.dir, "m", "*"))
			b.is("metadata.log.dir is in use", len(names) > 0, true)
		}},
		{"advertised", settings("listeners=PLAINTEXT://127.0.0.1:0,INTERNAL://127.0.0.1:0", "advertised.listeners=PLAINTEXT://b.example:19092,INTERNAL://127.0.0.1:0",
			"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT", "inter.broker.listener.name=INTERNAL"), func(b *configBroker) {
			node := b.metadata().Brokers[0]
			b.is("advertised.listeners", fmt.Sprint(node.Host, node.Port), fmt.Sprint("b.example", 19092))
		}},
	})
}

// metadata asks for topics, which it allows to be created.
func (b *configBroker) metadata(names ...string) *kmsg.MetadataResponse {
	b.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation, req.Topics = true, []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return asks[*kmsg.MetadataResponse](b, req)
}

func (b *configBroker) delete(topic string) int16 {
	b.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.TimeoutMillis, req.Topics, req.TopicNames = 10_000, append(req.Topics, t), []string{topic}
	return asks[*kmsg.DeleteTopicsResponse](b, req).Topics[0].ErrorCode
}

func TestConfigOfRecords(t *testing.T) {
	t.Parallel()
	now := time.Now()
	recompressed := func(codec byte, opts ...kgo.Opt) func(b *configBroker) {
		return func(b *configBroker) {
			b.produces(at(now, 1000))
			b.is("codec in the log", b.attributes("t")&7, codec)
		}
	}
	runConfigCases(t, []configCase{
		{"limits", settings("message.max.bytes=500", "max.decompressed.message.bytes=1000", "log.message.timestamp.before.max.ms=60000",
			"log.message.timestamp.after.max.ms=60000", "log.cleanup.policy=compact"), func(b *configBroker) {
			b.produces(at(now, 100))
			b.fails("message.max.bytes", at(now, 600), kerr.MessageTooLarge)
			b.fails("max.decompressed.message.bytes", at(now, 5000), kerr.InvalidRecord, kgo.ProducerBatchCompression(kgo.GzipCompression()))
			b.fails("log.message.timestamp.before.max.ms", at(now.Add(-time.Hour), 1), kerr.InvalidTimestamp)
			b.fails("log.message.timestamp.after.max.ms", at(now.Add(time.Hour), 1), kerr.InvalidTimestamp)
			b.fails("log.cleanup.policy", &kgo.Record{Timestamp: now}, kerr.InvalidRecord)
		}},
		{"append time", settings("log.message.timestamp.type=LogAppendTime"), func(b *configBroker) {
			b.produces(at(now, 1))
			b.is("timestamp type", b.attributes("t")&8, 8)
		}},
		{"gzip", settings("compression.type=gzip"), recompressed(1)},
		{"snappy", settings("compression.type=snappy"), recompressed(2)},
		{"lz4", settings("compression.type=lz4"), recompressed(3)},
		{"zstd", settings("compression.type=zstd"), recompressed(4)},
	})
	for codec, levels := range map[string][2]string{"gzip": {"1", "9"}, "lz4": {"1", "17"}, "zstd": {"1", "19"}} {
		t.Run(codec+" level", func(t *testing.T) {
			t.Parallel()
			var sizes [2]int64
			for i, level := range levels {
				b := startConfigured(t, "compression.type="+codec, "compression."+codec+".level="+level)
				b.produces(&kgo.Record{Value: words(200_000), Timestamp: now})
				sizes[i] = b.size(b.files(".log")[0])
			}
			if sizes[0] <= sizes[1] {
				t.Errorf("%d bytes at level %s, %d at level %s", sizes[0], levels[0], sizes[1], levels[1])
			}
		})
	}
}

// words is text that compresses well, but not to nothing.
func words(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	for out.Len() < n {
		fmt.Fprintf(&out, "user-%d visited page-%d; ", random.IntN(300), random.IntN(40))
	}
	return out.Bytes()
}

func (b *configBroker) size(file string) int64 {
	b.t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		b.t.Fatal(err)
	}
	return info.Size()
}

func TestConfigOfSegments(t *testing.T) {
	t.Parallel()
	then := time.Now().Add(-10_000 * time.Hour)
	// segments produces records and counts the segments that they make.
	segments := func(want int, records ...*kgo.Record) func(b *configBroker) {
		return func(b *configBroker) {
			b.produces(records...)
			b.is("segments", len(b.files(".log")), want)
		}
	}
	keep := "log.retention.ms=-1"
	pair := func(apart time.Duration) []*kgo.Record { return []*kgo.Record{at(then, 1), at(then.Add(apart), 1)} }
	six := func() (out []*kgo.Record) {
		for range 6 {
			out = append(out, at(then, 1))
		}
		return out
	}
	large := func() []*kgo.Record { return []*kgo.Record{at(then, 600_000), at(then, 600_000)} }
	retained := func(want int64, records ...*kgo.Record) func(b *configBroker) {
		return func(b *configBroker) {
			b.produces(records...)
			b.becomes("records are gone", func() bool { return b.offset(-2) == want })
		}
	}
	check := "log.retention.check.interval.ms=20"
	runConfigCases(t, []configCase{
		{"log.segment.bytes unset", settings(keep, "message.max.bytes=2000000"), segments(1, large()...)},
		{"log.segment.bytes", settings(keep, "log.segment.bytes=1048576"), segments(2, large()...)},
		{"log.roll.ms", settings(keep, "log.roll.ms=60000"), segments(2, pair(2*time.Minute)...)},
		{"log.roll.hours", settings(keep, "log.roll.hours=1"), segments(2, pair(2*time.Hour)...)},
		{"log.roll.ms not due", settings(keep, "log.roll.hours=3"), segments(1, pair(2*time.Hour)...)},
		// All but one in 60,000 jitters reach back as far as the second record.
		{"log.roll.jitter.ms", settings(keep, "log.roll.hours=1000", "log.roll.jitter.ms=3600000000"), segments(2, pair(1000*time.Hour-time.Minute)...)},
		{"log.roll.jitter.hours", settings(keep, "log.roll.hours=1000", "log.roll.jitter.hours=1000"), segments(2, pair(1000*time.Hour-time.Minute)...)},
		{"log.index.interval.bytes unset", settings(keep, "log.index.size.max.bytes=24"), segments(1, six()...)},
		{"log.index.interval.bytes", settings(keep, "log.index.size.max.bytes=24", "log.index.interval.bytes=0"), func(b *configBroker) {
			b.produces(six()...)
			b.is("more than one segment", len(b.files(".log")) > 1, true)
		}},
		{"log.preallocate", settings("log.preallocate=true", "log.segment.bytes=1048576"), func(b *configBroker) {
			b.produces(at(time.Now(), 1))
			var st syscall.Stat_t
			if err := syscall.Stat(b.files(".log")[0], &st); err != nil {
				b.t.Fatal(err)
			}
			b.is("blocks are reserved", st.Blocks*512 >= 1<<20, true)
		}},
		{"log.retention.ms", settings(check, "log.retention.ms=1000"), retained(1, at(then, 1))},
		{"log.retention.minutes", settings(check, "log.retention.minutes=1"), retained(1, at(then, 1))},
		{"log.retention.hours", settings(check, "log.retention.hours=9000"), retained(1, at(then, 1))},
		{"log.retention.bytes", settings(check, keep, "log.retention.bytes=1000", "log.segment.bytes=1048576"), retained(1, large()...)},
		{"log.segment.delete.delay.ms long", settings(check, "log.retention.ms=1000", "log.segment.delete.delay.ms=3600000"), func(b *configBroker) {
			retained(1, at(then, 1))(b)
			b.becomes("a file waits", func() bool { return len(b.files(".log.deleted")) == 1 })
		}},
		{"log.segment.delete.delay.ms short", settings(check, "log.retention.ms=1000", "log.segment.delete.delay.ms=0"), func(b *configBroker) {
			retained(1, at(then, 1))(b)
			b.becomes("no file waits", func() bool { return len(b.files(".deleted")) == 0 })
		}},
		{"log.flush.interval.messages", settings("log.flush.interval.messages=2", "log.flush.offset.checkpoint.interval.ms=20"), func(b *configBroker) {
			b.produces(at(time.Now(), 1), at(time.Now(), 1))
			b.checkpointed("recovery-point-offset-checkpoint", "t 0 2")
		}},
		{"log.flush.interval.ms", settings("log.flush.interval.ms=10", "log.flush.offset.checkpoint.interval.ms=20", "log.flush.scheduler.interval.ms=20"), func(b *configBroker) {
			b.produces(at(time.Now(), 1))
			b.checkpointed("recovery-point-offset-checkpoint", "t 0 1")
		}},
		{"log.flush.interval.ms alone", settings("log.flush.interval.ms=10", "log.flush.offset.checkpoint.interval.ms=20"), func(b *configBroker) {
			b.produces(at(time.Now(), 1))
			b.checkpointed("recovery-point-offset-checkpoint", "t 0 1")
		}},
		{"checkpoints", settings("replica.high.watermark.checkpoint.interval.ms=20"), func(b *configBroker) {
			b.produces(at(time.Now(), 1))
			b.checkpointed("replication-offset-checkpoint", "t 0 1")
		}},
		{"producer.id.expiration.ms", settings("producer.id.expiration.ms=1", "producer.id.expiration.check.interval.ms=20"), func(b *configBroker) {
			b.idempotent()
			b.becomes("the producer is forgotten", func() bool { return b.producers() == 0 })
		}},
		{"producer.id.expiration.ms not due", settings("producer.id.expiration.check.interval.ms=1"), func(b *configBroker) {
			b.idempotent()
			b.is("producers", b.producers(), 1)
		}},
	})
}

// idempotent appends a record of an idempotent producer.
func (b *configBroker) idempotent() {
	b.t.Helper()
	b.create("t", 1, 1)
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	if err := b.produce(cl, at(time.Now(), 1)); err != nil {
		b.t.Fatal(err)
	}
}

// producers counts the producers that t remembers.
func (b *configBroker) producers() int {
	b.t.Helper()
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	return len(asks[*kmsg.DescribeProducersResponse](b, req).Topics[0].Partitions[0].ActiveProducers)
}
