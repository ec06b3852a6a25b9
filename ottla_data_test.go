package ottla_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// These tests produce to and fetch from a whole broker, with franz-go and, where a test is about single
// requests, with a client that sends exactly them.

const dataTimeout = 30 * time.Second

// dataBroker is a broker of one test that can be stopped and started again on the same data.
type dataBroker struct {
	t      *testing.T
	dir    string
	broker *ottla.Broker
	addr   string
}

func startData(t *testing.T) *dataBroker {
	t.Helper()
	b := &dataBroker{t: t, dir: t.TempDir()}
	b.start("127.0.0.1:0")
	t.Cleanup(b.stop)
	return b
}

func (b *dataBroker) start(address string) {
	b.t.Helper()
	broker, err := ottla.Start(context.Background(), ottla.Config{Dir: b.dir, Properties: map[string]string{
		"listeners": "PLAINTEXT://" + address, "offsets.topic.num.partitions": "1",
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.broker, b.addr = broker, broker.Addr()
}

func (b *dataBroker) stop() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), dataTimeout)
	defer cancel()
	if err := b.broker.Close(ctx); err != nil {
		b.t.Error(err)
	}
}

// restart stops the broker in order and starts it at the same address.
func (b *dataBroker) restart() {
	b.t.Helper()
	b.stop()
	b.start(b.addr)
}

// raw is a client that sends what it is given.
func (b *dataBroker) raw() *wire.Client {
	b.t.Helper()
	c, err := wire.Dial(b.t.Context(), wire.ClientConfig{Address: b.addr, ClientID: "raw", Clock: clock.System{}, Timeout: dataTimeout})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

func (b *dataBroker) client(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.addr), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(cl.Close)
	return cl
}

// exchange sends a request by a raw client.
func exchange[T kmsg.Response](b *dataBroker, c *wire.Client, req kmsg.Request) T {
	b.t.Helper()
	resp, err := c.Request(b.t.Context(), req)
	if err != nil {
		b.t.Fatalf("%T: %v", req, err)
	}
	return resp.(T)
}

// create makes a topic and returns its id.
func (b *dataBroker) create(c *wire.Client, topic string, partitions int32) [16]byte {
	b.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	req.Topics = append(req.Topics, t)
	answer := exchange[*kmsg.CreateTopicsResponse](b, c, req).Topics[0]
	if answer.ErrorCode != 0 {
		b.t.Fatalf("create %s: error %d", topic, answer.ErrorCode)
	}
	return answer.TopicID
}

// sequenced is a batch of one record by a producer; a negative producer id is none. Its time is now: a
// producer is remembered for as long after its records' time as producer.id.expiration.ms says.
func sequenced(producerID int64, epoch int16, sequence int32, value string) []byte {
	record := binary.AppendVarint([]byte{0, 0, 0}, -1)
	record = append(binary.AppendVarint(record, int64(len(value))), value...)
	record = append(record, 0)
	records := append(binary.AppendVarint(nil, int64(len(record))), record...)
	now := time.Now().UnixMilli()
	b := kmsg.RecordBatch{
		Length: int32(49 + len(records)), PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: producerID, ProducerEpoch: epoch, FirstSequence: sequence, NumRecords: 1, Records: records,
	}
	out := b.AppendTo(nil)
	const crcFrom, crcAt = 21, 17
	binary.BigEndian.PutUint32(out[crcAt:], crc32.Checksum(out[crcFrom:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

func produceTo(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 10_000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{p}}}
	return req
}

// TestDataCodecs writes with every codec, restarts the broker in the middle, and reads everything back
// byte for byte, from the start and from an offset inside.
func TestDataCodecs(t *testing.T) {
	b := startData(t)
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	const perPart = 300
	ctx, cancel := context.WithTimeout(t.Context(), dataTimeout)
	defer cancel()
	c := b.raw()
	for name := range codecs {
		b.create(c, name, 1)
	}
	value := func(name string, i int) []byte {
		return bytes.Repeat(fmt.Appendf(nil, "%s-%d ", name, i), 1+i%50)
	}
	write := func(from int) {
		for name, codec := range codecs {
			cl := b.client(kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(5*time.Millisecond))
			for i := from; i < from+perPart; i++ {
				r := &kgo.Record{Topic: name, Key: fmt.Append(nil, i), Value: value(name, i), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte(name)}}}
				cl.Produce(ctx, r, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			if err := cl.Flush(ctx); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			cl.Close()
		}
	}
	write(0)
	b.restart()
	write(perPart)
	for name := range codecs {
		for _, from := range []int{0, perPart - 7} {
			cl := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: {0: kgo.NewOffset().At(int64(from))}}), kgo.FetchMaxWait(100*time.Millisecond))
			for next := from; next < 2*perPart; {
				fetches := cl.PollFetches(ctx)
				if err := fetches.Err(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				fetches.EachRecord(func(r *kgo.Record) {
					if r.Offset != int64(next) || string(r.Key) != fmt.Sprint(next) || !bytes.Equal(r.Value, value(name, next)) || len(r.Headers) != 1 {
						t.Fatalf("%s: record at %d is %q at %d", name, next, r.Key, r.Offset)
					}
					next++
				})
			}
			cl.Close()
		}
	}
}

