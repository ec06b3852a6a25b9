package image

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/record/metadata"
	"pgregory.net/rapid"
)

func topicID(n int) ID { return ID{0: 1, 14: byte(n >> 8), 15: byte(n)} }

func partition(topic, index int, replicas ...int32) *metadata.PartitionRecord {
	return &metadata.PartitionRecord{TopicID: topicID(topic), PartitionID: int32(index), Replicas: replicas, ISR: replicas,
		Leader: replicas[0], Directories: make([]ID, len(replicas))}
}

func mustApply(t testing.TB, m *Image, records ...metadata.Record) (*Image, *Delta) {
	t.Helper()
	next, d, err := m.Apply(1, records)
	if err != nil {
		t.Fatal(err)
	}
	return next, d
}

// contents is a comparable form of all that an image says.
func contents(m *Image) []string {
	out := []string{fmt.Sprint(m.Offset(), m.Epoch(), m.NumTopics(), m.NumPartitions())}
	for r := range m.Records() {
		out = append(out, fmt.Sprintf("%x", metadata.Append(nil, r, r.MaxVersion())))
	}
	return out
}

// TestTopicLife creates, changes, deletes and creates again, and checks image and delta each time.
func TestTopicLife(t *testing.T) {
	m1, d := mustApply(t, Empty(), &metadata.TopicRecord{Name: "a", TopicID: topicID(1)}, partition(1, 0, 1, 2), partition(1, 1, 2, 1),
		&metadata.ConfigRecord{ResourceType: ResourceTopic, ResourceName: "a", Name: "k", Value: ptr("v")})
	if m1.Offset() != 3 || m1.NumPartitions() != 2 || m1.Topic("a") != m1.TopicByID(topicID(1)) || m1.Topic("a").ReplicationFactor() != 2 {
		t.Fatalf("after creation: %v", contents(m1))
	}
	if len(d.Topics) != 1 || d.Topics[0].Old != nil || len(d.Configs) != 1 {
		t.Fatalf("delta of creation: %+v", d)
	}
	change := &metadata.PartitionChangeRecord{}
	change.Reset()
	change.TopicID, change.PartitionID, change.Leader, change.ISR = topicID(1), 1, 1, []int32{1}
	m2, d := mustApply(t, m1, change)
	p := m2.Partition("a", 1)
	if p.Leader != 1 || p.LeaderEpoch != 1 || p.PartitionEpoch != 1 || !slices.Equal(p.ISR, []int32{1}) || !slices.Equal(p.Replicas, []int32{2, 1}) {
		t.Errorf("after the change: %+v", p)
	}
	if old := m1.Partition("a", 1); old.Leader != 2 || old.LeaderEpoch != 0 {
		t.Errorf("the old image changed: %+v", old)
	}
	if d.Topics[0].Old.Partition(0) != d.Topics[0].New.Partition(0) || d.Topics[0].Old.Partition(1) == d.Topics[0].New.Partition(1) {
		t.Error("a delta must share exactly the partitions that didn't change")
	}
	m3, d := mustApply(t, m2, &metadata.RemoveTopicRecord{TopicID: topicID(1)}, &metadata.TopicRecord{Name: "a", TopicID: topicID(2)}, partition(2, 0, 3))
	if m3.TopicByID(topicID(1)) != nil || m3.Topic("a").ID != topicID(2) || m3.NumPartitions() != 1 || m3.NumTopics() != 1 || m3.Config(ResourceTopic, "a").Len() != 0 {
		t.Errorf("after recreation: %v", contents(m3))
	}
	if len(d.Topics) != 2 || d.Topics[0].New != nil || d.Topics[1].Old != nil || len(d.Configs) != 1 || d.Configs[0].New != nil {
		t.Errorf("delta of recreation: %+v", d)
	}
	if diff := Diff(m2, m3); len(diff.Topics) != 2 || len(diff.Configs) != 1 || diff.Topics[0] != d.Topics[0] {
		t.Errorf("Diff differs from the delta: %+v", diff)
	}
}

