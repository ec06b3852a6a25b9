package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/vfs"
)

// step makes one round of everybody's fetches.
func (c *cluster) step() {
	for _, id := range c.ids() {
		for _, f := range c.fetchersOf(id) {
			c.fetch(f)
		}
	}
}

// TestFollowersCatchUp follows a batch from the leader's append to the followers' high watermarks: the
// leader's moves with the fetch that asks for what comes next, and the followers' with its answer.
func TestFollowersCatchUp(t *testing.T) {
	c := newCluster(t, 3, 2, 1, 2, 3)
	c.publishAll()
	c.step()
	c.mustProduce(1, -1, "a", "b")
	c.wantPositions(1, 0, 2)
	c.step()
	c.wantPositions(1, 0, 2)
	c.wantPositions(2, 0, 2)
	c.fetch(c.fetchersOf(2)[0])
	c.wantPositions(1, 0, 2) // Broker 3 hasn't told yet that it has them.
	c.fetch(c.fetchersOf(3)[0])
	c.wantPositions(1, 2, 2)
	c.wantPositions(3, 2, 2)
	c.step()
	c.wantPositions(2, 2, 2)
	for id := int32(1); id <= 3; id++ {
		c.wantLog(id, "0@0=a", "1@0=b")
	}
}

// TestLaggingFollowerLeavesTheISR stops one follower: it counts for the high watermark until its removal
// is committed, and is taken back once it has caught up.
func TestLaggingFollowerLeavesTheISR(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	c.wantISR(1, 2, 3)
	c.mustProduce(1, -1, "a")
	lag := c.replication.LagTimeMax
	two := c.fetchersOf(2)[0]
	lost := true
	c.loseRequest = func() bool { return lost }
	for range 20 {
		c.fetch(two)
		c.advance(lag / 10)
	}
	c.wantISR(1, 2, 3)
	c.wantPositions(1, 0, 1) // The removal is asked for, and not committed.
	if s := c.nodes[1].m.Stats(); s.ISRShrinks != 0 {
		t.Error("counted before it is committed")
	}
	lost = false
	c.advance(time.Second)
	c.wantISR(1, 2)
	c.wantPositions(1, 1, 1)
	c.publishAll()
	if s := c.nodes[1].m.Stats(); s.ISRShrinks != 1 || s.UnderReplicated != 1 {
		t.Errorf("stats %+v", s)
	}
	c.settle()
	c.wantISR(1, 2, 3)
	c.wantLog(3, "0@0=a")
	if s := c.nodes[1].m.Stats(); s.ISRExpands != 1 || s.UnderReplicated != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestJoiningFollowerCounts has a follower whose addition to the ISR is in flight hold the high watermark
// back: the controller may have committed it already.
func TestJoiningFollowerCounts(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.fence(2)
	c.publishAll()
	c.unfence(2)
	c.publishAll()
	lost := true
	c.loseAnswer = func() bool { return lost }
	c.step()
	c.advance(5 * time.Millisecond)
	c.wantISR(1, 2) // Committed, but the leader doesn't know.
	c.mustProduce(1, -1, "a")
	c.wantPositions(1, 0, 1)
	lost = false
	c.advance(time.Second) // Sent again: refused, as decided on old news.
	c.wantPositions(1, 0, 1)
	c.publishAll()
	c.step()
	c.step()
	c.wantPositions(1, 1, 1)
}

// TestTooFewInSync refuses acks=all before the append, doesn't commit what acks=1 brings, and tells an
// append of before that it may not be safe.
func TestTooFewInSync(t *testing.T) {
	c := newCluster(t, 2, 2, 1, 2)
	c.settle()
	pp := c.mustProduce(1, -1, "a")
	c.fence(2)
	c.publishAll()
	if pp.target == nil {
		t.Fatal("the append doesn't wait")
	}
	c.mustProduce(1, 1, "b")
	c.wantPositions(1, 0, 2)
	if refused := c.produce(1, -1, "c"); !errors.Is(refused.Err, kerr.NotEnoughReplicas) {
		t.Errorf("acks=all: %v", refused.Err)
	}
	if err := pp.target.checkCommitted(); !errors.Is(err, kerr.NotEnoughReplicasAfterAppend) {
		t.Errorf("after the append: %v", err)
	}
	c.unfence(2)
	c.settle()
	c.wantPositions(1, 2, 2)
	c.wantLog(2, "0@0=a", "1@0=b")
}

// TestNewLeaderKeepsWhatOthersMayHave is KIP-101's first scenario: a follower restarts, and cuts nothing
// that the leader has, although its high watermark lags; then it leads, and has everything.
func TestNewLeaderKeepsWhatOthersMayHave(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.mustProduce(1, 1, "a", "b")
	c.step()
	c.wantPositions(2, 0, 2) // It has both, and knows of no commit.
	c.kill(2, false, nil)
	c.start(2)
	c.unfence(2)
	c.publishAll()
	c.wantPositions(2, 0, 2)
	c.settle()
	c.wantISR(1, 2)
	c.kill(1, false, nil)
	c.fence(1)
	c.publishAll()
	c.wantLog(2, "0@0=a", "1@0=b")
}

// TestDivergingLogs is KIP-101's second scenario: both replicas lose power with different tails, and the
// one that comes back first leads. The other one cuts by epochs.
func TestDivergingLogs(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.unclean = true
	c.settle()
	c.mustProduce(1, 1, "a")
	c.settle()
	c.mustProduce(1, 1, "lost", "lost too")
	c.kill(1, false, nil)
	c.fence(1)
	c.publishAll()
	c.mustProduce(2, 1, "b")
	c.start(1)
	c.unfence(1)
	c.settle()
	c.wantLog(1, "0@0=a", "1@1=b")
	c.wantLog(2, "0@0=a", "1@1=b")
	c.wantPositions(1, 2, 2)
	c.wantISR(1, 2)
	if n := c.nodes[1].m.Stats().TruncationsBelowHighWatermark; n != 0 {
		t.Errorf("%d alarms", n)
	}
}

// TestDivergenceOverSeveralEpochs is KIP-279's scenario: leaders of alternating epochs whose records never
// met. The follower steps back epoch by epoch until both logs agree.
func TestDivergenceOverSeveralEpochs(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.unclean = true
	c.settle()
	c.mustProduce(1, 1, "a")
	c.settle()
	alone := func(id, other int32, value string) {
		t.Helper()
		if c.alive(other) {
			c.fence(other)
		}
		c.unfence(id)
		if c.part().Leader != id {
			c.change(id, []int32{id})
		}
		for c.publish(id) {
		}
		c.mustProduce(id, 1, value, value)
	}
	alone(1, 2, "x")
	c.fence(1)
	alone(2, 1, "y")
	c.fence(2)
	alone(1, 2, "z")
	c.fence(1)
	alone(2, 1, "w")
	c.unfence(1)
	c.settle()
	if a, b := c.stored(1), c.stored(2); len(a) != len(b) || len(a) != 5 {
		t.Errorf("logs %v and %v", a, b)
	}
	for i, s := range c.stored(2) {
		if c.stored(1)[i] != s {
			t.Errorf("record %d: %v and %v", i, c.stored(1)[i], s)
		}
	}
	c.wantISR(1, 2)
}

// TestUncleanElectionIsAnAlarm cuts a follower below its own high watermark.
func TestUncleanElectionIsAnAlarm(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.unclean = true
	c.settle()
	c.fence(2)
	c.publishAll()
	c.mustProduce(1, -1, "a", "b")
	c.wantPositions(1, 2, 2)
	c.fence(1)
	c.unfence(2)
	c.publishAll()
	c.mustProduce(2, 1, "c")
	c.unfence(1)
	c.settle()
	for id := int32(1); id <= 2; id++ {
		c.wantPositions(id, 1, 1)
		if s := c.stored(id); len(s) != 1 || s[0].value != "c" {
			t.Errorf("broker %d: %v", id, s)
		}
	}
	if n := c.nodes[1].m.Stats().TruncationsBelowHighWatermark; n != 1 {
		t.Errorf("%d alarms, want 1", n)
	}
}

// TestFollowerStartsAnew has a follower come back after the leader deleted beyond the follower's end.
func TestFollowerStartsAnew(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.mustProduce(1, 1, "a")
	c.settle()
	c.kill(2, false, nil)
	c.fence(2)
	c.publishAll()
	c.mustProduce(1, 1, "b", "c")
	c.mustProduce(1, 1, "d")
	plan := &DeletePlan{Partitions: []DeletePartition{{Topic: theTopic, Offset: 3}}}
	if c.nodes[1].m.Delete(plan) || plan.Partitions[0].LowWatermark != 3 {
		t.Fatalf("a dead follower is waited for: %+v", plan.Partitions[0])
	}
	c.start(2)
	c.unfence(2)
	c.settle()
	c.wantLog(2, "3@0=d")
	c.wantPositions(2, 4, 4)
	c.wantISR(1, 2)
}

// TestDeleteRecordsWaitsForFollowers moves the log start: the followers learn it by their fetches, and the
// leader learns of theirs by the next ones.
func TestDeleteRecordsWaitsForFollowers(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	c.mustProduce(1, 1, "a")
	c.mustProduce(1, 1, "b")
	c.settle()
	m := c.nodes[1].m
	run := func() (*DeletePlan, chan struct{}) {
		plan, done := &DeletePlan{Partitions: []DeletePartition{{Topic: theTopic, Offset: 1}}}, make(chan struct{})
		if !m.Delete(plan) {
			t.Fatal("nobody is waited for")
		}
		if !m.AwaitDelete(plan, time.Minute, func() { close(done) }) {
			t.Fatal("cancelled")
		}
		return plan, done
	}
	plan, done := run()
	c.step()
	if p := c.nodes[2].partition(); p.StartOffset() != 1 {
		t.Errorf("follower's log starts at %d", p.StartOffset())
	}
	select {
	case <-done:
		t.Fatal("done before the followers told")
	default:
	}
	c.step()
	<-done
	if dp := plan.Partitions[0]; dp.Err != nil || dp.LowWatermark != 1 {
		t.Errorf("%+v", dp)
	}
	m.CancelDelete(plan)

	// Not in time, and not any more the leader.
	c.mustProduce(1, 1, "c")
	c.settle()
	plan = &DeletePlan{Partitions: []DeletePartition{{Topic: theTopic, Offset: 2}}}
	done = make(chan struct{})
	if !m.Delete(plan) || !m.AwaitDelete(plan, time.Second, func() { close(done) }) {
		t.Fatal("nobody is waited for")
	}
	c.advance(2 * time.Second)
	<-done
	if err := plan.Partitions[0].Err; !errors.Is(err, kerr.RequestTimedOut) {
		t.Errorf("after the timeout: %v", err)
	}
	m.CancelDelete(plan)
	plan = &DeletePlan{Partitions: []DeletePartition{{Topic: theTopic, Offset: 3}}}
	done = make(chan struct{})
	if !m.Delete(plan) || !m.AwaitDelete(plan, time.Second, func() { close(done) }) {
		t.Fatal("nobody is waited for")
	}
	c.change(2, []int32{1, 2, 3})
	c.publishAll()
	<-done
	if err := plan.Partitions[0].Err; !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("after the election: %v", err)
	}
	m.CancelDelete(plan)
}

