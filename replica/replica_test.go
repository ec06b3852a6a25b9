package replica

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// TestUnknownAndNotLeader tells partitions that don't exist from those of others, before and after
// leadership moves.
func TestUnknownAndNotLeader(t *testing.T) {
	r := newRig(t)
	r.create("mine", 1, self)
	r.create("theirs", 1, 2)
	r.create("followed", 1, 2, self)
	for topic, want := range map[string]error{"none": kerr.UnknownTopicOrPartition, "theirs": kerr.NotLeaderForPartition,
		"followed": kerr.NotLeaderForPartition, "mine": nil} {
		plan, _ := r.produce(topic, 1, "v")
		if err := plan.Partitions[0].Err; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", topic, err, want)
		}
		if _, _, err := r.m.Led(topic, 0); !errors.Is(err, want) {
			t.Errorf("Led(%s): %v, want %v", topic, err, want)
		}
	}
	r.change("followed", 1, self, 2, self)
	if _, epoch, err := r.m.Led("followed", 0); err != nil || epoch != 1 {
		t.Errorf("after the election: epoch %d, %v", epoch, err)
	}
	r.apply(&metadata.RemoveTopicRecord{TopicID: idOf("mine", 1)})
	if _, _, err := r.m.Led("mine", 0); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("after the deletion: %v", err)
	}
}

// TestLeaderEpochFencing appends as a coordinator of an epoch that has passed.
func TestLeaderEpochFencing(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self, 2)
	r.change("t", 1, self, self)
	p, epoch, err := r.m.Led("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	if first, last, err := p.Append(records(t, "a", "b"), epoch); err != nil || first != 0 || last != 1 {
		t.Fatalf("offsets %d to %d, %v", first, last, err)
	}
	var err2 error
	p.OnHighWatermark(1, epoch, func(err error) { err2 = err })
	if err2 != nil {
		t.Errorf("committed record: %v", err2)
	}
	r.change("t", 1, 2, 2)
	if _, _, err := p.Append(records(t, "c"), epoch); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("append after losing leadership: %v", err)
	}
	r.change("t", 1, self, self)
	if _, _, err := p.Append(records(t, "c"), epoch); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("append of a former epoch: %v", err)
	}
	p.OnHighWatermark(1, epoch, func(err error) { err2 = err })
	if !errors.Is(err2, kerr.NotLeaderForPartition) {
		t.Errorf("wait of a former epoch: %v", err2)
	}
	if _, _, err := p.Append(records(t, "c"), epoch+2); err != nil {
		t.Errorf("append of the new epoch: %v", err)
	}
	end, err := r.m.EpochEndOffset("t", 0, NoLeaderEpoch, epoch)
	if err != nil || end != (EpochEnd{Epoch: epoch, EndOffset: 2}) {
		t.Errorf("end of the first epoch: %+v, %v", end, err)
	}
}

// TestOlderMetadataIsIgnored applies a partition state of the past.
func TestOlderMetadataIsIgnored(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self, 2)
	first := r.img.Partition("t", 0)
	r.change("t", 1, 2, 2)
	p := r.partition("t")
	if err := p.apply(first); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.m.Led("t", 0); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("older metadata made a leader: %v", err)
	}
}

// TestRead reads what was appended, as a coordinator loads it.
func TestRead(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self)
	p := r.partition("t")
	for _, v := range []string{"a", "b", "c"} {
		r.produce("t", 1, v)
	}
	b, err := p.Read(0, 1)
	if err != nil || !strings.Contains(string(b), "a") || strings.Contains(string(b), "b") {
		t.Errorf("one batch: %q, %v", b, err)
	}
	if b, err := p.Read(1, 150); err != nil || len(wholeBatches(b)) != len(b) || len(b) == 0 {
		t.Errorf("whole batches: %d bytes, %v", len(b), err)
	}
	if b, err := p.Read(3, 100); err != nil || len(b) != 0 {
		t.Errorf("at the end: %q, %v", b, err)
	}
	if p.StartOffset() != 0 || p.EndOffset() != 3 || p.HighWatermark() != 3 {
		t.Errorf("offsets %d, %d, %d", p.StartOffset(), p.EndOffset(), p.HighWatermark())
	}
}

