package handlers

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/ottla/ottla/replica"
)

// memRange is a FileRange over bytes that counts its releases.
type memRange struct {
	b        []byte
	released int
}

func (m *memRange) Fd() (uintptr, bool) { return 0, false }
func (m *memRange) ReadAt(p []byte, position int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(p, position)
}
func (m *memRange) Position() int64 { return 0 }
func (m *memRange) Len() int        { return len(m.b) }
func (m *memRange) Release()        { m.released++ }

// TestFetchEncodeEqualsKmsg encodes drawn answers by hand and by kmsg, in every version, and
// compares the bytes.
func TestFetchEncodeEqualsKmsg(t *testing.T) {
	for version := int16(4); version <= 18; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				answer := drawAnswer(t, version)
				want := kmsgFetch(answer).AppendTo(nil)
				var ranges []*memRange
				for _, p := range answer.partitions {
					if m, ok := p.result.Records.(*memRange); ok {
						ranges = append(ranges, m)
					}
				}
				if got := flatten(nil, answer.encode()); !bytes.Equal(got, want) {
					t.Fatalf("version %d of %+v\n got %x\nwant %x", version, answer, got, want)
				}
				for _, m := range ranges {
					if m.released != 1 {
						t.Fatalf("a range was released %d times", m.released)
					}
				}
			})
		})
	}
}

// drawAnswer draws an answer as the handler would make it: leader hints, endpoints and divergence
// only in versions that have them.
func drawAnswer(t *rapid.T, version int16) *fetchAnswer {
	a := &fetchAnswer{version: version}
	if version >= fetchSessionsFrom {
		a.errorCode, a.sessionID = rapid.Int16().Draw(t, "code"), rapid.Int32().Draw(t, "session")
	}
	for range rapid.IntRange(0, 6).Draw(t, "partitions") {
		fp := &replica.FetchPartition{
			Partition: rapid.Int32().Draw(t, "partition"), HighWatermark: rapid.Int64().Draw(t, "hw"),
			LastStableOffset: rapid.Int64().Draw(t, "lso"), LogStartOffset: rapid.Int64().Draw(t, "start"),
			PreferredReadReplica: rapid.Int32Range(-1, 3).Draw(t, "preferred"),
		}
		if n := rapid.SampledFrom([]int{0, 1, 130, 20000}).Draw(t, "records"); n > 0 {
			fp.Records = &memRange{b: bytes.Repeat([]byte{0xab}, n)}
		}
		if n := rapid.IntRange(-1, 2).Draw(t, "aborted"); n >= 0 {
			fp.Aborted = make([]replica.AbortedTransaction, n)
			for i := range fp.Aborted {
				fp.Aborted[i] = replica.AbortedTransaction{ProducerID: rapid.Int64().Draw(t, "producer"), FirstOffset: int64(i)}
			}
		}
		p := fetchAnswerPartition{code: rapid.Int16Range(-1, 100).Draw(t, "error"), emptyAborted: rapid.Bool().Draw(t, "empty"), leader: noLeaderHint, result: fp}
		if version >= fetchTopicIDs {
			p.topicID = [16]byte{rapid.ByteRange(1, 2).Draw(t, "id")}
		} else {
			p.topic = rapid.SampledFrom([]string{"", "a", "topic-b"}).Draw(t, "topic")
		}
		if version >= fetchFlexible && rapid.Bool().Draw(t, "diverging") {
			fp.HasDiverging, fp.Diverging = true, replica.EpochEnd{Epoch: rapid.Int32Range(0, 9).Draw(t, "epoch"), EndOffset: 5}
		}
		if version >= fetchFlexible && rapid.Bool().Draw(t, "hint") {
			p.leader = leaderHint{id: rapid.Int32Range(0, 9).Draw(t, "leader"), epoch: 4}
		}
		a.partitions = append(a.partitions, p)
	}
	if version >= fetchEndpoints {
		rack := "rack"
		for i := range rapid.IntRange(0, 2).Draw(t, "brokers") {
			e := endpoint{id: int32(i), host: "host", port: 9092}
			if i > 0 {
				e.rack = &rack
			}
			a.brokers = append(a.brokers, e)
		}
	}
	return a
}

// kmsgFetch is the answer as kmsg has it.
func kmsgFetch(a *fetchAnswer) *kmsg.FetchResponse {
	r := kmsg.NewPtrFetchResponse()
	r.Version, r.ErrorCode, r.SessionID = a.version, a.errorCode, a.sessionID
	for i := 0; i < len(a.partitions); {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = a.partitions[i].topic, a.partitions[i].topicID
		for ; i < len(a.partitions) && a.partitions[i].topic == t.Topic && a.partitions[i].topicID == t.TopicID; i++ {
			p, fp := &a.partitions[i], a.partitions[i].result
			k := kmsg.NewFetchResponseTopicPartition()
			k.Partition, k.ErrorCode, k.HighWatermark, k.LastStableOffset = fp.Partition, p.code, fp.HighWatermark, fp.LastStableOffset
			k.LogStartOffset, k.PreferredReadReplica = fp.LogStartOffset, fp.PreferredReadReplica
			k.RecordBatches = []byte{}
			if fp.Records != nil {
				k.RecordBatches = fp.Records.(*memRange).b
			}
			if fp.Aborted != nil || p.emptyAborted {
				k.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			}
			for _, x := range fp.Aborted {
				b := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
				b.ProducerID, b.FirstOffset = x.ProducerID, x.FirstOffset
				k.AbortedTransactions = append(k.AbortedTransactions, b)
			}
			if fp.HasDiverging {
				k.DivergingEpoch.Epoch, k.DivergingEpoch.EndOffset = fp.Diverging.Epoch, fp.Diverging.EndOffset
			}
			k.CurrentLeader.LeaderID, k.CurrentLeader.LeaderEpoch = p.leader.id, p.leader.epoch
			t.Partitions = append(t.Partitions, k)
		}
		r.Topics = append(r.Topics, t)
	}
	for _, e := range a.brokers {
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = e.id, e.host, e.port, e.rack
		r.Brokers = append(r.Brokers, b)
	}
	return r
}