// TestNewLeaderDoesNotKnowLatest asks a leader whose high watermark is below the start of its epoch for
// the latest offset (KIP-207).
func TestNewLeaderDoesNotKnowLatest(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	c.mustProduce(1, 1, "a")
	c.step()
	c.wantPositions(2, 0, 1)
	c.change(2, []int32{1, 2, 3})
	for c.publish(2) {
	}
	list := func(replica int32, timestamp int64) (OffsetAnswer, error) {
		return c.nodes[2].m.ListOffset(theTopic, 0, OffsetQuery{Timestamp: timestamp, ReplicaID: replica, CurrentLeaderEpoch: NoLeaderEpoch})
	}
	if _, err := list(ConsumerReplicaID, LatestTimestamp); !errors.Is(err, kerr.OffsetNotAvailable) {
		t.Errorf("latest: %v", err)
	}
	if _, err := list(ConsumerReplicaID, 1); !errors.Is(err, kerr.OffsetNotAvailable) {
		t.Errorf("by time: %v", err)
	}
	if got, err := list(3, LatestTimestamp); err != nil || got.Offset != 1 {
		t.Errorf("a follower: %v, %v", got, err)
	}
	if got, err := list(ConsumerReplicaID, EarliestTimestamp); err != nil || got.Offset != 0 {
		t.Errorf("earliest: %v, %v", got, err)
	}
	c.settle()
	if got, err := list(ConsumerReplicaID, LatestTimestamp); err != nil || got.Offset != 1 {
		t.Errorf("once it is committed: %v, %v", got, err)
	}
	// Any replica answers for debugging, up to its log end.
	if got, err := c.nodes[3].m.ListOffset(theTopic, 0, OffsetQuery{Timestamp: LatestTimestamp, ReplicaID: DebuggingReplicaID, CurrentLeaderEpoch: NoLeaderEpoch}); err != nil || got.Offset != 1 {
		t.Errorf("debugging: %v, %v", got, err)
	}
	if _, err := c.nodes[3].m.ListOffset(theTopic, 0, OffsetQuery{Timestamp: LatestTimestamp, ReplicaID: ConsumerReplicaID, CurrentLeaderEpoch: NoLeaderEpoch}); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("a consumer at a follower: %v", err)
	}
}