// TestDataLongPoll checks that a fetch that waits for data is answered by the append, long before its
// time is up, and that one whose client is gone leaves nothing to wait for: the broker stops at once.
func TestDataLongPoll(t *testing.T) {
	b := startData(t)
	c := b.raw()
	b.create(c, "t", 3)
	const maxWait = 20 * time.Second
	waiting := func() *kmsg.FetchRequest {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 12, int32(maxWait.Milliseconds()), 1, 1<<20, -1
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "t"
		for i := range int32(3) {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.PartitionMaxBytes, p.CurrentLeaderEpoch = i, 1<<20, -1
			topic.Partitions = append(topic.Partitions, p)
		}
		req.Topics = append(req.Topics, topic)
		return req
	}
	began := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		reader := b.raw()
		wg.Go(func() {
			resp, err := reader.Request(t.Context(), waiting())
			if err != nil {
				t.Error(err)
				return
			}
			if got := len(resp.(*kmsg.FetchResponse).Topics[0].Partitions[2].RecordBatches); got == 0 {
				t.Error("woken without records")
			}
		})
	}
	if p := exchange[*kmsg.ProduceResponse](b, c, produceTo("t", 2, sequenced(-1, -1, -1, "wake"))).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Fatalf("produce: error %d", p.ErrorCode)
	}
	wg.Wait()
	if took := time.Since(began); took > maxWait/2 {
		t.Errorf("a waiting fetch was answered after %v", took)
	}
	gone := b.raw()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req := waiting()
	req.Topics[0].Partitions[2].FetchOffset = 1
	if _, err := gone.Request(ctx, req); err == nil {
		t.Error("a fetch at the end of all partitions was answered at once")
	}
	gone.Close()
}

// TestDataIdempotentRetries keeps five batches of one producer in flight and cuts the connection before
// their answers are read; it sends them again, as clients do, over a new connection, and the last one
// after a restart too. Each is in the log once, in order, and the answers tell where.
func TestDataIdempotentRetries(t *testing.T) {
	b := startData(t)
	c := b.raw()
	b.create(c, "t", 1)
	init := kmsg.NewPtrInitProducerIDRequest()
	init.Version = 4
	id := exchange[*kmsg.InitProducerIDResponse](b, c, init)
	if id.ErrorCode != 0 {
		t.Fatalf("init producer id: error %d", id.ErrorCode)
	}
	const inFlight, rounds = 5, 8
	for round := range rounds {
		first := int32(round * inFlight)
		var frames, newest []byte
		formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw"))
		for i := range int32(inFlight) {
			batch := sequenced(id.ProducerID, id.ProducerEpoch, first+i, fmt.Sprint(first+i))
			frames = append(frames, formatter.AppendRequest(nil, produceTo("t", 0, batch), i)...)
			newest = batch
		}
		cut := b.dial()
		if _, err := cut.Write(frames); err != nil {
			t.Fatal(err)
		}
		cut.Close()
		again := b.dial()
		if _, err := again.Write(frames); err != nil {
			t.Fatal(err)
		}
		for i := range int32(inFlight) {
			resp := receiveProduce(t, again, i)
			if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(first+i) {
				t.Fatalf("round %d, batch %d: error %d, offset %d; want offset %d", round, i, p.ErrorCode, p.BaseOffset, first+i)
			}
		}
		again.Close()
		if round == rounds/2 {
			// A producer snapshot, Kafka's format, holds a producer's last batch only.
			b.restart()
			last := b.dial()
			if _, err := last.Write(formatter.AppendRequest(nil, produceTo("t", 0, newest), 77)); err != nil {
				t.Fatal(err)
			}
			if p := receiveProduce(t, last, 77).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != int64(first+inFlight-1) {
				t.Fatalf("the last batch again after a restart: error %d, offset %d", p.ErrorCode, p.BaseOffset)
			}
			last.Close()
		}
	}
	cl := b.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), dataTimeout)
	defer cancel()
	for next := 0; next < inFlight*rounds; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset != int64(next) || string(r.Value) != fmt.Sprint(next) {
				t.Fatalf("record at %d is %q, want %d", r.Offset, r.Value, next)
			}
			next++
		})
	}
}

