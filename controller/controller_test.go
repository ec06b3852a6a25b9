package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nodeID = 1

func testConfig(t testing.TB, stores StoreFactory) Config {
	t.Helper()
	settings, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		NodeID: nodeID, Settings: settings, Stores: stores, Clock: clock.System{},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Rand: rand.New(rand.NewPCG(1, 2)),
		OnFatal: func(err error) { t.Error("fatal:", err) },
	}
}

func startController(t testing.TB, cfg Config, subscribers ...Subscriber) *Controller {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subscribers {
		c.Subscribe(s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func closeController(t testing.TB, c *Controller) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func handle[T kmsg.Response](t testing.TB, c *Controller, req kmsg.Request) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := c.Handle(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(T)
}

// registration is a broker's with all that the controller asks for.
func registration(c *Controller, id int32, incarnation image.ID) *kmsg.BrokerRegistrationRequest {
	r := kmsg.NewPtrBrokerRegistrationRequest()
	r.BrokerID, r.ClusterID, r.IncarnationID = id, c.Image().ClusterID(), incarnation
	r.LogDirs = [][16]byte{{15: 200}}
	for _, f := range image.SupportedFeatures() {
		r.Features = append(r.Features, kmsg.BrokerRegistrationRequestFeature{Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	return r
}

// register registers this node's own broker and unfences it.
func register(t testing.TB, c *Controller) int64 {
	t.Helper()
	r := registration(c, nodeID, c.Incarnation())
	epoch := handle[*kmsg.BrokerRegistrationResponse](t, c, r).BrokerEpoch
	h := kmsg.NewPtrBrokerHeartbeatRequest()
	h.BrokerID, h.BrokerEpoch, h.CurrentMetadataOffset = nodeID, epoch, c.Image().Offset()
	if resp := handle[*kmsg.BrokerHeartbeatResponse](t, c, h); resp.ErrorCode != 0 || resp.IsFenced {
		t.Fatalf("heartbeat answered %+v", resp)
	}
	return epoch
}

func createTopic(t testing.TB, c *Controller, name string, partitions int32) {
	t.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, 1
	r.Topics = append(r.Topics, rt)
	if resp := handle[*kmsg.CreateTopicsResponse](t, c, r); resp.Topics[0].ErrorCode != 0 {
		t.Fatalf("creation answered %+v", resp.Topics[0])
	}
}

func contents(m *image.Image) []string {
	out := []string{fmt.Sprint(m.Offset())}
	for r := range m.Records() {
		out = append(out, fmt.Sprintf("%x", metadata.Append(nil, r, r.MaxVersion())))
	}
	return out
}

// TestRestartKeepsTheImage runs a controller on disk, restarts it with and without a snapshot, and
// compares images: replay of the log and of the snapshot both equal the live state.
func TestRestartKeepsTheImage(t *testing.T) {
	dir := t.TempDir()
	cfg := testConfig(t, DiskStores(dir, slog.New(slog.NewTextHandler(io.Discard, nil))))
	c := startController(t, cfg)
	register(t, c)
	for i := range 5 {
		createTopic(t, c, fmt.Sprint("t", i), 3)
	}
	live := contents(c.Image())
	if m := c.Image(); m.NumPartitions() != 15 || len(m.ClusterID()) != 22 || m.FeatureLevel("metadata.version") != 33 || m.Partition("t4", 2).Leader != nodeID {
		t.Fatalf("unexpected image: %v", live)
	}
	closeController(t, c)

	c = startController(t, cfg)
	if got := contents(c.Image()); !slices.Equal(got, live) {
		t.Errorf("after replay:\n got %v\nwant %v", got, live)
	}
	if err := c.raft.Load().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	createTopic(t, c, "late", 1)
	live = contents(c.Image())
	closeController(t, c)

	c = startController(t, cfg)
	if got := contents(c.Image()); !slices.Equal(got, live) {
		t.Errorf("after snapshot and replay:\n got %v\nwant %v", got, live)
	}
	// A new incarnation of the broker gets a new epoch, and its partitions new leader epochs.
	before := c.Image().Partition("late", 0).LeaderEpoch
	epoch := c.Image().Broker(nodeID).Epoch
	if next := register(t, c); next <= epoch {
		t.Errorf("broker epoch %d after %d", next, epoch)
	}
	if p := c.Image().Partition("late", 0); p.Leader != nodeID || p.LeaderEpoch <= before {
		t.Errorf("after restart: %+v", p)
	}
	closeController(t, c)
}

// TestSubscribersAreOrdered checks that subscribers see one loaded image and then every change in
// order, before the reply of the request that made it.
func TestSubscribersAreOrdered(t *testing.T) {
	stores := MemoryStores()
	for run := range 2 {
		var mu sync.Mutex
		last := image.Empty()
		calls := 0
		c := startController(t, testConfig(t, stores), func(old, next *image.Image, d *image.Delta) {
			mu.Lock()
			defer mu.Unlock()
			if old != last && calls > 0 || d.Old != old || d.New != next {
				t.Errorf("call %d: old image is at %d, last one seen at %d", calls, old.Offset(), last.Offset())
			}
			last = next
			calls++
		})
		seen := func() *image.Image {
			mu.Lock()
			defer mu.Unlock()
			return last
		}
		if seen().ClusterID() == "" {
			t.Error("Start returned before the subscriber saw the image")
		}
		register(t, c)
		for i := range 10 {
			name := fmt.Sprint("s", run, "-", i)
			createTopic(t, c, name, 1)
			if seen().Topic(name) == nil || c.Image().Topic(name) == nil {
				t.Errorf("topic %s was answered before it was seen", name)
			}
		}
		closeController(t, c)
	}
}

// TestConcurrentRequests creates topics from many goroutines, some of them twice: each exists once,
// exactly one of two rivals wins, and the loser's answer leaves only once the topic is committed.
func TestConcurrentRequests(t *testing.T) {
	c := startController(t, testConfig(t, MemoryStores()))
	register(t, c)
	var wg sync.WaitGroup
	var mu sync.Mutex
	codes := map[int16]int{}
	for i := range 80 {
		wg.Go(func() {
			name := fmt.Sprint("c", i/2)
			r := kmsg.NewPtrCreateTopicsRequest()
			rt := kmsg.NewCreateTopicsRequestTopic()
			rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
			r.Topics = append(r.Topics, rt)
			resp := handle[*kmsg.CreateTopicsResponse](t, c, r)
			if c.Image().Topic(name) == nil {
				t.Errorf("%s was answered with %d before it was committed", name, resp.Topics[0].ErrorCode)
			}
			mu.Lock()
			defer mu.Unlock()
			codes[resp.Topics[0].ErrorCode]++
		})
	}
	wg.Wait()
	if codes[0] != 40 || codes[kerr.TopicAlreadyExists.Code] != 40 || c.Image().NumTopics() != 40 {
		t.Errorf("codes %v, %d topics", codes, c.Image().NumTopics())
	}
	closeController(t, c)
}

// TestClosedController checks what requests are told during and after Close.
func TestClosedController(t *testing.T) {
	c := startController(t, testConfig(t, MemoryStores()))
	if _, err := c.Handle(context.Background(), kmsg.NewPtrProduceRequest()); !errors.Is(err, kerr.UnsupportedVersion) {
		t.Errorf("foreign request: %v", err)
	}
	closeController(t, c)
	if _, err := c.Handle(context.Background(), kmsg.NewPtrCreateTopicsRequest()); kerror.CodeOf(err) != kerr.NotController.Code {
		t.Errorf("after Close: %v", err)
	}
}

// TestStartIsCancelled checks that a Start that was told to stop leaves nothing behind, and that Close may follow it.
func TestStartIsCancelled(t *testing.T) {
	c, err := New(testConfig(t, MemoryStores()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v", err)
	}
	closeController(t, c)
	closeController(t, c)
}

// crashStore passes all writes on and keeps, in disk, what a crash after the first left of them would
// have left behind.
type crashStore struct {
	*raft.InmemStore
	disk *raft.InmemStore

	mu   sync.Mutex
	left int
}

func (s *crashStore) write(f func(*raft.InmemStore) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left > 0 {
		s.left--
		if err := f(s.disk); err != nil {
			return err
		}
	}
	return f(s.InmemStore)
}

func (s *crashStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

func (s *crashStore) StoreLogs(l []*raft.Log) error {
	return s.write(func(to *raft.InmemStore) error { return to.StoreLogs(l) })
}

func (s *crashStore) Set(k, v []byte) error {
	return s.write(func(to *raft.InmemStore) error { return to.Set(k, v) })
}

func (s *crashStore) SetUint64(k []byte, v uint64) error {
	return s.write(func(to *raft.InmemStore) error { return to.SetUint64(k, v) })
}

// TestCrashDuringBootstrap crashes the first start after every write to the stores and starts again
// on what is there (case C02): the second start always ends with a complete cluster, and what the
// first one bootstrapped, if it was written, is kept whole.
func TestCrashDuringBootstrap(t *testing.T) {
	kept := 0
	for writes := 0; ; writes++ {
		store := &crashStore{InmemStore: raft.NewInmemStore(), disk: raft.NewInmemStore(), left: writes}
		on := func(log raft.LogStore, stable raft.StableStore) StoreFactory {
			snapshots := raft.NewInmemSnapshotStore()
			return func() (Stores, error) {
				return Stores{Log: log, Stable: stable, Snapshots: snapshots, Close: func() error { return nil }}, nil
			}
		}
		first := startController(t, testConfig(t, on(store, store)))
		clusterID := first.Image().ClusterID()
		closeController(t, first)

		cfg := testConfig(t, on(store.disk, store.disk))
		cfg.Rand = rand.New(rand.NewPCG(uint64(writes), 9))
		again := startController(t, cfg)
		m := again.Image()
		if len(m.ClusterID()) != 22 || len(m.Features()) != len(bootstrapFeatures) || m.Config(image.ResourceBroker, "").Len() != 1 || m.Offset() != 8 {
			t.Errorf("after %d writes: %v", writes, contents(m))
		}
		if m.ClusterID() == clusterID {
			kept++
		} else if kept > 0 {
			t.Errorf("the cluster's id is lost after %d writes", writes)
		}
		register(t, again)
		closeController(t, again)
		if store.left > 0 {
			t.Logf("bootstrap takes %d writes", writes-1)
			break
		}
	}
	if kept == 0 {
		t.Error("a complete bootstrap isn't kept")
	}
}

// TestEntryRefusals checks damaged raft entries.
func TestEntryRefusals(t *testing.T) {
	good := appendEntry(nil, 7, 9, []metadata.Record{&metadata.NoOpRecord{}, &metadata.TopicRecord{Name: "a"}})
	if e, err := readEntry(good); err != nil || len(e.records) != 2 || e.epoch != 7 || e.offset != 9 || !e.bound {
		t.Fatalf("%+v, %v", e, err)
	}
	unbound := append([]byte{1}, good[3:]...)
	if e, err := readEntry(unbound); err != nil || len(e.records) != 2 || e.bound {
		t.Fatalf("%+v, %v", e, err)
	}
	for n := range good {
		if _, err := readEntry(good[:n]); err == nil {
			t.Errorf("%d of %d bytes were read without an error", n, len(good))
		}
	}
	for _, bad := range [][]byte{{3, 0}, {2, 0}, {2, 0, 0, 1}, {1, 1}, {1, 0, 1}, append(slices.Clone(good), 0), {1, 0xff, 0xff, 0xff, 0xff, 0xff, 1}} {
		if _, err := readEntry(bad); err == nil {
			t.Errorf("%x was read", bad)
		}
	}
}

// FuzzReadEntry asserts that what is accepted is stable under encoding and decoding.
func FuzzReadEntry(f *testing.F) {
	f.Add(appendEntry(nil, 1, -1, []metadata.Record{&metadata.NoOpRecord{}, &metadata.TopicRecord{Name: "a"}}))
	f.Add(appendEntry(nil, 1, 5, bootstrapRecords(testConfig(f, MemoryStores()), "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := readEntry(b)
		if err != nil {
			return
		}
		again, err := readEntry(appendEntry(nil, e.epoch, e.offset, e.records))
		if err != nil || len(again.records) != len(e.records) || e.bound && (again.epoch != e.epoch || again.offset != e.offset) {
			t.Fatalf("%+v came back as %+v: %v", e, again, err)
		}
		if _, _, err := image.Empty().Apply(1, e.records); err != nil {
			return
		}
	})
}

// BenchmarkStart measures New to ready on disk, for a new cluster and for a restart.
func BenchmarkStart(b *testing.B) {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			c := startController(b, testConfig(b, DiskStores(b.TempDir(), logger)))
			b.StopTimer()
			closeController(b, c)
			b.StartTimer()
		}
	})
	b.Run("restart", func(b *testing.B) {
		cfg := testConfig(b, DiskStores(b.TempDir(), logger))
		closeController(b, startController(b, cfg))
		for b.Loop() {
			c := startController(b, cfg)
			b.StopTimer()
			closeController(b, c)
			b.StartTimer()
		}
	})
}

// TestUnknownRecordStopsTheNode puts an entry into the log that this version can't apply, as a newer
// one would: the node stops with an error that names the record, instead of going on without it.
func TestUnknownRecordStopsTheNode(t *testing.T) {
	stores := MemoryStores()
	closeController(t, startController(t, testConfig(t, stores)))
	opened, err := stores()
	if err != nil {
		t.Fatal(err)
	}
	last, err := opened.Log.LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	entry := appendEntry(nil, 2, 8, []metadata.Record{&metadata.ClientQuotaRecord{Key: "k"}})
	if err := opened.Log.StoreLog(&raft.Log{Index: last + 1, Term: 2, Type: raft.LogCommand, Data: entry}); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(t, stores)
	fatal := make(chan error, 1)
	cfg.OnFatal = func(err error) { fatal <- err }
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); !errors.Is(err, image.ErrUnsupported) {
		t.Errorf("Start returned %v", err)
	}
	if err := <-fatal; !errors.Is(err, image.ErrUnsupported) {
		t.Errorf("OnFatal was told %v", err)
	}
}

// TestStepDown takes the leadership away between requests: they are refused with NOT_CONTROLLER,
// and once it is back decisions are made on the committed image again.
func TestStepDown(t *testing.T) {
	c := startController(t, testConfig(t, MemoryStores()))
	register(t, c)
	createTopic(t, c, "before", 1)
	c.loop.leadership <- false
	// The loop handles leadership and requests in any order; the second request comes after both.
	refused := func() bool {
		_, err := c.Handle(t.Context(), kmsg.NewPtrListPartitionReassignmentsRequest())
		return kerror.CodeOf(err) == kerr.NotController.Code
	}
	for range 100 {
		if refused() {
			break
		}
	}
	if !refused() {
		t.Fatal("requests are answered without leadership")
	}
	c.loop.leadership <- true
	for range 1000 {
		if !refused() {
			createTopic(t, c, "after", 1)
			closeController(t, c)
			return
		}
	}
	t.Fatal("requests are refused with leadership")
}

// BenchmarkCreateTopic measures the creation of a topic on disk, one request at a time and many at
// once.
func BenchmarkCreateTopic(b *testing.B) {
	for _, clients := range []int{1, 32} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			c := startController(b, testConfig(b, DiskStores(b.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil)))))
			register(b, c)
			var n atomic.Int64
			b.SetParallelism(clients)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					createTopic(b, c, fmt.Sprint("t", n.Add(1)), 1)
				}
			})
			closeController(b, c)
		})
	}
}