// TestFormerLifeIsRefused sends a leader the fetch of a broker's former life, after the new one's
// registration is known: it must not move the follower's progress (KIP-903).
func TestFormerLifeIsRefused(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.mustProduce(1, 1, "a")
	c.settle()
	former := c.nodes[2].epoch
	c.kill(2, true, nil)
	c.start(2)
	c.unfence(2)
	c.publishAll()
	c.mustProduce(1, 1, "b")
	late := &FetchPlan{ReplicaID: 2, ReplicaEpoch: former, MaxBytes: 1 << 20, Partitions: []FetchPartition{{Topic: theTopic,
		FetchOffset: 2, CurrentLeaderEpoch: 0, LastFetchedEpoch: 0, MaxBytes: 1 << 20}}}
	c.nodes[1].m.Fetch(late)
	if err := late.Partitions[0].Err; !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("fetch of a former life: %v", err)
	}
	c.advance(time.Second)
	c.wantISR(1)
	strange := &FetchPlan{ReplicaID: 9, ReplicaEpoch: 1, MaxBytes: 1 << 20, Partitions: []FetchPartition{
		{Topic: theTopic, CurrentLeaderEpoch: 0, LastFetchedEpoch: -1}, {Topic: theTopic, CurrentLeaderEpoch: NoLeaderEpoch, LastFetchedEpoch: -1}}}
	c.nodes[1].m.Fetch(strange)
	if a, b := strange.Partitions[0].Err, strange.Partitions[1].Err; !errors.Is(a, kerr.UnknownLeaderEpoch) || !errors.Is(b, kerr.NotLeaderForPartition) {
		t.Errorf("fetch of a broker without a replica: %v and %v", a, b)
	}
	c.settle()
	c.wantISR(1, 2)
}

