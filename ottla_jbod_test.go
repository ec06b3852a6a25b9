package ottla_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// jbod is a broker with two log directories.
type jbod struct {
	*dataBroker
	dirs []string
	// conn is for requests one after the other; it ends with the broker's life.
	conn *wire.Client
}

func startJBOD(t *testing.T) *jbod {
	t.Helper()
	b := &jbod{dataBroker: &dataBroker{t: t}}
	for _, name := range []string{"a", "b"} {
		b.dirs = append(b.dirs, filepath.Join(t.TempDir(), name))
	}
	b.open("127.0.0.1:0")
	t.Cleanup(b.stop)
	return b
}

func (b *jbod) open(address string) {
	b.t.Helper()
	broker, err := ottla.Start(context.Background(), ottla.Config{Properties: map[string]string{
		"listeners": "PLAINTEXT://" + address, "offsets.topic.num.partitions": "1", "log.dirs": strings.Join(b.dirs, ","),
		"log.segment.bytes": "1048576",
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.broker, b.addr = broker, broker.Addr()
	b.conn = b.raw()
}

// replica says where a partition's log is, and where one that it is copied to.
func (b *jbod) replica(topic string) (current, future string) {
	b.t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Version = 4
	for _, d := range exchange[*kmsg.DescribeLogDirsResponse](b.dataBroker, b.conn, req).Dirs {
		for _, t := range d.Topics {
			switch {
			case t.Topic != topic:
			case t.Partitions[0].IsFuture:
				future = d.Dir
			default:
				current = d.Dir
			}
		}
	}
	return current, future
}

func (b *jbod) move(topic, dir string) {
	b.t.Helper()
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Version = 2
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	dt := kmsg.NewAlterReplicaLogDirsRequestDirTopic()
	dt.Topic, dt.Partitions = topic, []int32{0}
	d.Topics = append(d.Topics, dt)
	req.Dirs = append(req.Dirs, d)
	if code := exchange[*kmsg.AlterReplicaLogDirsResponse](b.dataBroker, b.conn, req).Topics[0].Partitions[0].ErrorCode; code != 0 {
		b.t.Fatalf("move to %s: error %d", dir, code)
	}
}

// moveRate sets replica.alter.log.dirs.io.max.bytes.per.second.
func (b *jbod) moveRate(rate string) {
	b.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = "replica.alter.log.dirs.io.max.bytes.per.second", &rate
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	if code := exchange[*kmsg.IncrementalAlterConfigsResponse](b.dataBroker, b.conn, req).Resources[0].ErrorCode; code != 0 {
		b.t.Fatalf("alter configs: error %d", code)
	}
}

func (b *jbod) await(what string, f func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(dataTimeout); !f(); {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not after %v", what, dataTimeout)
		}
	}
}

// consume reads n records from the start of a partition.
func (b *jbod) consume(topic string, n int) []string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), dataTimeout)
	defer cancel()
	cl := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	var values []string
	for len(values) < n && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

// TestMovePartition moves a partition to and fro between two directories on disk while a producer writes and a
// consumer reads: each record is there once and in its place. A move that a throttle holds up is seen by
// DescribeLogDirs, outlives a restart and can be given up.
func TestMovePartition(t *testing.T) {
	b := startJBOD(t)
	b.create(b.raw(), "t", 1)
	const records = 3000
	var want []string
	for i := range records {
		want = append(want, fmt.Sprintf("%06d%s", i, strings.Repeat("x", 500)))
	}
	produced := make(chan error, 1)
	cl := b.client(kgo.MaxBufferedRecords(50), kgo.ProducerBatchCompression(kgo.NoCompression()))
	go func() {
		for _, v := range want {
			cl.Produce(context.Background(), &kgo.Record{Topic: "t", Value: []byte(v)}, func(_ *kgo.Record, err error) {
				if err != nil {
					select {
					case produced <- err:
					default:
					}
				}
			})
		}
		err := cl.Flush(context.Background())
		select {
		case produced <- err:
		default:
		}
	}()
	at, _ := b.replica("t")
	for i := 0; i < 6; i++ {
		at = b.dirs[(slices.Index(b.dirs, at)+1)%2]
		b.move("t", at)
		b.await("move", func() bool { current, future := b.replica("t"); return current == at && future == "" })
	}
	if got := b.consume("t", 1); len(got) == 0 || got[0] != want[0] {
		t.Fatal("the first record isn't there")
	}
	if err := <-produced; err != nil {
		t.Fatal(err)
	}
	if got := b.consume("t", records); !slices.Equal(got, want) {
		t.Fatalf("%d records after moves, want %d in their order", len(got), records)
	}

	other := b.dirs[(slices.Index(b.dirs, at)+1)%2]
	b.moveRate("1000")
	b.move("t", other)
	b.await("a future log", func() bool { _, future := b.replica("t"); return future == other })
	b.stop()
	b.open(b.addr)
	if current, future := b.replica("t"); current != at || future != other {
		t.Fatalf("after a restart the partition lies in %s and is moved to %s", current, future)
	}
	b.move("t", at)
	if current, future := b.replica("t"); current != at || future != "" {
		t.Errorf("after giving up the partition lies in %s and is moved to %s", current, future)
	}
	b.move("t", other)
	b.moveRate("100000000")
	b.await("move", func() bool { current, future := b.replica("t"); return current == other && future == "" })
	if got := b.consume("t", records); !slices.Equal(got, want) {
		t.Fatalf("%d records after the last move, want %d in their order", len(got), records)
	}
	if _, err := os.Stat(filepath.Join(other, "t-0", "partition.metadata")); err != nil {
		t.Error(err)
	}
}
