package producer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
)

// model is a producer state that keeps every batch and answers by looking through all of them.
type model struct {
	log           []batch.Batch
	highWatermark int64
}

// ofEpoch are the data batches of a producer at its last epoch, which is returned too.
func (m *model) ofEpoch(id int64) (batches []batch.Batch, epoch int16) {
	epoch = batch.NoProducerEpoch
	for _, b := range m.log {
		if b.ProducerID != id {
			continue
		}
		if b.ProducerEpoch != epoch {
			epoch, batches = b.ProducerEpoch, nil
		}
		if !b.Attributes.IsControl() {
			batches = append(batches, b)
		}
	}
	return batches, epoch
}

// openSince is the first offset of the producer's open transaction.
func (m *model) openSince(id int64) (int64, bool) {
	first, open := int64(0), false
	for _, b := range m.log {
		switch {
		case b.ProducerID != id:
		case b.Attributes.IsControl():
			open = false
		case b.Attributes.IsTransactional() && !open:
			first, open = b.BaseOffset, true
		}
	}
	return first, open
}

// check answers as Kafka's rules read: "ok", "duplicate N" or the name of an error.
func (m *model) check(b *batch.Batch) string {
	batches, epoch := m.ofEpoch(b.ProducerID)
	if b.ProducerEpoch == epoch {
		for _, old := range batches[max(0, len(batches)-maxBatches):] {
			if old.BaseSequence == b.BaseSequence && old.NumRecords == b.NumRecords {
				return fmt.Sprint("duplicate ", old.BaseOffset)
			}
		}
	}
	if b.ProducerEpoch < epoch {
		return kerr.InvalidProducerEpoch.Message
	}
	expected := int32(0)
	if b.ProducerEpoch == epoch && len(batches) > 0 {
		expected = batch.IncrementSequence(batches[len(batches)-1].LastSequence(), 1)
	}
	if epoch != batch.NoProducerEpoch && b.BaseSequence != expected {
		return kerr.OutOfOrderSequenceNumber.Message
	}
	if _, open := m.openSince(b.ProducerID); open && !b.Attributes.IsTransactional() {
		return kerr.InvalidTxnState.Message
	}
	return "ok"
}

// firstUnstable looks for the first batch of a transaction whose marker isn't below the high
// watermark.
func (m *model) firstUnstable() int64 {
	for i, b := range m.log {
		if !b.Attributes.IsTransactional() || b.Attributes.IsControl() {
			continue
		}
		ended := false
		for _, later := range m.log[i:] {
			if later.ProducerID == b.ProducerID && later.Attributes.IsControl() && later.BaseOffset < m.highWatermark {
				ended = true
			}
		}
		if !ended {
			return b.BaseOffset
		}
	}
	return -1
}

