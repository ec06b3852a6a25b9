package replica

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
)

// TestLateFetchIsDropped hands a follower what it fetched before its leader changed, or before something
// else came to the log's end.
func TestLateFetchIsDropped(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	p := c.nodes[2].partition()
	f, _, _ := p.role()
	a, ok := p.nextAsk(f)
	if !ok {
		t.Fatal("nothing to ask")
	}
	late := kmsg.NewFetchResponseTopicPartition()
	late.RecordBatches, late.HighWatermark, late.LogStartOffset = records(t, "late"), 1, 0
	moved := a
	moved.fetchOffset = 7
	if _, err := p.appendFetched(f, moved, &late); !errors.Is(err, errNotFollowing) {
		t.Errorf("at another offset: %v", err)
	}
	c.change(3, []int32{1, 2, 3})
	c.publishAll()
	if _, err := p.appendFetched(f, a, &late); !errors.Is(err, errNotFollowing) {
		t.Errorf("from a former leader: %v", err)
	}
	if err := p.truncateDiverged(f, EpochEnd{Epoch: 0, EndOffset: 0}); !errors.Is(err, errNotFollowing) {
		t.Errorf("truncation for a former leader: %v", err)
	}
	if err := p.truncateOutOfRange(f, 5, 6); !errors.Is(err, errNotFollowing) {
		t.Errorf("truncation into a former leader's range: %v", err)
	}
	if _, ok := p.nextAsk(f); ok {
		t.Error("a former leader would be asked")
	}
	c.wantPositions(2, 0, 0)
}

// TestFollowerHighWatermarkStays keeps a follower's high watermark where a new leader's is behind it.
func TestFollowerHighWatermarkStays(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.mustProduce(1, 1, "a", "b")
	c.settle()
	p := c.nodes[2].partition()
	f, _, _ := p.role()
	a, _ := p.nextAsk(f)
	for _, high := range []int64{1, -1, 9} {
		r := kmsg.NewFetchResponseTopicPartition()
		r.HighWatermark, r.LogStartOffset = high, 0
		if _, err := p.appendFetched(f, a, &r); err != nil {
			t.Fatal(err)
		}
		c.wantPositions(2, 2, 2)
	}
}

// TestCorruptFetch refuses bytes that changed on their way; the partition rests, and others go on.
func TestCorruptFetch(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.mustProduce(1, 1, "a")
	f := c.fetchersOf(2)[0]
	req, _ := f.next(func() {})
	resp, err := f.m.cfg.Peers.Fetch(t.Context(), 1, 0, req)
	if err != nil {
		t.Fatal(err)
	}
	b := resp.Topics[0].Partitions[0].RecordBatches
	b[len(b)-1] ^= 1
	f.handle(t.Context(), resp, nil)
	c.wantPositions(2, 0, 0)
	if c.fetch(f) {
		t.Error("the partition doesn't rest")
	}
	c.settle()
	c.wantPositions(2, 1, 1)
}

// TestOlderISRIsIgnored applies a partition's state again that is older than the one that is known.
func TestOlderISRIsIgnored(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	p := c.nodes[1].partition()
	older := *c.part()
	c.change(-2, []int32{1, 2})
	c.settle()
	c.change(-2, []int32{1, 2, 3})
	c.publishAll()
	older.ISR = []int32{1}
	if err := p.apply(&older); err != nil {
		t.Fatal(err)
	}
	if got := p.ISR(); len(got) != 3 {
		t.Errorf("ISR %v", got)
	}
}

// TestEligible is which brokers may join an ISR.
func TestEligible(t *testing.T) {
	c := newCluster(t, 3, 1, 1, 2, 3)
	c.settle()
	p, epoch := c.nodes[1].partition(), c.nodes[2].epoch
	for _, check := range []struct {
		broker int32
		epoch  int64
		want   bool
	}{{2, epoch, true}, {2, -1, true}, {2, epoch - 1, false}, {2, epoch + 1, false}, {9, -1, false}} {
		if p.eligible(check.broker, check.epoch) != check.want {
			t.Errorf("broker %d in epoch %d: %v", check.broker, check.epoch, !check.want)
		}
	}
	c.fence(2)
	c.publishAll()
	if p.eligible(2, epoch) || p.alive(2) {
		t.Error("a fenced broker is eligible")
	}
}

