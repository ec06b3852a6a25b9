package handlers

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/replica"
)

// TestFetchAllVersions reads the same records with every version.
func TestFetchAllVersions(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.mustProduce("t", 0, "one", "two")
	for version := int16(4); version <= 18; version++ {
		name := "t"
		if version >= 13 {
			name = ""
		}
		resp := ask[*kmsg.FetchResponse](b, fetchRequest(version, name, id, 0, 0))
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.HighWatermark != 2 || p.LastStableOffset != 2 || p.AbortedTransactions != nil || p.PreferredReadReplica != -1 {
			t.Errorf("version %d: %+v", version, p)
		}
		if s := string(p.RecordBatches); !strings.Contains(s, "one") || !strings.Contains(s, "two") {
			t.Errorf("version %d: records %q", version, s)
		}
		if version < 13 && resp.Topics[0].Topic != "t" || version >= 13 && resp.Topics[0].TopicID != id {
			t.Errorf("version %d names the topic %q, %x", version, resp.Topics[0].Topic, resp.Topics[0].TopicID)
		}
	}
}

// TestFetchErrors holds the answers of Kafka 4.4.0 to fetches that fail.
func TestFetchErrors(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.mustProduce("t", 0, "a", "b", "c")
	deletion := replica.DeletePlan{Partitions: []replica.DeletePartition{{Topic: "t", Offset: 1}}}
	if b.replicas.Delete(&deletion) || deletion.Partitions[0].Err != nil {
		t.Fatal(deletion.Partitions[0].Err)
	}
	for _, tc := range []struct {
		name         string
		req          *kmsg.FetchRequest
		code         int16
		emptyAborted bool
	}{
		{"below the start", fetchRequest(12, "t", id, 0, 0), 1, false},
		{"above the end", fetchRequest(12, "t", id, 0, 99), 1, false},
		{"negative", fetchRequest(12, "t", id, 0, -1), 1, false},
		{"unknown partition", fetchRequest(12, "t", id, 9, 0), 3, true},
		{"unknown topic", fetchRequest(12, "none", id, 0, 0), 3, true},
		{"unknown id", fetchRequest(13, "", [16]byte{1, 2}, 0, 0), 100, true},
		{"zero id", fetchRequest(13, "", [16]byte{}, 0, 0), 100, true},
		{"unknown leader epoch", withFetch(fetchRequest(12, "t", id, 0, 1), func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 5 }), 75, false},
		{"last fetched epoch from the future", withFetch(fetchRequest(12, "t", id, 0, 1), func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 5 }), 1, false},
		{"a broker that is no replica", func() *kmsg.FetchRequest { r := fetchRequest(12, "t", id, 0, 1); r.ReplicaID = 5; return r }(), 6, false},
		{"the leader itself", func() *kmsg.FetchRequest { r := fetchRequest(12, "t", id, 0, 1); r.ReplicaID = testNode; return r }(), 6, false},
		{"negative limit", withFetch(fetchRequest(12, "t", id, 0, 1), func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = -1 }), -1, false},
	} {
		p := ask[*kmsg.FetchResponse](b, tc.req).Topics[0].Partitions[0]
		if p.ErrorCode != tc.code || p.HighWatermark != -1 || p.LastStableOffset != -1 || p.LogStartOffset != -1 ||
			(p.AbortedTransactions != nil) != tc.emptyAborted || p.RecordBatches == nil || len(p.RecordBatches) > 0 {
			t.Errorf("%s: %+v, want error %d", tc.name, p, tc.code)
		}
	}
	p := ask[*kmsg.FetchResponse](b, withFetch(fetchRequest(12, "t", id, 0, 30), func(p *kmsg.FetchRequestTopicPartition) { p.LastFetchedEpoch = 0 })).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.DivergingEpoch.Epoch != 0 || p.DivergingEpoch.EndOffset != 3 || p.HighWatermark != 3 {
		t.Errorf("diverging: %+v", p)
	}
	p = ask[*kmsg.FetchResponse](b, withFetch(fetchRequest(12, "t", id, 0, 1), func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = -5 })).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
		t.Errorf("a negative leader epoch, which is none: %+v", p)
	}
	p = ask[*kmsg.FetchResponse](b, withFetch(fetchRequest(12, "t", id, 0, 3), func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = -1 })).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.HighWatermark != 3 {
		t.Errorf("a negative limit at the end: %+v", p)
	}
	r := fetchRequest(12, "t", id, 0, 1)
	r.IsolationLevel = 9
	if resp := ask[*kmsg.FetchResponse](b, r); resp.ErrorCode != -1 || resp.Topics[0].Partitions[0].ErrorCode != -1 {
		t.Errorf("isolation level 9: %+v", resp)
	}
}

func withFetch(r *kmsg.FetchRequest, change func(*kmsg.FetchRequestTopicPartition)) *kmsg.FetchRequest {
	change(&r.Topics[0].Partitions[0])
	return r
}

// TestFetchLimits reads with limits smaller than a batch: the first batch of the response comes
// whole (KIP-74), later partitions get nothing once the limit is spent.
func TestFetchLimits(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 2)
	b.mustProduce("t", 0, strings.Repeat("x", 5000))
	b.mustProduce("t", 1, strings.Repeat("y", 5000))
	r := withFetch(fetchRequest(12, "t", id, 0, 0), func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = 10 })
	r.MaxBytes = 0
	second := r.Topics[0].Partitions[0]
	second.Partition = 1
	r.Topics[0].Partitions = append(r.Topics[0].Partitions, second)
	resp := ask[*kmsg.FetchResponse](b, r)
	first, rest := resp.Topics[0].Partitions[0], resp.Topics[0].Partitions[1]
	if n := len(first.RecordBatches); n != 5070 {
		t.Errorf("first batch has %d bytes, want it whole", n)
	}
	if len(rest.RecordBatches) != 0 || rest.ErrorCode != 0 || rest.HighWatermark != 1 {
		t.Errorf("second partition: %+v", rest)
	}
}

