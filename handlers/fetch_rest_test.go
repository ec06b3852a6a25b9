package handlers

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/replica"
)

// countedReplicas counts the partitions that plans have.
type countedReplicas struct {
	Replicas
	read, awaited atomic.Int64
}

func (c *countedReplicas) Fetch(plan *replica.FetchPlan) bool {
	c.read.Add(int64(len(plan.Partitions)))
	return c.Replicas.Fetch(plan)
}

func (c *countedReplicas) AwaitFetch(plan *replica.FetchPlan, timeout time.Duration, wake func(expired bool)) bool {
	c.awaited.Add(int64(len(plan.Partitions)))
	return c.Replicas.AwaitFetch(plan, timeout, wake)
}

// sessionClient is a client of one topic's session.
type sessionClient struct {
	b       *broker
	replica int32 // -1 for a consumer
	session int32
	epoch   int32
	wait    int32
}

// request is the session's next one, of partitions and their offsets.
func (c *sessionClient) request(topic string, id [16]byte, offsets map[int32]int64) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.MinBytes, r.MaxBytes, r.MaxWaitMillis = 17, 1, 1<<20, c.wait
	r.SessionID, r.SessionEpoch = c.session, c.epoch
	r.ReplicaState.ID = c.replica
	if c.replica >= 0 {
		r.ReplicaState.Epoch = restEpoch
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	for partition, offset := range offsets {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.LastFetchedEpoch = partition, offset, 1<<20, -1
		t.Partitions = append(t.Partitions, p)
	}
	if len(offsets) > 0 {
		r.Topics = append(r.Topics, t)
	}
	return r
}

// told is which partitions an answer tells of, with their error codes.
func (c *sessionClient) told(resp *kmsg.FetchResponse) map[int32]int16 {
	c.b.t.Helper()
	if resp.ErrorCode != 0 {
		c.b.t.Fatalf("error %d", resp.ErrorCode)
	}
	c.session = resp.SessionID
	c.epoch++
	told := map[int32]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			told[p.Partition] = p.ErrorCode
		}
	}
	return told
}

func (c *sessionClient) fetch(topic string, id [16]byte, offsets map[int32]int64) map[int32]int16 {
	c.b.t.Helper()
	return c.told(ask[*kmsg.FetchResponse](c.b, c.request(topic, id, offsets)))
}

const (
	restFollower = 2
	restEpoch    = 9
)

// createFollowed makes a topic that this broker leads and restFollower follows.
func (b *broker) createFollowed(name string, partitions int, isr ...int32) [16]byte {
	b.t.Helper()
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: restFollower, BrokerEpoch: restEpoch})
	id := [16]byte{7, 7}
	records := []metadata.Record{&metadata.TopicRecord{Name: name, TopicID: id}}
	for i := range partitions {
		records = append(records, &metadata.PartitionRecord{TopicID: id, PartitionID: int32(i), Replicas: []int32{testNode, restFollower},
			ISR: isr, Leader: testNode, Directories: make([]image.ID, 2)})
	}
	b.apply(records...)
	return id
}

func all(partitions int) map[int32]int64 {
	offsets := map[int32]int64{}
	for i := range partitions {
		offsets[int32(i)] = 0
	}
	return offsets
}

// TestFetchSessionRests: in a session of many partitions a request costs what has news, for consumers and for
// followers, and whether it waits or not.
func TestFetchSessionRests(t *testing.T) {
	const partitions = 500
	for _, follower := range []bool{false, true} {
		b := newBroker(t, nil)
		counted := &countedReplicas{Replicas: b.replicas}
		b.h.deps.Replicas = counted
		c := &sessionClient{b: b, replica: -1}
		var id [16]byte
		if follower {
			c.replica = restFollower
			id = b.createFollowed("t", partitions, testNode, restFollower)
		} else {
			id = b.create("t", partitions)
		}
		if told := c.fetch("t", id, all(partitions)); len(told) != partitions {
			t.Fatalf("the first answer tells of %d partitions", len(told))
		}
		c.fetch("t", id, nil) // Tells a follower's high watermarks.
		counted.read.Store(0)
		for range 10 {
			if told := c.fetch("t", id, nil); len(told) != 0 {
				t.Fatalf("follower %v: nothing is new, and %v was told", follower, told)
			}
		}
		if n := counted.read.Load(); n != 0 {
			t.Errorf("follower %v: %d reads where nothing is new", follower, n)
		}
		c.wait = 60_000
		p := b.send(c.request("t", id, nil))
		if p.isDone() {
			t.Fatalf("follower %v: a fetch without news didn't wait", follower)
		}
		plan := &replica.ProducePlan{Acks: 1, Partitions: []replica.ProducePartition{{Topic: "t", Partition: 77, Records: oneRecord("v").bytes()}}}
		b.replicas.Produce(plan)
		if told := c.told(p.response().(*kmsg.FetchResponse)); len(told) != 1 || told[77] != 0 {
			t.Errorf("follower %v: told %v, want partition 77", follower, told)
		}
		if n := counted.read.Load() + counted.awaited.Load(); n > 2 {
			t.Errorf("follower %v: %d partitions were looked at for one that has news", follower, n)
		}
	}
}

