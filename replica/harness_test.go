package replica

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const self = 1

// rig is a Manager over real logs on a file system in memory, driven by metadata records.
type rig struct {
	t    testing.TB
	fs   vfs.FS
	img  *image.Image
	logs *commitlog.Manager
	m    *Manager
	ids  atomic.Uint32
}

// uuids makes ids that tell nodes apart, and never the same one twice: names of directories that are deleted have them.
func uuids(made *atomic.Uint32, node int32) func() [16]byte {
	return func() [16]byte {
		id := [16]byte{byte(node)}
		binary.BigEndian.PutUint32(id[12:], made.Add(1))
		return id
	}
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigOn(t, vfs.NewMem())
}

// newRigOn is newRig on other files.
func newRigOn(t testing.TB, fs vfs.FS) *rig {
	t.Helper()
	r := &rig{t: t, fs: fs, img: image.Empty()}
	r.open()
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	logs, err := commitlog.Open(context.Background(), r.fs, clock.System{}, logger, commitlog.ManagerConfig{
		Dirs: []string{"/data"}, NodeID: self, NewUUID: uuids(&r.ids, self),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.logs = logs
	r.m = NewManager(Config{NodeID: self, Logs: logs, Clock: clock.System{}, Logger: logger, Settings: settingsOf})
}

func (r *rig) close() {
	r.t.Helper()
	r.m.Close()
	if err := r.logs.Close(); err != nil {
		r.t.Error(err)
	}
}

// settingsOf reads the few settings that these tests use.
func settingsOf(img *image.Image, topic string) Settings {
	s := Settings{Log: commitlog.DefaultConfig(), MinInsyncReplicas: 1}
	set := img.Config(image.ResourceTopic, topic)
	if v, ok := set.Get("min.insync.replicas"); ok {
		s.MinInsyncReplicas = int32(v[0] - '0')
	}
	if v, ok := set.Get("cleanup.policy"); ok && v == "compact" {
		s.Log.Delete, s.Log.Compact = false, true
	}
	if v, ok := set.Get("flush.messages"); ok {
		s.Log.FlushMessages = int64(v[0] - '0')
	}
	return s
}

func (r *rig) apply(records ...metadata.Record) {
	r.t.Helper()
	next, delta, err := r.img.Apply(1, records)
	if err != nil {
		r.t.Fatal(err)
	}
	old := r.img
	r.img = next
	r.m.ApplyImage(old, next, delta)
}

func idOf(name string, generation byte) (id [16]byte) {
	copy(id[:], name)
	id[15] = generation
	return id
}

// create makes a topic with one partition on the given replicas, led by the first.
func (r *rig) create(name string, generation byte, replicas ...int32) {
	r.t.Helper()
	id := idOf(name, generation)
	r.apply(&metadata.TopicRecord{Name: name, TopicID: id}, &metadata.PartitionRecord{TopicID: id, Replicas: replicas, ISR: replicas,
		Leader: replicas[0], Directories: make([]image.ID, len(replicas))})
}

// change moves leader and ISR of a topic's partition; the leader epoch grows with the leader.
func (r *rig) change(name string, generation byte, leader int32, isr ...int32) {
	r.t.Helper()
	c := &metadata.PartitionChangeRecord{}
	c.Reset()
	c.TopicID, c.PartitionID, c.ISR = idOf(name, generation), 0, isr
	if r.img.Partition(name, 0).Leader != leader {
		c.Leader = leader
	}
	r.apply(c)
}

func (r *rig) set(topic, key, value string) {
	r.t.Helper()
	r.apply(&metadata.ConfigRecord{ResourceType: image.ResourceTopic, ResourceName: topic, Name: key, Value: &value})
}

func records(t testing.TB, values ...string) []byte {
	t.Helper()
	b := batch.NewCodecs().NewBuilder(nil, batch.DefaultOptions())
	for _, v := range values {
		b.Append(946_684_800_000, []byte("k"), []byte(v))
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// produce appends one batch and returns the plan.
func (r *rig) produce(topic string, acks int16, values ...string) (*ProducePlan, bool) {
	r.t.Helper()
	plan := &ProducePlan{Acks: acks, Partitions: []ProducePartition{{Topic: topic, Records: records(r.t, values...)}}}
	return plan, r.m.Produce(plan)
}

func fetchPlan(minBytes int, topics ...string) *FetchPlan {
	plan := &FetchPlan{ReplicaID: ConsumerReplicaID, MinBytes: minBytes, MaxBytes: 1 << 20}
	for _, t := range topics {
		plan.Partitions = append(plan.Partitions, FetchPartition{Topic: t, CurrentLeaderEpoch: NoLeaderEpoch, LastFetchedEpoch: -1, MaxBytes: 1 << 20})
	}
	return plan
}

// deleteRecords moves a topic's log start and doesn't wait for followers.
func (r *rig) deleteRecords(topic string, offset int64) (int64, error) {
	r.t.Helper()
	plan := &DeletePlan{Partitions: []DeletePartition{{Topic: topic, Offset: offset}}}
	r.m.Delete(plan)
	return plan.Partitions[0].LowWatermark, plan.Partitions[0].Err
}

// partition is the partition of a topic.
func (r *rig) partition(topic string) *Partition {
	r.t.Helper()
	p, err := r.m.partition(topic, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// wantNoWaiters fails if anyone is left in a partition's lists.
func (r *rig) wantNoWaiters(topics ...string) {
	r.t.Helper()
	for _, t := range topics {
		if readers, commits := r.partition(t).waiters(); readers != 0 || commits != 0 {
			r.t.Errorf("%s: %d readers and %d appends are left waiting", t, readers, commits)
		}
	}
}
