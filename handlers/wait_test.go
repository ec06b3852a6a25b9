package handlers

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// createOn makes a topic with one partition on several brokers, led by the first.
func (b *broker) createOn(name string, replicas ...int32) (id [16]byte) {
	b.t.Helper()
	copy(id[:], name)
	b.apply(&metadata.TopicRecord{Name: name, TopicID: id}, &metadata.PartitionRecord{TopicID: id, Replicas: replicas, ISR: replicas,
		Leader: replicas[0], Directories: make([]image.ID, len(replicas))})
	return id
}

// shrink leaves one broker in the ISR of a topic.
func (b *broker) shrink(id [16]byte, isr int32) {
	b.t.Helper()
	c := &metadata.PartitionChangeRecord{}
	c.Reset()
	c.TopicID, c.PartitionID, c.ISR = id, 0, []int32{isr}
	b.apply(c)
}

// TestProduceWaits appends with acks=all while a replica's progress isn't known: the connection
// goes on meanwhile without the frame, and the answer comes with the commit, the timeout, or never
// if the connection dies.
func TestProduceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, nil)
		id := b.createOn("t", testNode, 2)
		send := func() *pending {
			p := b.send(produceRequest(9, -1, "t", id, oneRecord("v").bytes()))
			synctest.Wait()
			if p.isDone() || !p.proceeded || !p.released {
				t.Fatalf("done %t, proceeded %t, frame released %t", p.isDone(), p.proceeded, p.released)
			}
			return p
		}
		start := time.Now()
		p := send()
		if got := p.response().(*kmsg.ProduceResponse).Topics[0].Partitions[0]; got.ErrorCode != kerr.RequestTimedOut.Code || got.BaseOffset != -1 || time.Since(start) != time.Second {
			t.Errorf("after %v: %+v", time.Since(start), got)
		}
		p = send()
		p.kill()
		<-p.done
		if !p.reply.None {
			t.Errorf("dead connection: %+v", p.reply)
		}
		p = send()
		b.shrink(id, testNode)
		if got := p.response().(*kmsg.ProduceResponse).Topics[0].Partitions[0]; got.ErrorCode != 0 || got.BaseOffset != 2 {
			t.Errorf("committed: %+v", got)
		}
		time.Sleep(5 * time.Second) // No timer may complete anything again.
	})
}

// TestLeaderHints asks the wrong broker: newer versions name the right one (KIP-951).
func TestLeaderHints(t *testing.T) {
	b := newBroker(t, nil)
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: 2, BrokerEpoch: 9,
		EndPoints: []metadata.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "h2", Port: 9093}, {Name: "OTHER", Host: "no", Port: 1}}})
	id := b.createOn("t", 2)
	for version := int16(3); version <= 13; version++ {
		resp := ask[*kmsg.ProduceResponse](b, produceRequest(version, -1, "t", id, oneRecord("v").bytes()))
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != kerr.NotLeaderForPartition.Code {
			t.Fatalf("produce version %d: %+v", version, p)
		}
		if version < 10 {
			continue
		}
		if p.CurrentLeader.LeaderID != 2 || p.CurrentLeader.LeaderEpoch != 0 || len(resp.Brokers) != 1 || resp.Brokers[0].Host != "h2" || resp.Brokers[0].Port != 9093 || resp.Brokers[0].Rack != nil {
			t.Errorf("produce version %d: %+v, brokers %+v", version, p, resp.Brokers)
		}
	}
	for version := int16(4); version <= 18; version++ {
		resp := ask[*kmsg.FetchResponse](b, fetchRequest(version, "t", id, 0, 0))
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != kerr.NotLeaderForPartition.Code {
			t.Fatalf("fetch version %d: %+v", version, p)
		}
		if hint := p.CurrentLeader.LeaderID == 2 && len(resp.Brokers) == 1 && resp.Brokers[0].Host == "h2"; hint != (version >= 16) {
			t.Errorf("fetch version %d: %+v, brokers %+v", version, p, resp.Brokers)
		}
	}
}
