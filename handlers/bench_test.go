package handlers

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// Handlers on their own: requests are decoded, nothing is sent, and the log is in memory.

// benchSlot is a Slot that counts an answer's bytes, held ranges included, and lets the benchmark look at its body.
type benchSlot struct {
	nowhere
	bytes int
	body  func(kmsg.Response)
	buf   []byte
}

func (s *benchSlot) Complete(r wire.Reply) {
	s.bytes = 0
	if r.Body != nil {
		if s.body != nil {
			s.body(r.Body)
		}
		s.buf = r.Body.AppendTo(s.buf[:0])
		s.bytes = len(s.buf)
	}
	for _, c := range r.Chunks {
		s.bytes += len(c.Bytes)
		if c.File != nil {
			s.bytes += c.File.Len()
		}
	}
	s.nowhere.Complete(r)
}

// serveTo serves a decoded request whose answer goes to slot.
func (b *broker) serveTo(slot wire.Slot, req kmsg.Request) {
	b.h.ServeRequest(wire.NewRequest(wire.Header{Key: req.Key(), Version: req.GetVersion()}, req, b.session, slot, time.Time{}))
}

var benchPartitions = []int{1, 100, 1000}

// fetchAll is a full fetch of n partitions from offset on.
func fetchAll(id [16]byte, n int, offset int64) *kmsg.FetchRequest {
	r := fetchRequest(17, "", id, 0, offset)
	r.SessionEpoch, r.MaxBytes, r.MaxWaitMillis = fetchEpochFinal, 1<<30, 0
	for i := 1; i < n; i++ {
		p := r.Topics[0].Partitions[0]
		p.Partition = int32(i)
		r.Topics[0].Partitions = append(r.Topics[0].Partitions, p)
	}
	return r
}

// benchTopic is a broker with a topic of n partitions, each with a record.
func benchTopic(b *testing.B, n int) (*broker, [16]byte) {
	b.Helper()
	broker := newBroker(b, nil)
	id := broker.create("t", n)
	records := make([][]byte, n)
	for i := range records {
		records[i] = oneRecord("some value").bytes()
	}
	for _, p := range ask[*kmsg.ProduceResponse](broker, produceRequest(9, -1, "t", [16]byte{}, records...)).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			b.Fatalf("partition %d: error %d", p.Partition, p.ErrorCode)
		}
	}
	return broker, id
}

// withRecords counts the partitions of a Fetch answer that have records.
func withRecords(b *testing.B, r *kmsg.FetchResponse) (n int) {
	b.Helper()
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				b.Fatalf("partition %d: error %d", p.Partition, p.ErrorCode)
			}
			if len(p.RecordBatches) > 0 {
				n++
			}
		}
	}
	return n
}

// BenchmarkFetchFull plans, reads and encodes fetches without a session of partitions that all have a record.
func BenchmarkFetchFull(b *testing.B) {
	for _, n := range benchPartitions {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			broker, id := benchTopic(b, n)
			req := fetchAll(id, n, 0)
			if got := withRecords(b, ask[*kmsg.FetchResponse](broker, req)); got != n {
				b.Fatalf("%d partitions have records, want %d", got, n)
			}
			slot := new(benchSlot)
			broker.serveTo(slot, req)
			want := slot.bytes
			b.ReportAllocs()
			for b.Loop() {
				if broker.serveTo(slot, req); slot.bytes != want {
					b.Fatalf("an answer of %d bytes, want %d", slot.bytes, want)
				}
			}
		})
	}
}