// TestFetchSessionWakes: whatever the next answer would tell of a resting partition, it tells.
func TestFetchSessionWakes(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(b *broker, id [16]byte)
		code   int16
		// parked says that a fetch that waits is answered.
		parked bool
	}{
		{"an append", func(b *broker, _ [16]byte) { b.mustProduce("t", 1, "v") }, 0, true},
		{"the log start", func(b *broker, _ [16]byte) {
			plan := &replica.DeletePlan{Partitions: []replica.DeletePartition{{Topic: "t", Partition: 1, Offset: 1}}}
			b.replicas.Delete(plan)
			if plan.Partitions[0].Err != nil {
				b.t.Fatal(plan.Partitions[0].Err)
			}
		}, 0, false},
		{"the topic's deletion", func(b *broker, id [16]byte) { b.apply(&metadata.RemoveTopicRecord{TopicID: id}) }, 3, true},
		{"another leader", func(b *broker, id [16]byte) {
			c := &metadata.PartitionChangeRecord{}
			c.Reset()
			c.TopicID, c.PartitionID, c.Leader, c.Replicas, c.ISR = id, 1, 5, []int32{5}, []int32{5}
			b.apply(c)
		}, 6, true},
	} {
		for _, parked := range []bool{false, true} {
			b := newBroker(t, nil)
			id := b.create("t", 3)
			b.mustProduce("t", 1, "first")
			c := &sessionClient{b: b, replica: -1}
			c.fetch("t", id, map[int32]int64{0: 0, 1: 1, 2: 0})
			if told := c.fetch("t", id, nil); len(told) != 0 {
				t.Fatalf("nothing is new, and %v was told", told)
			}
			var told map[int32]int16
			if parked && test.parked {
				c.wait = 60_000
				p := b.send(c.request("t", id, nil))
				test.change(b, id)
				told = c.told(p.response().(*kmsg.FetchResponse))
			} else {
				test.change(b, id)
				told = c.fetch("t", id, nil)
			}
			if code, ok := told[1]; !ok || code != test.code {
				t.Errorf("%s, parked %v: told %v, want partition 1 with error %d", test.name, parked, told, test.code)
			}
		}
	}
}

// TestFetchSessionKeepsOrder: partitions that wake stand where they stood, as if they hadn't rested.
func TestFetchSessionKeepsOrder(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 4)
	c := &sessionClient{b: b, replica: -1}
	for i := range int32(4) { // One by one: a request's partitions have no order here.
		c.fetch("t", id, map[int32]int64{i: 0})
	}
	b.mustProduce("t", 3, "v")
	b.mustProduce("t", 1, "v")
	resp := ask[*kmsg.FetchResponse](b, c.request("t", id, nil))
	var got []int32
	for _, p := range resp.Topics[0].Partitions {
		got = append(got, p.Partition)
	}
	if !slices.Equal(got, []int32{1, 3}) {
		t.Errorf("told of %v, want 1 and 3", got)
	}
}

// TestFetchSessionEndsRest: a session that goes leaves nothing in its partitions, and another version,
// isolation or life of a follower has everything looked at.
func TestFetchSessionEndsRest(t *testing.T) {
	b := newBroker(t, nil)
	counted := &countedReplicas{Replicas: b.replicas}
	b.h.deps.Replicas = counted
	id := b.createFollowed("t", 10, testNode, restFollower)
	c := &sessionClient{b: b, replica: restFollower}
	c.fetch("t", id, all(10))
	c.fetch("t", id, nil)
	counted.read.Store(0)
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: restFollower, BrokerEpoch: restEpoch + 1})
	told := c.fetch("t", id, nil)
	for i := range int32(10) {
		if told[i] != 6 {
			t.Fatalf("a fetch of a former life: told %v, want NOT_LEADER_OR_FOLLOWER of all", told)
		}
	}
	b.h.deps.fetchSessions.remove(c.session).end()
	for i := range int32(10) {
		if n := b.replicas.Resting("t", i); n != 0 {
			t.Errorf("partition %d: %d sessions rest in it", i, n)
		}
	}
}

// TestFollowerOutOfSyncDoesNotRest: a follower joins the ISR by a fetch, however little there is to fetch.
func TestFollowerOutOfSyncDoesNotRest(t *testing.T) {
	b := newBroker(t, nil)
	counted := &countedReplicas{Replicas: b.replicas}
	b.h.deps.Replicas = counted
	id := b.createFollowed("t", 4, testNode)
	c := &sessionClient{b: b, replica: restFollower}
	c.fetch("t", id, all(4))
	counted.read.Store(0)
	c.fetch("t", id, nil)
	if n := counted.read.Load(); n != 4 {
		t.Errorf("%d of 4 partitions were read", n)
	}
}
