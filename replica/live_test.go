package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// live runs a test on a cluster whose fetchers run by themselves, in a bubble's time.
func live(t *testing.T, minISR int32, replicas []int32, run func(t *testing.T, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newLiveCluster(t, 3, minISR, replicas...)
		c.publishAll()
		synctest.Wait()
		run(t, c)
		c.stopAll()
	})
}

// fetched is how many fetches leaders were sent.
func (c *cluster) fetched() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fetches
}

// commit appends with acks=all and returns how long the answer took.
func (c *cluster) commit(id int32, topic string) (time.Duration, error) {
	c.t.Helper()
	plan := &ProducePlan{Acks: -1, Partitions: []ProducePartition{{Topic: topic, Records: records(c.t, "v")}}}
	began := time.Now()
	m := c.nodes[id].m
	if m.Produce(plan) {
		done := make(chan struct{})
		if !m.AwaitProduce(plan, time.Minute, func() { close(done) }) {
			c.t.Fatal("cancelled")
		}
		<-done
		m.CancelProduce(plan)
	}
	return time.Since(began), plan.Partitions[0].Err
}

// TestLiveAcksAll answers acks=all as soon as the followers have fetched: no timer is waited for.
func TestLiveAcksAll(t *testing.T) {
	live(t, 2, []int32{1, 2, 3}, func(t *testing.T, c *cluster) {
		if _, err := c.commit(1, theTopic); err != nil { // The followers' sessions begin.
			t.Fatal(err)
		}
		for range 5 {
			took, err := c.commit(1, theTopic)
			if err != nil || took > 0 {
				t.Fatalf("after %v: %v", took, err)
			}
		}
		time.Sleep(c.replication.FetchWaitMax)
		synctest.Wait()
		for id := int32(1); id <= 3; id++ {
			c.wantPositions(id, 6, 6)
		}
	})
}

// TestLiveIdle lets nothing happen: a follower sends a fetch each replica.fetch.wait.max.ms, and no more.
func TestLiveIdle(t *testing.T) {
	live(t, 1, []int32{1, 2, 3}, func(t *testing.T, c *cluster) {
		time.Sleep(time.Second)
		synctest.Wait()
		before := c.fetched()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := c.fetched() - before; n < 38 || n > 42 {
			t.Errorf("two idle followers made %d fetches in 10 s, want 40", n)
		}
	})
}

// TestLiveNewTopic has a topic created while the fetchers wait at the leader: it isn't held up by that.
func TestLiveNewTopic(t *testing.T) {
	live(t, 2, []int32{1, 2, 3}, func(t *testing.T, c *cluster) {
		time.Sleep(time.Second)
		synctest.Wait()
		id := idOf("new", 1)
		c.mu.Lock()
		c.decide(&metadata.TopicRecord{Name: "new", TopicID: id},
			&metadata.PartitionRecord{TopicID: id, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}, Leader: 1, Directories: make([]image.ID, 3)})
		c.mu.Unlock()
		// The followers hear of it first, and ask a leader that doesn't know yet.
		for _, id := range []int32{2, 3} {
			for c.publish(id) {
			}
		}
		time.Sleep(20 * time.Millisecond)
		c.publishAll()
		took, err := c.commit(1, "new")
		if err != nil || took > 100*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestLiveLeaderChange moves leadership to a follower and back while records are written; each answer
// comes soon.
func TestLiveLeaderChange(t *testing.T) {
	live(t, 2, []int32{1, 2, 3}, func(t *testing.T, c *cluster) {
		for round := range 6 {
			leader := int32(1 + round%3)
			if c.part().Leader != leader {
				c.mu.Lock()
				c.change(leader, c.part().ISR)
				c.mu.Unlock()
				c.publishAll()
			}
			took, err := c.commit(leader, theTopic)
			if err != nil || took > 100*time.Millisecond {
				t.Errorf("round %d: after %v: %v", round, took, err)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for id := int32(1); id <= 3; id++ {
			c.wantPositions(id, 6, 6)
		}
		c.wantISR(1, 2, 3)
	})
}

// TestLiveDeadFollower commits without a follower that died, once it left the ISR, and takes it back.
func TestLiveDeadFollower(t *testing.T) {
	live(t, 2, []int32{1, 2, 3}, func(t *testing.T, c *cluster) {
		if _, err := c.commit(1, theTopic); err != nil {
			t.Fatal(err)
		}
		c.kill(3, false, nil)
		took, err := c.commit(1, theTopic)
		if err != nil || took < c.replication.LagTimeMax/2 || took > 2*c.replication.LagTimeMax {
			t.Errorf("after %v: %v", took, err)
		}
		c.mu.Lock()
		c.start(3)
		c.mu.Unlock()
		c.publishAll()
		c.mu.Lock()
		c.unfence(3)
		c.mu.Unlock()
		c.publishAll()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		c.publishAll()
		c.wantISR(1, 2, 3)
		c.wantPositions(3, 2, 2)
	})
}

// TestLiveFetchers spreads partitions over several fetchers, and again when their number changes.
func TestLiveFetchers(t *testing.T) {
	live(t, 1, []int32{1, 2, 3}, func(t *testing.T, c *cluster) {
		id := idOf("wide", 1)
		recs := []metadata.Record{&metadata.TopicRecord{Name: "wide", TopicID: id}}
		for i := range int32(20) {
			recs = append(recs, &metadata.PartitionRecord{TopicID: id, PartitionID: i, Replicas: []int32{1, 2}, ISR: []int32{1, 2}, Leader: 1, Directories: make([]image.ID, 2)})
		}
		c.decide(recs...)
		c.publishAll()
		m := c.nodes[2].m
		for _, n := range []int{1, 3, 2} {
			m.SetFetchers(n)
			time.Sleep(time.Second)
			synctest.Wait()
			if s := m.Stats(); s.Fetchers != n || s.FollowedPartitions != 21 {
				t.Errorf("with %d fetchers: %+v", n, s)
			}
			if took, err := c.commit(1, "wide"); err != nil || took > 100*time.Millisecond {
				t.Errorf("with %d fetchers: after %v: %v", n, took, err)
			}
		}
	})
}