// TestLargeTopicIsShared checks that changing one partition of 10,000 copies two short lists.
func TestLargeTopicIsShared(t *testing.T) {
	records := []metadata.Record{&metadata.TopicRecord{Name: "big", TopicID: topicID(1)}}
	for i := range 10_000 {
		records = append(records, partition(1, i, 1))
	}
	m, _ := mustApply(t, Empty(), records...)
	change := &metadata.PartitionChangeRecord{}
	change.Reset()
	change.TopicID, change.PartitionID, change.Leader = topicID(1), 7777, 1
	next, d := mustApply(t, m, change)
	shared := 0
	for i := range d.Topics[0].New.partitions.pieces {
		if &d.Topics[0].New.partitions.pieces[i][0] == &m.Topic("big").partitions.pieces[i][0] {
			shared++
		}
	}
	if want := len(m.Topic("big").partitions.pieces) - 1; shared != want {
		t.Errorf("%d pieces are shared, want %d", shared, want)
	}
	second := *change
	second.PartitionID = 7778
	both, _ := mustApply(t, m, change, &second)
	if both.Partition("big", 7778).LeaderEpoch != 1 || m.Partition("big", 7778).LeaderEpoch != 0 || m.Partition("big", 7777).LeaderEpoch != 0 {
		t.Error("a batch changed the image that it started from")
	}
	if next.Partition("big", 7777).LeaderEpoch != 1 || next.Partition("big", 9999) != m.Partition("big", 9999) {
		t.Error("wrong partition changed")
	}
}

// TestBrokerLife registers, unfences, shuts down and unregisters a broker.
func TestBrokerLife(t *testing.T) {
	m, _ := mustApply(t, Empty(), &metadata.RegisterBrokerRecord{BrokerID: 3, BrokerEpoch: 9, Fenced: true,
		EndPoints: []metadata.RegisterBrokerRecordBrokerEndpoint{{Name: "Z"}, {Name: "A", Host: "h", Port: 1}}})
	if b := m.Broker(3); !b.Fenced || b.Listeners[0].Name != "A" {
		t.Fatalf("registered as %+v", b)
	}
	for _, bad := range []metadata.Record{&metadata.UnfenceBrokerRecord{ID: 3, Epoch: 8}, &metadata.UnfenceBrokerRecord{ID: 4, Epoch: 9},
		&metadata.RegisterBrokerRecord{BrokerID: 3, BrokerEpoch: 9, IncarnationID: ID{1}}, &metadata.BrokerRegistrationChangeRecord{BrokerID: 3, BrokerEpoch: 9, Fenced: 2}} {
		if _, _, err := m.Apply(1, []metadata.Record{bad}); err == nil {
			t.Errorf("%+v was applied", bad)
		}
	}
	m, d := mustApply(t, m, &metadata.BrokerRegistrationChangeRecord{BrokerID: 3, BrokerEpoch: 9, Fenced: -1},
		&metadata.BrokerRegistrationChangeRecord{BrokerID: 3, BrokerEpoch: 9, InControlledShutdown: 1})
	if b := m.Broker(3); b.Fenced || !b.InControlledShutdown || len(d.Brokers) != 1 || !d.Brokers[0].Old.Fenced {
		t.Errorf("after changes: %+v, %+v", b, d.Brokers)
	}
	if m, d = mustApply(t, m, &metadata.UnregisterBrokerRecord{BrokerID: 3, BrokerEpoch: 9}); m.Broker(3) != nil || d.Brokers[0].New != nil {
		t.Errorf("still registered: %v", contents(m))
	}
}

// TestUnknownRecordStops checks that a record which this version can't handle isn't skipped, and
// that a failed batch leaves nothing behind.
func TestUnknownRecordStops(t *testing.T) {
	_, _, err := Empty().Apply(1, []metadata.Record{&metadata.NoOpRecord{}, &metadata.ClientQuotaRecord{Key: "k"}})
	var applyErr *ApplyError
	if !errors.Is(err, ErrUnsupported) || !errors.As(err, &applyErr) || applyErr.Offset != 1 {
		t.Errorf("got %v", err)
	}
}

