package handlers

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// broker is the handlers over a real replica manager and log, on a file system in memory: all of
// a broker but sockets, controller and coordinators.
type broker struct {
	t   testing.TB
	img *image.Image
	// published is img for the handlers, which may run beside the test.
	published  atomic.Pointer[image.Image]
	logs       *commitlog.Manager
	replicas   *replica.Manager
	configs    fixedConfigs
	controller fakeController
	h          *Dispatcher
	session    *wire.Session
}

type fixedConfigs struct{ broker *config.Broker }

func (c fixedConfigs) Broker() *config.Broker { return c.broker }

// fakeController gives out blocks of three producer ids.
type fakeController struct {
	mu    sync.Mutex
	next  int64
	calls int
	code  int16
}

func (c *fakeController) Handle(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	resp := req.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	resp.ErrorCode, resp.ProducerIDStart, resp.ProducerIDLen = c.code, c.next, 3
	c.next += 3
	return resp, nil
}

const testNode = 1

func newBroker(t testing.TB, static map[string]string) *broker {
	t.Helper()
	settings := map[string]string{"node.id": "1", "log.dirs": "/data"}
	for k, v := range static {
		settings[k] = v
	}
	cfg, _, err := config.Load(settings)
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, img: image.Empty(), configs: fixedConfigs{cfg}}
	b.published.Store(b.img)
	logger := slog.New(slog.DiscardHandler)
	b.logs, err = commitlog.Open(context.Background(), vfs.NewMem(), clock.System{}, logger, commitlog.ManagerConfig{
		Dirs: []string{"/data"}, NodeID: testNode, NewUUID: func() [16]byte { return [16]byte{1} },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.replicas = replica.NewManager(replica.Config{NodeID: testNode, Logs: b.logs, Clock: clock.System{}, Logger: logger, Settings: b.settings})
	var random uint64
	b.h = New(Deps{Logger: logger, Clock: clock.System{}, NodeID: testNode, Image: b.published.Load,
		Controller: &b.controller, Replicas: b.replicas, Configs: b.configs,
		Random: func() uint64 { random++; return random }})
	b.session = &wire.Session{ID: 1, Listener: "PLAINTEXT", SecurityProtocol: "PLAINTEXT", ClientAddr: netip.MustParseAddrPort("127.0.0.1:5000")}
	rack := "r1"
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: testNode, BrokerEpoch: 7, Rack: &rack,
		EndPoints: []metadata.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "h1", Port: 9092}}})
	t.Cleanup(b.close)
	return b
}

func (b *broker) close() {
	b.replicas.Close()
	if err := b.logs.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *broker) settings(img *image.Image, topic string) replica.Settings {
	t := b.configs.Broker().Topic(img.Configs(image.ResourceTopic, topic))
	c := commitlog.DefaultConfig()
	c.Delete, c.Compact = t.Delete, t.Compact
	c.MaxMessageBytes, c.LogAppendTime = t.MaxMessageBytes, t.LogAppendTime
	return replica.Settings{Log: c, MinInsyncReplicas: t.MinInsyncReplicas}
}

func (b *broker) apply(records ...metadata.Record) {
	b.t.Helper()
	next, delta, err := b.img.Apply(1, records)
	if err != nil {
		b.t.Fatal(err)
	}
	b.publish(next, delta)
}

// publish gives the broker its next image.
func (b *broker) publish(next *image.Image, delta *image.Delta) {
	old := b.img
	b.img = next
	b.published.Store(next)
	b.replicas.ApplyImage(old, next, delta)
}

// create makes a topic of which this broker leads all partitions. The id is made of the name.
func (b *broker) create(name string, partitions int, configs ...string) [16]byte {
	b.t.Helper()
	var id [16]byte
	copy(id[:], name)
	records := []metadata.Record{&metadata.TopicRecord{Name: name, TopicID: id}}
	for i := range partitions {
		records = append(records, &metadata.PartitionRecord{TopicID: id, PartitionID: int32(i), Replicas: []int32{testNode}, ISR: []int32{testNode},
			Leader: testNode, Directories: make([]image.ID, 1)})
	}
	for i := 0; i < len(configs); i += 2 {
		records = append(records, &metadata.ConfigRecord{ResourceType: image.ResourceTopic, ResourceName: name, Name: configs[i], Value: &configs[i+1]})
	}
	b.apply(records...)
	return id
}

// pending is a request that was sent; it is the request's wire.Slot.
type pending struct {
	t    testing.TB
	req  kmsg.Request
	done chan struct{}

	mu      sync.Mutex
	reply   wire.Reply
	body    []byte
	replies int
	onClose []func()
	// proceeded and released tell what the handler called.
	proceeded, released bool
}

func (p *pending) Complete(r wire.Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.replies++; p.replies > 1 {
		p.t.Errorf("%T was completed twice", p.req)
		return
	}
	p.reply = r
	switch {
	case r.Body != nil:
		p.body = r.Body.AppendTo(nil)
	case r.Chunks != nil:
		p.body = flatten(p.t, r.Chunks)
	}
	close(p.done)
}

func (p *pending) Proceed()      { p.mu.Lock(); p.proceeded = true; p.mu.Unlock() }
func (p *pending) ReleaseFrame() { p.mu.Lock(); p.released = true; p.mu.Unlock() }
func (p *pending) OnClose(f func()) {
	p.mu.Lock()
	p.onClose = append(p.onClose, f)
	p.mu.Unlock()
}