// TestModel appends random batches and markers of a few producers, compares each decision and
// the first unstable offset with the model's, and at the end demands that replaying the log,
// and replaying what follows a snapshot taken on the way, yields the live state.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := New(Config{ExpirationMs: math.MaxInt64})
		m := &model{}
		next := int64(0)
		var snapshot []byte
		snapshotAt := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := rapid.Int64Range(1, 3).Draw(t, "id")
			known, epoch := m.ofEpoch(id)
			epoch = max(0, epoch) + int16(rapid.SampledFrom([]int{0, 0, 0, 0, 1, -1}).Draw(t, "epoch"))
			epoch = max(0, epoch)
			var b batch.Batch
			if rapid.IntRange(0, 4).Draw(t, "marker") == 0 {
				b = marker(next, next, id, epoch, rapid.Bool().Draw(t, "commit"), 0)
				if _, err := live.Check(&b, CheckOptions{Origin: OriginCoordinator}); err != nil {
					continue
				}
			} else {
				sequence := int32(0)
				if n := len(known); n > 0 {
					back := rapid.SampledFrom([]int{0, 0, 0, 1, 3, 5}).Draw(t, "back")
					sequence = batch.IncrementSequence(known[n-1].LastSequence(), 1)
					if back > 0 && back <= n {
						sequence = known[n-back].BaseSequence
					}
				} else if rapid.Bool().Draw(t, "near the wrap") {
					sequence = math.MaxInt32 - 2
				}
				_, open := m.openSince(id)
				b = spec{id, epoch, sequence, rapid.IntRange(1, 3).Draw(t, "n"), open != (rapid.IntRange(0, 5).Draw(t, "txn") == 0), next}.make(next)
				d, err := live.Check(&b, CheckOptions{})
				got := "ok"
				switch {
				case err != nil:
					got = kerr.TypedErrorForCode(kerror.CodeOf(err)).Message
				case d.Duplicate:
					got = fmt.Sprint("duplicate ", d.DuplicateOf.FirstOffset())
				}
				if want := m.check(&b); got != want {
					t.Fatalf("%+v: %s, the model says %s", b.Header, got, want)
				}
				if got != "ok" {
					continue
				}
			}
			if _, _, err := live.Replay(&b); err != nil {
				t.Fatal(err)
			}
			m.log = append(m.log, b)
			next = b.NextOffset()
			m.highWatermark = rapid.Int64Range(m.highWatermark, next).Draw(t, "high watermark")
			live.OnHighWatermark(m.highWatermark)
			first, ok := live.FirstUnstableOffset()
			if want := m.firstUnstable(); ok != (want >= 0) || ok && first != want {
				t.Fatalf("first unstable offset %d, %v, the model says %d", first, ok, want)
			}
			if rapid.IntRange(0, 20).Draw(t, "snapshot") == 0 {
				snapshot, snapshotAt = live.AppendSnapshot(nil), len(m.log)
			}
		}
		compareReplay(t, live, m, snapshot, snapshotAt)
	})
}

// compareReplay replays the model's log into fresh states.
func compareReplay(t *rapid.T, live *State, m *model, snapshot []byte, snapshotAt int) {
	for _, from := range []int{0, snapshotAt} {
		s := New(Config{ExpirationMs: math.MaxInt64})
		if from > 0 {
			if err := s.LoadSnapshot(snapshot, m.log[from-1].NextOffset(), 0); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range m.log[from:] {
			if _, _, err := s.Replay(&b); err != nil {
				t.Fatal(err)
			}
		}
		s.OnHighWatermark(m.highWatermark)
		if !slices.Equal(s.ActiveProducers(), live.ActiveProducers()) {
			t.Fatalf("replay from %d: %+v, live %+v", from, s.ActiveProducers(), live.ActiveProducers())
		}
		if s.MapEndOffset() != live.MapEndOffset() || !slices.Equal(s.ongoing, live.ongoing) {
			t.Fatalf("replay from %d: end %d, open %v; live %d, %v", from, s.MapEndOffset(), s.ongoing, live.MapEndOffset(), live.ongoing)
		}
		if from == 0 && !slices.Equal(s.unreplicated, live.unreplicated) {
			t.Fatalf("replay: unreplicated %v, live %v", s.unreplicated, live.unreplicated)
		}
	}
}

// TestAppendDoesNotAllocate holds the path of every idempotent Produce.
func TestAppendDoesNotAllocate(t *testing.T) {
	s := New(Config{})
	var batches []batch.Batch
	for i := range int32(50) {
		batches = append(batches, spec{1, 0, i, 1, false, 0}.make(int64(i)))
	}
	i := 0
	for ; i < 10; i++ { // Until the five batches are there.
		if _, _, err := s.Replay(&batches[i]); err != nil {
			t.Fatal(err)
		}
	}
	n := testing.AllocsPerRun(20, func() {
		b := &batches[i]
		i++
		if _, err := s.Check(b, CheckOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Replay(b); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations an append", n)
	}
}

// BenchmarkProducers measures memory and time of 100,000 producers with a batch each.
func BenchmarkProducers(b *testing.B) {
	one := spec{1, 0, 0, 1, false, 0}.make(0)
	b.ReportAllocs()
	for b.Loop() {
		s := New(Config{})
		for id := range int64(100_000) {
			one.ProducerID = id
			if _, _, err := s.Replay(&one); err != nil {
				b.Fatal(err)
			}
		}
	}
}