// TestFetchDuplicatePartition names a partition twice; one answer comes.
func TestFetchDuplicatePartition(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.mustProduce("t", 0, "a")
	r := fetchRequest(12, "t", id, 0, 0)
	r.Topics[0].Partitions = append(r.Topics[0].Partitions, r.Topics[0].Partitions[0])
	r.Topics = append(r.Topics, r.Topics[0])
	if resp := ask[*kmsg.FetchResponse](b, r); len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.Errorf("got %+v", resp)
	}
	r = fetchRequest(12, "t", id, 0, 0)
	r.Topics = nil
	if resp := ask[*kmsg.FetchResponse](b, r); len(resp.Topics) != 0 || resp.ErrorCode != 0 {
		t.Errorf("an empty fetch: %+v", resp)
	}
}

// TestFetchReadCommitted reads with isolation level 1: aborted transactions are told, none here.
func TestFetchReadCommitted(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.mustProduce("t", 0, "a")
	r := fetchRequest(12, "t", id, 0, 0)
	r.IsolationLevel = 1
	if p := ask[*kmsg.FetchResponse](b, r).Topics[0].Partitions[0]; p.AbortedTransactions == nil || len(p.AbortedTransactions) != 0 || len(p.RecordBatches) == 0 {
		t.Errorf("got %+v", p)
	}
}

// TestFetchZstd keeps zstd from clients that can't read it.
func TestFetchZstd(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.mustProduce("t", 0, "plain")
	fetch := func(version int16, offset int64) kmsg.FetchResponseTopicPartition {
		return ask[*kmsg.FetchResponse](b, fetchRequest(version, "t", id, 0, offset)).Topics[0].Partitions[0]
	}
	req := produceRequest(9, -1, "t", id, compressZstd(t, oneRecord("packed")))
	if p := ask[*kmsg.ProduceResponse](b, req).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Fatalf("produce zstd: %+v", p)
	}
	if p := fetch(10, 1); p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
		t.Errorf("version 10: %+v", p)
	}
	if p := fetch(9, 1); p.ErrorCode != kerr.UnsupportedCompressionType.Code || len(p.RecordBatches) != 0 {
		t.Errorf("version 9: %+v", p)
	}
	whole, before := fetch(10, 0), fetch(4, 0)
	if before.ErrorCode != 0 || len(before.RecordBatches) == 0 || len(before.RecordBatches) >= len(whole.RecordBatches) ||
		!strings.Contains(string(before.RecordBatches), "plain") {
		t.Errorf("version 4 from the plain batch: %+v", before)
	}
}

// TestFetchLongPoll parks a fetch: it comes back with data as soon as there is enough, with
// nothing when its time is over, with an error when the topic goes, and never when its connection
// dies.
func TestFetchLongPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, nil)
		id := b.create("t", 2)
		start := time.Now()
		p := b.send(fetchRequest(12, "t", id, 0, 0))
		synctest.Wait()
		if p.isDone() || !p.released {
			t.Fatalf("done %t, frame released %t; want a parked fetch without its frame", p.isDone(), p.released)
		}
		b.mustProduce("t", 1, "elsewhere")
		synctest.Wait()
		if p.isDone() {
			t.Fatal("a partition that wasn't asked for woke the fetch")
		}
		b.mustProduce("t", 0, "here")
		if resp := p.response().(*kmsg.FetchResponse); !strings.Contains(string(resp.Topics[0].Partitions[0].RecordBatches), "here") || time.Since(start) != 0 {
			t.Errorf("after %v: %+v", time.Since(start), resp)
		}

		r := fetchRequest(12, "t", id, 0, 1)
		r.MinBytes = 200
		p = b.send(r)
		b.mustProduce("t", 0, "one")
		synctest.Wait()
		if p.isDone() {
			t.Fatal("too few bytes woke the fetch")
		}
		b.mustProduce("t", 0, "two", "three")
		if resp := p.response().(*kmsg.FetchResponse); len(resp.Topics[0].Partitions[0].RecordBatches) < 200 || time.Since(start) != 0 {
			t.Errorf("after %v: %+v", time.Since(start), resp)
		}

		p = b.send(fetchRequest(12, "t", id, 0, 4))
		resp := p.response().(*kmsg.FetchResponse)
		if time.Since(start) != 500*time.Millisecond || resp.Topics[0].Partitions[0].ErrorCode != 0 || len(resp.Topics[0].Partitions[0].RecordBatches) != 0 {
			t.Errorf("timeout: after %v: %+v", time.Since(start), resp)
		}

		p = b.send(fetchRequest(12, "t", id, 0, 4))
		synctest.Wait()
		p.kill()
		<-p.done
		if !p.reply.None {
			t.Errorf("after the connection died: %+v", p.reply)
		}
		time.Sleep(time.Second) // Its timer must not complete it again.

		p = b.send(fetchRequest(12, "t", id, 0, 4))
		synctest.Wait()
		b.apply(&metadata.RemoveTopicRecord{TopicID: id})
		if resp := p.response().(*kmsg.FetchResponse); resp.Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("topic deleted: %+v", resp)
		}
	})
}
