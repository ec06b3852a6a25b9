package decide

import (
	"testing"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/record/metadata"
)

// largeImage has n partitions on brokers 1 to 3 in topics of a hundred, and as many that they don't have.
func largeImage(tb testing.TB, n int) *image.Image {
	tb.Helper()
	m := image.Empty()
	apply := func(records ...metadata.Record) {
		next, _, err := m.Apply(1, records)
		if err != nil {
			tb.Fatal(err)
		}
		m = next
	}
	apply(&metadata.FeatureLevelRecord{Name: image.MetadataVersion, FeatureLevel: 33}, &metadata.FeatureLevelRecord{Name: elrFeature, FeatureLevel: 1})
	for id := int32(1); id <= 6; id++ {
		apply(&metadata.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: m.Offset() + 1, LogDirs: []image.ID{{byte(id)}}})
	}
	for topic := range 2 * n / 100 {
		id := image.ID{byte(topic), byte(topic >> 8), 1}
		records := []metadata.Record{&metadata.TopicRecord{Name: "t" + string(rune('a'+topic%26)) + time.Duration(topic).String(), TopicID: id}}
		first := int32(topic%2) * 3
		for i := range int32(100) {
			replicas := []int32{first + 1 + i%3, first + 1 + (i+1)%3, first + 1 + (i+2)%3}
			records = append(records, &metadata.PartitionRecord{TopicID: id, PartitionID: i, Replicas: replicas, ISR: replicas, Leader: replicas[0]})
		}
		apply(records...)
	}
	return m
}

// TestFenceManyPartitions checks that a fencing is split into entries of bounded size that leave a valid
// image each, and touches what the broker has only.
func TestFenceManyPartitions(t *testing.T) {
	const n = 5_000
	settings, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		t.Fatal(err)
	}
	m := largeImage(t, n)
	now := time.Unix(1000, 0)
	live := NewLiveness(m, settings, now)
	for id := int32(2); id <= 6; id++ {
		live.Note(id, m.Broker(id).Epoch, now.Add(10*time.Second))
	}
	env := &Env{Image: m, NodeID: 1, Now: now.Add(10 * time.Second), Settings: settings}
	d := Tick(env, live)
	if len(d.Records) != n+1 || !d.Divisible {
		t.Fatalf("%d records, divisible %t", len(d.Records), d.Divisible)
	}
	batches := 0
	for batch := range d.Batches() {
		if len(batch) > maxBatch {
			t.Fatalf("a batch of %d records", len(batch))
		}
		next, _, err := m.Apply(1, batch)
		if err != nil {
			t.Fatal(err)
		}
		if err := next.Check(); err != nil {
			t.Fatal(err)
		}
		m = next
		batches++
	}
	if batches != 6 || !m.Broker(1).Fenced || leads(m, 1) {
		t.Errorf("after %d batches: broker %+v", batches, m.Broker(1))
	}
}

func BenchmarkFence(b *testing.B) {
	settings, _, err := config.Load(config.ZeroConfig())
	if err != nil {
		b.Fatal(err)
	}
	m := largeImage(b, 10_000)
	env := &Env{Image: m, NodeID: 1, Now: time.Unix(1000, 0), Settings: settings}
	b.Run("decide", func(b *testing.B) {
		for b.Loop() {
			fence(env, m.Broker(1))
		}
	})
	records := fence(env, m.Broker(1))
	b.Run("apply", func(b *testing.B) {
		d := Decision{Records: records, Divisible: true}
		for b.Loop() {
			next := m
			for batch := range d.Batches() {
				if next, _, err = next.Apply(1, batch); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("leads", func(b *testing.B) {
		for b.Loop() {
			leads(m, 99)
		}
	})
}