// dial is a connection that a test writes frames to.
func (b *dataBroker) dial() net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(dataTimeout)); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// receiveProduce reads the answer to Produce version 9 with that correlation id.
func receiveProduce(t *testing.T, c net.Conn, correlationID int32) *kmsg.ProduceResponse {
	t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		t.Fatal(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, frame); err != nil {
		t.Fatal(err)
	}
	if got := int32(binary.BigEndian.Uint32(frame)); got != correlationID {
		t.Fatalf("answer %d came, want %d", got, correlationID)
	}
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = 9
	if err := resp.ReadFrom(frame[5:]); err != nil { // After the correlation id and no tags.
		t.Fatal(err)
	}
	return resp
}

// TestDataFetchSession reads 100 partitions by a session: after the first fetch only those with
// news are answered, each once; a restart ends the session with an error that clients know.
func TestDataFetchSession(t *testing.T) {
	b := startData(t)
	c := b.raw()
	const partitions = 100
	id := b.create(c, "wide", partitions)
	var session, epoch int32
	offsets := make([]int64, partitions)
	fetch := func(changed ...int32) *kmsg.FetchResponse {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MinBytes, req.MaxBytes, req.SessionID, req.SessionEpoch = 17, 1, 50<<20, session, epoch
		if len(changed) > 0 {
			topic := kmsg.NewFetchRequestTopic()
			topic.TopicID = id
			for _, i := range changed {
				p := kmsg.NewFetchRequestTopicPartition()
				p.Partition, p.PartitionMaxBytes, p.FetchOffset, p.CurrentLeaderEpoch = i, 1<<20, offsets[i], -1
				topic.Partitions = append(topic.Partitions, p)
			}
			req.Topics = append(req.Topics, topic)
		}
		resp := exchange[*kmsg.FetchResponse](b, c, req)
		session = resp.SessionID
		epoch++
		return resp
	}
	// take checks that exactly these partitions are answered, with a record each, and moves on.
	take := func(resp *kmsg.FetchResponse, want ...int32) []int32 {
		t.Helper()
		var got []int32
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				if p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
					t.Errorf("partition %d: error %d, %d bytes", p.Partition, p.ErrorCode, len(p.RecordBatches))
				}
				got = append(got, p.Partition)
				offsets[p.Partition]++
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("answered %v, want %v", got, want)
		}
		return got
	}
	all := make([]int32, partitions)
	for i := range all {
		all[i] = int32(i)
	}
	if resp := fetch(all...); resp.ErrorCode != 0 || session == 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != partitions {
		t.Fatalf("a full fetch: error %d, session %d", resp.ErrorCode, session)
	}
	take(fetch())
	var changed []int32
	for round := range int32(5) {
		want := []int32{round, 50 + round, 99 - round}
		for _, i := range want {
			if p := exchange[*kmsg.ProduceResponse](b, c, produceTo("wide", i, sequenced(-1, -1, -1, "v"))).Topics[0].Partitions[0]; p.ErrorCode != 0 {
				t.Fatalf("produce to %d: error %d", i, p.ErrorCode)
			}
		}
		changed = take(fetch(changed...), want...)
	}
	take(fetch(changed...))
	b.restart()
	c = b.raw()
	if resp := fetch(); resp.ErrorCode != kerr.FetchSessionIDNotFound.Code {
		t.Errorf("a session from before the restart: error %d", resp.ErrorCode)
	}
}
