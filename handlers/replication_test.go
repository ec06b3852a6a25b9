package handlers

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/replica"
)

const (
	followerNode  = 2
	followerEpoch = 20
)

// handlerPeers sends a follower's requests to a broker's handlers.
type handlerPeers struct{ b *broker }

func (p handlerPeers) Fetch(ctx context.Context, _ int32, _ int, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	resp, err := p.send(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.FetchResponse), nil
}

func (p handlerPeers) ListOffsets(ctx context.Context, _ int32, _ int, req *kmsg.ListOffsetsRequest) (*kmsg.ListOffsetsResponse, error) {
	resp, err := p.send(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.ListOffsetsResponse), nil
}

// send answers as a connection does; a request that is given up ends its connection.
func (p handlerPeers) send(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	sent := p.b.send(req)
	select {
	case <-sent.done:
		return sent.response(), nil
	case <-ctx.Done():
		sent.kill()
		<-sent.done
		return nil, ctx.Err()
	}
}

// withFollower adds a broker that follows b, by b's own images, and returns it.
func withFollower(b *broker) (*replica.Manager, *commitlog.Manager) {
	b.t.Helper()
	logger := slog.New(slog.DiscardHandler)
	logs, err := commitlog.Open(context.Background(), vfs.NewMem(), clock.System{}, logger, commitlog.ManagerConfig{
		Dirs: []string{"/data"}, NodeID: followerNode, NewUUID: func() [16]byte { return [16]byte{2} },
	})
	if err != nil {
		b.t.Fatal(err)
	}
	m := replica.NewManager(replica.Config{NodeID: followerNode, Logs: logs, Clock: clock.System{}, Logger: logger, Settings: b.settings, Peers: handlerPeers{b}})
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: followerNode, BrokerEpoch: followerEpoch})
	m.SetBrokerEpoch(followerEpoch)
	return m, logs
}

// replicated makes a topic that the follower has too.
func replicated(b *broker, name string, partitions int) [16]byte {
	var id [16]byte
	copy(id[:], name)
	records := []metadata.Record{&metadata.TopicRecord{Name: name, TopicID: id}}
	for i := range partitions {
		records = append(records, &metadata.PartitionRecord{TopicID: id, PartitionID: int32(i), Replicas: []int32{testNode, followerNode},
			ISR: []int32{testNode, followerNode}, Leader: testNode, Directories: make([]image.ID, 2)})
	}
	b.apply(records...)
	return id
}

// TestReplicationThroughHandlers has a follower fetch from the handlers, with their fetch sessions: records
// arrive, acks=all is answered by the follower's next fetch, deletions wait for it, and a topic of which
// the leader hears later is followed soon after.
func TestReplicationThroughHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, nil)
		m, logs := withFollower(b)
		defer func() {
			m.Close()
			if err := logs.Close(); err != nil {
				t.Error(err)
			}
		}()
		replicated(b, "t", 50)
		m.ApplyImage(image.Empty(), b.img, image.Diff(image.Empty(), b.img))
		time.Sleep(time.Second)
		began := time.Now()
		for i := range 100 {
			b.mustProduce("t", i%50, "v")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		for i := range int32(50) {
			l, ok := logs.Get("t", i)
			if !ok || l.LogEndOffset() != 2 {
				t.Fatalf("partition %d after %v: %v", i, time.Since(began), l)
			}
		}
		time.Sleep(time.Second)
		for i := range int32(50) {
			if l, _ := logs.Get("t", i); l.HighWatermark() != 2 {
				t.Errorf("partition %d: high watermark %d", i, l.HighWatermark())
			}
		}

		began = time.Now()
		r := kmsg.NewPtrDeleteRecordsRequest()
		r.Version, r.TimeoutMillis = 2, 10_000
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = "t"
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = 7, 1
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		sent := b.send(r)
		if sent.isDone() {
			t.Error("the deletion didn't wait for the follower")
		}
		got := sent.response().(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
		if took := time.Since(began); got.ErrorCode != 0 || got.LowWatermark != 1 || took > time.Second {
			t.Errorf("deletion after %v: %+v", took, got)
		}
		if l, _ := logs.Get("t", 7); l.LogStartOffset() != 1 {
			t.Errorf("the follower's log starts at %d", l.LogStartOffset())
		}

		// The follower hears first.
		old := b.img
		var id [16]byte
		copy(id[:], "late")
		next, delta, err := old.Apply(1, []metadata.Record{&metadata.TopicRecord{Name: "late", TopicID: id}, &metadata.PartitionRecord{TopicID: id,
			Replicas: []int32{testNode, followerNode}, ISR: []int32{testNode, followerNode}, Leader: testNode, Directories: make([]image.ID, 2)}})
		if err != nil {
			t.Fatal(err)
		}
		m.ApplyImage(old, next, delta)
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		b.publish(next, delta)
		b.mustProduce("late", 0, "v")
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if l, ok := logs.Get("late", 0); !ok || l.LogEndOffset() != 1 {
			t.Errorf("the late topic's log: %v", l)
		}
	})
}

// TestDeleteRecordsWaits ends a deletion's wait with its connection, and by its timeout.
func TestDeleteRecordsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, nil)
		b.apply(&metadata.RegisterBrokerRecord{BrokerID: followerNode, BrokerEpoch: followerEpoch})
		replicated(b, "t", 1)
		r := kmsg.NewPtrDeleteRecordsRequest()
		r.Version, r.TimeoutMillis = 2, 1000
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = "t"
		topic.Partitions = append(topic.Partitions, kmsg.NewDeleteRecordsRequestTopicPartition())
		r.Topics = append(r.Topics, topic)
		dead := b.send(r)
		dead.kill()
		<-dead.done
		if !dead.reply.None {
			t.Errorf("reply to a dead connection: %+v", dead.reply)
		}
		began := time.Now()
		got := ask[*kmsg.DeleteRecordsResponse](b, r).Topics[0].Partitions[0]
		if took := time.Since(began); got.ErrorCode != 7 || took != time.Second {
			t.Errorf("after %v: %+v", took, got)
		}
	})
}

// TestLatestIsNotKnownYet asks a new leader, in the version before OFFSET_NOT_AVAILABLE and in that of it.
func TestLatestIsNotKnownYet(t *testing.T) {
	b := newBroker(t, nil)
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: followerNode, BrokerEpoch: followerEpoch})
	id := replicated(b, "t", 1)
	ask[*kmsg.ProduceResponse](b, produceRequest(9, 1, "t", [16]byte{}, oneRecord("a").bytes()))
	for _, leader := range []int32{followerNode, testNode} {
		c := &metadata.PartitionChangeRecord{}
		c.Reset()
		c.TopicID, c.PartitionID, c.Leader = id, 0, leader
		b.apply(c)
	}
	for version, want := range map[int16]int16{4: 5, 5: 78, 11: 78} {
		r := kmsg.NewPtrListOffsetsRequest()
		r.Version, r.ReplicaID = version, -1
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = "t"
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = -1, -1
		topic.Partitions = append(topic.Partitions, p)
		r.Topics = append(r.Topics, topic)
		if got := ask[*kmsg.ListOffsetsResponse](b, r).Topics[0].Partitions[0]; got.ErrorCode != want || got.Offset != -1 {
			t.Errorf("version %d: %+v, want error %d", version, got, want)
		}
	}
}