// kill does what a connection does when it dies.
func (p *pending) kill() {
	p.mu.Lock()
	fns := p.onClose
	p.onClose = nil
	p.mu.Unlock()
	for _, f := range fns {
		f()
	}
}

// isDone tells whether the request was completed.
func (p *pending) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// flatten copies chunks into one slice and releases them.
func flatten(t testing.TB, chunks []wire.Chunk) []byte {
	var b []byte
	for _, c := range chunks {
		if c.File == nil {
			b = append(b, c.Bytes...)
			continue
		}
		records := make([]byte, c.File.Len())
		if n, err := c.File.ReadAt(records, c.File.Position()); n != len(records) {
			t.Errorf("read %d bytes of a range of %d: %v", n, len(records), err)
		}
		b = append(b, records...)
		c.File.Release()
	}
	return b
}

// send starts a request.
func (b *broker) send(req kmsg.Request) *pending {
	p := &pending{t: b.t, req: req, done: make(chan struct{})}
	client := "test"
	b.h.ServeRequest(wire.NewRequest(wire.Header{Key: req.Key(), Version: req.GetVersion(), ClientID: &client}, req, b.session, p, time.Now()))
	return p
}

// response waits for the reply and decodes it; it must be the only way to write it.
func (p *pending) response() kmsg.Response {
	p.t.Helper()
	<-p.done
	if p.reply.CloseReason != nil || p.reply.None {
		p.t.Fatalf("%T v%d: no response, close reason %v", p.req, p.req.GetVersion(), p.reply.CloseReason)
	}
	resp := p.req.ResponseKind()
	resp.SetVersion(p.req.GetVersion())
	if err := resp.ReadFrom(p.body); err != nil {
		p.t.Fatalf("%T v%d: %v", p.req, p.req.GetVersion(), err)
	}
	return resp
}

func ask[T kmsg.Response](b *broker, req kmsg.Request) T {
	b.t.Helper()
	return b.send(req).response().(T)
}

// testBatch describes a magic 2 batch.
type testBatch struct {
	attributes    int16
	producerID    int64
	producerEpoch int16
	sequence      int32
	timestamp     int64
	key           []byte
	values        []string
	badCRC        bool
}

// oneRecord is a batch without a producer.
func oneRecord(values ...string) testBatch {
	return testBatch{producerID: -1, producerEpoch: -1, sequence: -1, timestamp: 946_684_800_000, values: values}
}

func (b testBatch) bytes() []byte {
	var records []byte
	for i, v := range b.values {
		r := []byte{0, 0}
		r = binary.AppendVarint(r, int64(i))
		if b.key == nil {
			r = binary.AppendVarint(r, -1)
		} else {
			r = append(binary.AppendVarint(r, int64(len(b.key))), b.key...)
		}
		r = append(binary.AppendVarint(r, int64(len(v))), v...)
		r = append(r, 0)
		records = append(binary.AppendVarint(records, int64(len(r))), r...)
	}
	out := make([]byte, 61, 61+len(records))
	binary.BigEndian.PutUint32(out[8:], uint32(49+len(records)))
	binary.BigEndian.PutUint32(out[12:], 1<<32-1)
	out[16] = 2
	binary.BigEndian.PutUint16(out[21:], uint16(b.attributes))
	binary.BigEndian.PutUint32(out[23:], uint32(len(b.values)-1))
	binary.BigEndian.PutUint64(out[27:], uint64(b.timestamp))
	binary.BigEndian.PutUint64(out[35:], uint64(b.timestamp))
	binary.BigEndian.PutUint64(out[43:], uint64(b.producerID))
	binary.BigEndian.PutUint16(out[51:], uint16(b.producerEpoch))
	binary.BigEndian.PutUint32(out[53:], uint32(b.sequence))
	binary.BigEndian.PutUint32(out[57:], uint32(len(b.values)))
	out = append(out, records...)
	crc := crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli))
	if b.badCRC {
		crc++
	}
	binary.BigEndian.PutUint32(out[17:], crc)
	return out
}

// produceRequest asks to append to one topic, partitions from 0 on; nil leaves one out.
func produceRequest(version, acks int16, topic string, id [16]byte, records ...[]byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Version, r.Acks, r.TimeoutMillis = version, acks, 1000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = topic, id
	for i, b := range records {
		if b != nil {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = int32(i), b
			t.Partitions = append(t.Partitions, p)
		}
	}
	r.Topics = append(r.Topics, t)
	return r
}

// mustProduce appends one record a value, each in its own batch.
func (b *broker) mustProduce(topic string, partition int, values ...string) {
	b.t.Helper()
	for _, v := range values {
		records := make([][]byte, partition+1)
		records[partition] = oneRecord(v).bytes()
		resp := ask[*kmsg.ProduceResponse](b, produceRequest(9, -1, topic, [16]byte{}, records...))
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
			b.t.Fatalf("produce: error %d", code)
		}
	}
}

// fetchRequest asks for one partition without a session.
func fetchRequest(version int16, topic string, id [16]byte, partition int32, offset int64) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = version, 500, 1, 1<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	return r
}

// compressZstd makes a batch as a producer with compression.type=zstd does.
func compressZstd(t testing.TB, b testBatch) []byte {
	t.Helper()
	plain := b.bytes()
	packed, err := batch.NewCodecs().Compress(nil, batch.Zstd, batch.DefaultLevel, plain[batch.HeaderSize:])
	if err != nil {
		t.Fatal(err)
	}
	out := append(plain[:batch.HeaderSize:batch.HeaderSize], packed...)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-batch.LogOverhead))
	out[22] |= byte(batch.Zstd)
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}