// TestNothingBeforeRegistration leads and follows nothing by images of a former life.
func TestNothingBeforeRegistration(t *testing.T) {
	c := newCluster(t, 2, 1, 1, 2)
	c.settle()
	c.mustProduce(1, 1, "a")
	c.kill(1, false, nil)
	c.start(1)
	n := c.nodes[1]
	for n.seen < len(c.images)-1 {
		c.publish(1)
		if _, _, err := n.m.Led(theTopic, 0); err == nil {
			t.Fatal("leads in a former life")
		}
		if n.m.Stats().Partitions != 0 {
			t.Fatal("holds partitions in a former life")
		}
	}
	c.settle()
	if c.part().Leader != 2 || n.partition() == nil {
		t.Errorf("leader %d, partition %v", c.part().Leader, n.partition())
	}
}

// TestThrottledFollower copies no faster than the throttle lets it, until it is in sync.
func TestThrottledFollower(t *testing.T) {
	for _, side := range []string{"leader", "follower"} {
		c := newCluster(t, 2, 1, 1, 2)
		c.settle()
		c.kill(2, false, nil)
		c.fence(2)
		c.publishAll()
		const size = 100_000
		for range 10 {
			c.mustProduce(1, 1, string(make([]byte, size/10)))
		}
		c.replication.FetchMaxBytes = size/10 + 1000
		c.start(2)
		c.unfence(2)
		c.publishAll()
		for _, n := range c.nodes {
			p := n.partition()
			if side == "leader" {
				p.leaderThrottled.Store(true)
				n.m.SetThrottles(20_000, 0)
			} else {
				p.followerThrottled.Store(true)
				n.m.SetThrottles(0, 20_000)
			}
		}
		var took time.Duration
		for ; took < time.Minute && c.nodes[2].partition().EndOffset() < 10; took += 100 * time.Millisecond {
			c.step()
			c.advance(100 * time.Millisecond)
		}
		// The bucket holds one second's worth at first.
		if want := time.Duration(size/20_000-1) * time.Second; took < want-time.Second || took > want+time.Second {
			t.Errorf("%s: took %v, want %v", side, took, want)
		}
		c.stopAll()
	}
}

// TestNames reads lists of throttled replicas.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		list []string
		want bool
	}{{nil, false}, {[]string{"*"}, true}, {[]string{"1:2", " 3:4"}, true}, {[]string{"4:3", "3:40"}, false}} {
		if names(c.list, 3, 4) != c.want {
			t.Errorf("%v: %v", c.list, !c.want)
		}
	}
}

// TestISRAnswers is what becomes of a change by each of the controller's answers.
func TestISRAnswers(t *testing.T) {
	for _, x := range []struct {
		code           *kerr.Error
		again, pending bool
	}{
		{kerr.IneligibleReplica, false, false}, {kerr.OperationNotAttempted, false, false}, {kerr.InvalidRequest, false, false},
		{kerr.InvalidUpdateVersion, false, true}, {kerr.FencedLeaderEpoch, false, true}, {kerr.UnknownTopicID, false, true},
		{kerr.UnknownServerError, true, true}, {kerr.NotController, true, true},
	} {
		c := newCluster(t, 2, 1, 1, 2)
		c.loseRequest = func() bool { return true }
		c.settle()
		c.fence(2)
		c.publishAll()
		c.unfence(2)
		c.publishAll()
		c.step()
		p := c.nodes[1].partition()
		s, _, ok := p.isrRequest(1)
		if !ok {
			t.Fatal("no change is pending")
		}
		answer := kmsg.NewAlterPartitionResponseTopicPartition()
		answer.ErrorCode = x.code.Code
		if again := c.nodes[1].m.isrAnswered(s, &answer); again != x.again {
			t.Errorf("%v: again %v", x.code, again)
		}
		if pending := p.view.Pending() != nil; pending != x.pending {
			t.Errorf("%v: pending %v", x.code, pending)
		}
		if len(p.ISR()) != 1 || p.state.leader == image.NoLeader {
			t.Errorf("%v: ISR %v", x.code, p.ISR())
		}
		c.stopAll()
	}
}