// BenchmarkFetchSession serves a session's fetches that name no partition, where one of all has a record.
func BenchmarkFetchSession(b *testing.B) {
	for _, n := range benchPartitions {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			broker, id := benchTopic(b, n)
			full := fetchAll(id, n, 1)
			full.SessionEpoch = fetchEpochInitial
			full.Topics[0].Partitions[n-1].FetchOffset = 0
			first := ask[*kmsg.FetchResponse](broker, full)
			if got := withRecords(b, first); got != 1 || first.SessionID == 0 {
				b.Fatalf("%d partitions have records in session %d", got, first.SessionID)
			}
			req := kmsg.NewPtrFetchRequest()
			req.Version, req.MaxBytes, req.MinBytes, req.SessionID = 17, 1<<20, 1, first.SessionID
			req.SessionEpoch = 1
			if got := withRecords(b, ask[*kmsg.FetchResponse](broker, req)); got != 1 {
				b.Fatalf("%d partitions have records, want 1", got)
			}
			slot := new(benchSlot)
			req.SessionEpoch++
			broker.serveTo(slot, req)
			want := slot.bytes
			b.ReportAllocs()
			for b.Loop() {
				req.SessionEpoch = nextFetchEpoch(req.SessionEpoch)
				if broker.serveTo(slot, req); slot.bytes != want {
					b.Fatalf("an answer of %d bytes, want %d", slot.bytes, want)
				}
			}
		})
	}
}

// BenchmarkFetchEncode encodes answers with records in every partition.
func BenchmarkFetchEncode(b *testing.B) {
	for _, n := range benchPartitions {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			records := &memRange{b: make([]byte, 1000)}
			a := &fetchAnswer{version: 17}
			results := make([]replica.FetchPartition, n)
			for i := range n {
				results[i] = replica.FetchPartition{Partition: int32(i), HighWatermark: 1, LastStableOffset: 1, PreferredReadReplica: -1, Records: records}
				a.partitions = append(a.partitions, fetchAnswerPartition{topicID: [16]byte{1}, leader: noLeaderHint, result: &results[i]})
			}
			want := kmsgFetch(a)
			size := len(want.AppendTo(nil))
			b.ReportAllocs()
			for b.Loop() {
				for i := range results {
					results[i].Records = records // An encoder takes them.
				}
				got := 0
				for _, c := range a.encode() {
					got += len(c.Bytes)
					if c.File != nil {
						got += c.File.Len()
					}
				}
				if got != size {
					b.Fatalf("%d bytes, want %d", got, size)
				}
			}
		})
	}
}

// BenchmarkProduce serves requests with a batch of one small record for each partition.
func BenchmarkProduce(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			broker := newBroker(b, nil)
			id := broker.create("t", n)
			records := make([][]byte, n)
			for i := range records {
				records[i] = oneRecord("some value").bytes()
			}
			req := produceRequest(11, -1, "t", id, records...)
			next := int64(0)
			slot := &benchSlot{body: func(resp kmsg.Response) {
				partitions := resp.(*kmsg.ProduceResponse).Topics[0].Partitions
				if last := partitions[n-1]; len(partitions) != n || last.ErrorCode != 0 || last.BaseOffset != next {
					b.Fatalf("%d partitions, the last one %+v, want offset %d", len(partitions), last, next)
				}
				next++
			}}
			b.ReportAllocs()
			served := int64(0)
			for b.Loop() {
				for _, r := range records {
					clear(r[:8]) // The base offset, which the last append patched.
				}
				broker.serveTo(slot, req)
				served++
			}
			if next != served {
				b.Fatalf("%d answers to %d requests", next, served)
			}
		})
	}
}

// BenchmarkMetadata answers for all topics, encoding included.
func BenchmarkMetadata(b *testing.B) {
	for _, shape := range []struct{ topics, partitions int }{{1, 10}, {1, 1000}, {100, 10}} {
		b.Run(fmt.Sprintf("%dx%d", shape.topics, shape.partitions), func(b *testing.B) {
			broker := newBroker(b, nil)
			for i := range shape.topics {
				broker.create(fmt.Sprintf("topic-%03d", i), shape.partitions)
			}
			req := metadataRequest(12)
			req.Topics = nil
			slot := &benchSlot{body: func(resp kmsg.Response) {
				topics := resp.(*kmsg.MetadataResponse).Topics
				if len(topics) != shape.topics || len(topics[0].Partitions) != shape.partitions {
					b.Fatalf("%d topics", len(topics))
				}
			}}
			b.ReportAllocs()
			for b.Loop() {
				if broker.serveTo(slot, req); slot.bytes < shape.topics*shape.partitions*20 {
					b.Fatalf("%d bytes", slot.bytes)
				}
			}
		})
	}
}