// TestProduceWaitsForReplicas appends with acks=all while another replica is in sync, whose
// progress isn't known: the append waits, and ends by timeout, by the ISR shrinking, or by losing
// leadership. The ISR below min.insync.replicas refuses it before and after.
func TestProduceWaitsForReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("t", 1, self, 2)
		start := time.Now()
		await := func(plan *ProducePlan) (chan struct{}, bool) {
			done := make(chan struct{})
			return done, r.m.AwaitProduce(plan, time.Second, func() { close(done) })
		}

		plan, wait := r.produce("t", 1, "acks 1 doesn't wait")
		if wait || plan.Partitions[0].Err != nil {
			t.Fatalf("acks=1: wait %t, %v", wait, plan.Partitions[0].Err)
		}
		plan, wait = r.produce("t", -1, "times out")
		if !wait {
			t.Fatal("acks=all didn't wait")
		}
		done, _ := await(plan)
		<-done
		if pp := plan.Partitions[0]; !errors.Is(pp.Err, kerr.RequestTimedOut) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), pp.Err)
		}
		r.wantNoWaiters("t")

		plan, _ = r.produce("t", -1, "is committed by the shrink")
		done, _ = await(plan)
		synctest.Wait()
		r.change("t", 1, self, self)
		<-done
		if pp := plan.Partitions[0]; pp.Err != nil || pp.FirstOffset != 2 || time.Since(start) != time.Second {
			t.Errorf("after the shrink: %+v", pp)
		}
		if hw := r.partition("t").HighWatermark(); hw != 3 {
			t.Errorf("high watermark %d after the shrink", hw)
		}

		r.set("t", "min.insync.replicas", "2")
		plan, wait = r.produce("t", -1, "refused")
		if pp := plan.Partitions[0]; wait || !errors.Is(pp.Err, kerr.NotEnoughReplicas) {
			t.Errorf("ISR too small: %v", pp.Err)
		}
		if plan, _ = r.produce("t", 1, "acks=1 passes"); plan.Partitions[0].Err != nil {
			t.Errorf("acks=1 with a small ISR: %v", plan.Partitions[0].Err)
		}
		if hw := r.partition("t").HighWatermark(); hw != 3 {
			t.Errorf("high watermark %d: it moved while the ISR is too small", hw)
		}
		if err := r.partition("t").checkCommitted(); !errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
			t.Errorf("ISR too small after the append: %v", err)
		}

		r.change("t", 1, self, self, 2)
		plan, wait = r.produce("t", -1, "the ISR shrinks meanwhile, then less is demanded")
		if !wait {
			t.Fatal("didn't wait")
		}
		done, _ = await(plan)
		r.change("t", 1, self, self)
		synctest.Wait()
		if hw := r.partition("t").HighWatermark(); hw != 3 {
			t.Errorf("high watermark %d: it moved while the ISR is too small", hw)
		}
		r.set("t", "min.insync.replicas", "1")
		<-done
		if pp := plan.Partitions[0]; pp.Err != nil || pp.FirstOffset != 4 {
			t.Errorf("after min.insync.replicas went down: %+v", pp)
		}

		r.change("t", 1, self, self, 2)
		plan, _ = r.produce("t", -1, "leadership is lost")
		done, _ = await(plan)
		var committed error
		p := r.partition("t")
		epoch := p.leading.Load()
		p.OnHighWatermark(p.EndOffset()-1, epoch, func(err error) { committed = err })
		synctest.Wait()
		r.change("t", 1, 2, 2, self)
		<-done
		synctest.Wait()
		if pp := plan.Partitions[0]; !errors.Is(pp.Err, kerr.NotLeaderForPartition) || !errors.Is(committed, kerr.NotLeaderForPartition) {
			t.Errorf("leadership lost: %v, coordinator %v", pp.Err, committed)
		}
		r.wantNoWaiters("t")

		r.change("t", 1, self, self, 2)
		plan, _ = r.produce("t", -1, "is cancelled")
		done, _ = await(plan)
		if !r.m.CancelProduce(plan) {
			t.Error("nothing to cancel")
		}
		time.Sleep(2 * time.Second)
		select {
		case <-done:
			t.Error("a cancelled wait was done")
		default:
		}
		r.wantNoWaiters("t")
	})
}

// TestDeletedAndMadeAgain deletes topics and creates them again, with this broker running and away:
// the records of the former topic are gone.
func TestDeletedAndMadeAgain(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self)
	r.create("stray", 1, self)
	r.produce("t", 1, "old")
	r.produce("stray", 1, "old")
	r.apply(&metadata.RemoveTopicRecord{TopicID: idOf("t", 1)})
	r.create("t", 2, self)
	if end := r.partition("t").EndOffset(); end != 0 {
		t.Errorf("made again: log end %d", end)
	}
	r.produce("t", 1, "second life")

	r.close()
	img := r.img
	r.open()
	r.img = img
	next, _, err := img.Apply(1, []metadata.Record{&metadata.RemoveTopicRecord{TopicID: idOf("t", 2)}, &metadata.RemoveTopicRecord{TopicID: idOf("stray", 1)}})
	if err != nil {
		t.Fatal(err)
	}
	r.img = next
	r.create("t", 3, self)
	if end := r.partition("t").EndOffset(); end != 0 {
		t.Errorf("made again while away: log end %d", end)
	}
	r.m.SetAsideStrays()
	if _, ok := r.logs.Get("stray", 0); ok {
		t.Error("a log of no topic is still there")
	}
	if _, ok := r.logs.Get("t", 0); !ok {
		t.Error("a log of a topic was set aside")
	}
}

// TestConfigReachesLogs changes a topic's settings.
func TestConfigReachesLogs(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self)
	if _, err := r.deleteRecords("t", -1); err != nil {
		t.Fatal(err)
	}
	r.set("t", "cleanup.policy", "compact")
	if _, err := r.deleteRecords("t", -1); !errors.Is(err, kerr.PolicyViolation) {
		t.Errorf("DeleteRecords of a compacted topic: %v", err)
	}
}

// TestTakesOverLogWithoutID: a log that has no topic id, because its partition.metadata was never written, belongs to
// the topic of its name; nothing of it is lost.
func TestTakesOverLogWithoutID(t *testing.T) {
	r := newRig(t)
	r.create("t", 1, self)
	r.produce("t", 1, "kept")
	end := r.partition("t").EndOffset()
	r.close()
	if err := r.fs.Remove("/data/t-0/partition.metadata"); err != nil {
		t.Fatal(err)
	}
	r.img = image.Empty()
	r.open()
	r.create("t", 1, self)
	if l, ok := r.logs.Get("t", 0); !ok || l.LogEndOffset() != end || l.TopicID() != idOf("t", 1) {
		t.Fatalf("a log: %t, that ends at %d with the topic id %x; want %d", ok, l.LogEndOffset(), l.TopicID(), end)
	}
}
