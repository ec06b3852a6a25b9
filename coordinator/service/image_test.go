package service

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/shard/shardtest"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster is metadata that a test changes, with Groups that follow it.
type cluster struct {
	t    *testing.T
	mu   sync.Mutex
	img  *image.Image
	logs map[int32]*shardtest.Log
	g    *Groups
	// creations counts the calls of CreateTopic, which fail with createErr or else make the topic.
	creations int
	createErr error
}

var (
	offsetsID = image.ID{1}
	topicID   = image.ID{2}
)

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, img: image.Empty(), logs: map[int32]*shardtest.Log{0: shardtest.NewLog(0), 1: shardtest.NewLog(0)}}
	c.g = newGroups(c.logs)
	c.g.cfg.Image = c.image
	c.g.cfg.CreateTopic = func(context.Context) error {
		c.creations++
		if c.createErr == nil {
			c.createOffsets(1, 2)
		}
		return c.createErr
	}
	return c
}

func (c *cluster) image() *image.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.img
}

func (c *cluster) apply(records ...metadata.Record) {
	c.t.Helper()
	old := c.image()
	next, delta, err := old.Apply(1, records)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.img = next
	c.mu.Unlock()
	c.g.ImageChanged(old, next, delta)
	synctest.Wait()
}

// createOffsets makes the internal topic with a partition led by each of leaders.
func (c *cluster) createOffsets(leaders ...int32) {
	records := []metadata.Record{&metadata.TopicRecord{Name: Topic, TopicID: offsetsID}}
	for i, leader := range leaders {
		records = append(records, &metadata.PartitionRecord{TopicID: offsetsID, PartitionID: int32(i), Replicas: []int32{1, 2}, ISR: []int32{1, 2},
			Leader: leader, Directories: make([]image.ID, 2)})
	}
	c.apply(records...)
}

// elect makes leader the leader of a partition, in the next leader epoch.
func (c *cluster) elect(partition, leader int32) {
	change := &metadata.PartitionChangeRecord{}
	change.Reset()
	change.TopicID, change.PartitionID, change.Leader = offsetsID, partition, leader
	if leader == 1 {
		c.logs[partition].Lead(c.image().Topic(Topic).Partition(partition).LeaderEpoch + 1)
	}
	c.apply(change)
}

func code(t *testing.T, resp kmsg.Response) int16 {
	t.Helper()
	c, ok := resp.(*kmsg.OffsetCommitResponse)
	if !ok {
		t.Fatalf("%T", resp)
	}
	return c.Topics[0].Partitions[0].ErrorCode
}

// TestFollowsLeaders moves the leadership of the internal topic's partitions between brokers: what
// this broker leads it coordinates at once, with the offsets that are there, and what it lost it
// refuses at once, while FindCoordinator says the same (case G08). "b" lives in partition 0, "a" in 1.
func TestFollowsLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		check := func(id string, node int32, err *kerr.Error) {
			t.Helper()
			got, gotErr := c.g.Coordinator(context.Background(), id)
			if got != node || err != nil && !errors.Is(gotErr, err) || err == nil && gotErr != nil {
				t.Errorf("coordinator of %s: %d, %v; want %d, %v", id, got, gotErr, node, err)
			}
			want := int16(0)
			if node != 1 {
				want = kerr.NotCoordinator.Code
			}
			if got := code(t, ask(c.g, commit(id))); got != want {
				t.Errorf("commit of %s: %d, want %d", id, got, want)
			}
		}
		c.createOffsets(1, 2)
		check("b", 1, nil)
		check("a", 2, nil)
		c.elect(0, 2)
		check("b", 2, nil)
		c.elect(1, 1)
		check("a", 1, nil)
		c.elect(0, 1)
		check("b", 1, nil)
		c.elect(0, image.NoLeader)
		check("b", -1, kerr.CoordinatorNotAvailable)
		c.elect(0, 1)
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "b"}}
		if got := ask(c.g, fetch).(*kmsg.OffsetFetchResponse).Groups[0]; len(got.Topics) != 1 || got.Topics[0].Partitions[0].Offset != 3 {
			t.Errorf("offsets after the moves: %+v", got)
		}
		// A new epoch of the same leader reads the log anew.
		c.elect(0, 1)
		check("b", 1, nil)

		// Offsets of a deleted topic go.
		c.apply(&metadata.TopicRecord{Name: "t", TopicID: topicID},
			&metadata.PartitionRecord{TopicID: topicID, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Directories: make([]image.ID, 1)})
		c.apply(&metadata.RemoveTopicRecord{TopicID: topicID})
		if got := ask(c.g, fetch).(*kmsg.OffsetFetchResponse).Groups[0]; len(got.Topics) != 0 {
			t.Errorf("offsets of a deleted topic: %+v", got)
		}
		// So does everything with the internal topic.
		c.apply(&metadata.RemoveTopicRecord{TopicID: offsetsID})
		if got := code(t, ask(c.g, commit("b"))); got != kerr.NotCoordinator.Code {
			t.Errorf("without the internal topic: %d", got)
		}
		c.g.Close()
		if err := c.g.BecomeLeader(0, 9); kerror.CodeOf(err) != kerr.NotCoordinator.Code {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestCreatesInternalTopic: the first group makes the internal topic, once; a failure is told as
// COORDINATOR_NOT_AVAILABLE, which clients retry.
func TestCreatesInternalTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.createErr = errors.New("no quorum")
		if node, err := c.g.Coordinator(context.Background(), "b"); node != -1 || !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("got %d, %v", node, err)
		}
		c.createErr = nil
		c.creations = 0
		for _, want := range []struct {
			id   string
			node int32
		}{{"b", 1}, {"a", 2}, {"b", 1}} {
			if node, err := c.g.Coordinator(context.Background(), want.id); node != want.node || err != nil {
				t.Errorf("%s: %d, %v", want.id, node, err)
			}
		}
		if c.creations != 1 {
			t.Errorf("the topic was created %d times", c.creations)
		}
		// A topic that is created, and can't be seen, is no coordinator either.
		c.apply(&metadata.RemoveTopicRecord{TopicID: offsetsID})
		c.g.cfg.CreateTopic = func(context.Context) error { return nil }
		if node, err := c.g.Coordinator(context.Background(), "b"); node != -1 || !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("got %d, %v", node, err)
		}
		c.g.Close()
	})
}

// TestLogFails: a partition whose log can't be opened is not coordinated, and the others are.
func TestLogFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.logs[0].FailReads(kerr.KafkaStorageError)
		c.createOffsets(1, 1)
		for id, want := range map[string]int16{"a": 0, "b": 0} { // an empty log is not read
			if got := code(t, ask(c.g, commit(id))); got != want {
				t.Errorf("%s: %d, want %d", id, got, want)
			}
		}
		c.elect(0, 1)
		for id, want := range map[string]int16{"a": 0, "b": kerr.NotCoordinator.Code} {
			if got := code(t, ask(c.g, commit(id))); got != want {
				t.Errorf("%s with a log that can't be read: %d, want %d", id, got, want)
			}
		}
		// Groups that can't be read are missing from the list; the broker that takes over will tell of them.
		list := ask(c.g, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse)
		if len(list.Groups) != 1 || list.Groups[0].Group != "a" {
			t.Errorf("list: %+v", list)
		}
		c.g.Close()
	})
}