// TestConsumersReadFromFollowers sends a consumer to the replica in its rack once that is in sync, which
// serves it up to its own high watermark (KIP-392).
func TestConsumersReadFromFollowers(t *testing.T) {
	c := newCluster(t, 1, 1, 1)
	c.racks = map[int32]string{2: "b", 3: "b", 4: "c"}
	c.replication.RackAware = true
	c.stop(1)
	for id := int32(1); id <= 4; id++ {
		if c.nodes[id] == nil {
			c.nodes[id] = &node{c: c, id: id, fs: vfs.NewMem()}
		}
		c.start(id)
		c.unfence(id)
	}
	r := &metadata.PartitionChangeRecord{}
	r.Reset()
	r.TopicID, r.PartitionID, r.Replicas, r.Directories = theTopicID, 0, []int32{1, 2, 3, 4}, make([]image.ID, 4)
	c.decide(r)
	c.publishAll()
	read := func(broker int32, rack string, from int64, followers bool) FetchPartition {
		plan := &FetchPlan{ReplicaID: ConsumerReplicaID, MaxBytes: 1 << 20, Rack: rack, FromFollowers: followers,
			Partitions: []FetchPartition{{Topic: theTopic, FetchOffset: from, CurrentLeaderEpoch: c.part().LeaderEpoch, LastFetchedEpoch: -1, MaxBytes: 1 << 20}}}
		c.nodes[broker].m.Fetch(plan)
		plan.Release()
		return plan.Partitions[0]
	}
	c.mustProduce(1, 1, "a")
	if fp := read(1, "b", 0, true); fp.PreferredReadReplica != -1 {
		t.Errorf("sent to %d, which isn't in sync", fp.PreferredReadReplica)
	}
	c.settle()
	c.wantISR(1, 2, 3, 4)
	for rack, want := range map[string]int32{"": -1, "a": -1, "b": 3, "c": 4} {
		if fp := read(1, rack, 0, true); fp.PreferredReadReplica != want {
			t.Errorf("rack %q: sent to %d, want %d", rack, fp.PreferredReadReplica, want)
		}
	}
	c.mustProduce(1, 1, "b")
	c.fetch(c.fetchersOf(2)[0])
	c.fetch(c.fetchersOf(2)[0])
	if fp := read(1, "b", 1, true); fp.PreferredReadReplica != 2 {
		t.Errorf("sent to %d, want 2, the longest", fp.PreferredReadReplica)
	}
	if fp := read(2, "b", 0, true); fp.Err != nil || fp.HighWatermark != 1 || fp.PreferredReadReplica != -1 {
		t.Errorf("at the follower: %+v", fp)
	}
	if fp := read(2, "b", 0, false); !errors.Is(fp.Err, kerr.NotLeaderForPartition) {
		t.Errorf("an old consumer at the follower: %v", fp.Err)
	}
	if fp := read(2, "b", 5, true); !errors.Is(fp.Err, kerr.OffsetOutOfRange) {
		t.Errorf("beyond the follower's end: %v", fp.Err)
	}
}

// TestReassignedAwayIsForgotten ends a follower that isn't assigned any more: its fetcher ends too.
func TestReassignedAwayIsForgotten(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	if s := c.nodes[3].m.Stats(); s.Fetchers != 1 || s.FollowedPartitions != 1 {
		t.Fatalf("stats %+v", s)
	}
	r := &metadata.PartitionChangeRecord{}
	r.Reset()
	r.TopicID, r.PartitionID, r.Replicas, r.ISR, r.Directories = theTopicID, 0, []int32{1, 2}, []int32{1, 2}, make([]image.ID, 2)
	c.decide(r)
	c.settle()
	if s := c.nodes[3].m.Stats(); s.Fetchers != 0 || s.FollowedPartitions != 0 || s.Partitions != 0 {
		t.Errorf("stats %+v", s)
	}
	c.mustProduce(1, -1, "a")
	c.settle()
	c.wantPositions(1, 1, 1)
}