// TestRandomRecords applies random records, good and bad ones: Apply never panics, keeps the
// invariants, and the image restored from a snapshot's records equals the live one.
func TestRandomRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		m := Empty()
		var log [][]metadata.Record
		for range rapid.IntRange(1, 60).Draw(t, "batches") {
			var batch []metadata.Record
			for range 1 + rng.IntN(3) {
				batch = append(batch, randomRecord(rng))
			}
			next, d, err := m.Apply(int32(len(log)), batch)
			if err != nil {
				continue
			}
			if err := next.Check(); err != nil {
				t.Fatalf("%v after %+v", err, batch)
			}
			if diff := Diff(m, next); !reflect.DeepEqual(diff.Topics, d.Topics) || !reflect.DeepEqual(diff.Brokers, d.Brokers) || len(diff.Configs) != len(d.Configs) {
				t.Fatalf("delta %+v, diff %+v", d, diff)
			}
			m = next
			log = append(log, batch)
		}
		replayed := Empty()
		for i, batch := range log {
			var err error
			if replayed, _, err = replayed.Apply(int32(i), reencode(t, batch)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(contents(replayed), contents(m)) {
			t.Fatal("image replayed from the log differs")
		}
		restored, err := Restore(m.Offset(), m.Epoch(), func(yield func(metadata.Record, error) bool) {
			for r := range m.Records() {
				if !yield(reencode(t, []metadata.Record{r})[0], nil) {
					return
				}
			}
		})
		if err != nil || !slices.Equal(contents(restored), contents(m)) {
			t.Fatalf("image restored from a snapshot differs: %v", err)
		}
	})
}

func reencode(t *rapid.T, batch []metadata.Record) (out []metadata.Record) {
	for _, r := range batch {
		back, _, err := metadata.Read(metadata.Append(nil, r, r.MaxVersion()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, back)
	}
	return out
}

func randomRecord(rng *rand.Rand) metadata.Record {
	id, broker, epoch := rng.IntN(4), int32(rng.IntN(3)), int64(rng.IntN(6))
	var value *string
	if rng.IntN(2) == 0 {
		value = ptr(fmt.Sprint(rng.IntN(3)))
	}
	switch rng.IntN(11) {
	case 0:
		return &metadata.TopicRecord{Name: fmt.Sprint("t", rng.IntN(3)), TopicID: topicID(id)}
	case 1:
		return &metadata.RemoveTopicRecord{TopicID: topicID(id)}
	case 2, 3:
		return partition(id, rng.IntN(3), broker, (broker+1)%3)
	case 4:
		r := &metadata.PartitionChangeRecord{}
		r.Reset()
		r.TopicID, r.PartitionID = topicID(id), int32(rng.IntN(3))
		if rng.IntN(2) == 0 {
			r.Leader = broker - 1
		}
		if rng.IntN(2) == 0 {
			r.ISR = []int32{broker}
		}
		if rng.IntN(4) == 0 {
			r.Replicas = []int32{broker, (broker + 1) % 3}
			r.EligibleLeaderReplicas = []int32{(broker + 1) % 3}
		}
		return r
	case 5:
		return &metadata.ConfigRecord{ResourceType: int8(2 << rng.IntN(2)), ResourceName: fmt.Sprint("t", rng.IntN(3)), Name: fmt.Sprint("k", rng.IntN(3)), Value: value}
	case 6:
		return &metadata.RegisterBrokerRecord{BrokerID: broker, BrokerEpoch: epoch, Rack: value, Fenced: true}
	case 7:
		return &metadata.BrokerRegistrationChangeRecord{BrokerID: broker, BrokerEpoch: epoch, Fenced: int8(rng.IntN(3) - 1), InControlledShutdown: int8(rng.IntN(2))}
	case 8:
		return &metadata.UnregisterBrokerRecord{BrokerID: broker, BrokerEpoch: epoch}
	case 9:
		return &metadata.FeatureLevelRecord{Name: fmt.Sprint("f", rng.IntN(3)), FeatureLevel: int16(rng.IntN(3))}
	}
	return &metadata.ProducerIdsRecord{BrokerID: broker, NextProducerID: epoch * 1000}
}

func ptr[T any](v T) *T { return &v }
