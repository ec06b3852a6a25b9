package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestThreeVoters starts three voters and a broker and checks that the first leader is there in time, that
// every node sees what was created through any, and that nothing is lost when all restart.
func TestThreeVoters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		b := tc.broker(4, tc.nodes[1])
		began := time.Now()
		tc.start(1, 2, 3)
		if took := time.Since(began); took > time.Second {
			t.Errorf("the first start took %v", took)
		}
		tc.start(4)
		tc.registerBroker(b, 4)
		for i, id := range []int32{1, 2, 3, 4} {
			tc.mustCreate(tc.nodes[id], fmt.Sprint("t", i))
		}
		tc.same()
		id := tc.nodes[1].c.Image().ClusterID()

		tc.stop(1, 2, 3)
		began = time.Now()
		tc.start(1, 2, 3)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the restart took %v", took)
		}
		for i := range 4 {
			if tc.nodes[2].c.Image().Topic(fmt.Sprint("t", i)) == nil {
				t.Errorf("topic t%d is lost", i)
			}
		}
		tc.mustCreate(b, "after")
		tc.same()
		if got := b.c.Image().ClusterID(); got != id || id == "" {
			t.Errorf("cluster id %q became %q", id, got)
		}
	})
}

// TestFailover takes the leader away again and again, in order and by a crash: another one takes over within a
// second, after a crash within three: two for the election, and one more where the two that are left split their votes. It has
// everything that was acknowledged.
func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		b := tc.broker(4, tc.nodes[1])
		tc.start(1, 2, 3, 4)
		tc.registerBroker(b, 4)
		epoch := int32(0)
		for round := range 5 {
			old := tc.leader()
			crash, within := round%2 == 0, time.Second
			if crash {
				tc.net.isolate(old.id)
				within = 3 * time.Second
			}
			began := time.Now()
			if !crash {
				tc.stop(old.id)
			}
			tc.mustCreate(b, fmt.Sprint("round", round))
			if took := time.Since(began); took > within {
				t.Errorf("failover took %v, crash is %v", took, crash)
			}
			if crash {
				tc.stop(old.id)
				tc.net.heal()
			}
			if e := b.c.Image().Epoch(); e <= epoch {
				t.Errorf("controller epoch %d after %d", e, epoch)
			} else {
				epoch = e
			}
			tc.start(old.id)
			tc.same()
		}
		for round := range 5 {
			if b.c.Image().Topic(fmt.Sprint("round", round)) == nil {
				t.Errorf("round %d is lost", round)
			}
		}
	})
}

// TestIsolatedLeader cuts the leader off: it can't commit, the others elect a leader who can, and when it
// is back what it wanted to do has not happened.
func TestIsolatedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		b := tc.broker(4, tc.nodes[1])
		tc.start(1, 2, 3, 4)
		tc.registerBroker(b, 4)
		for round := range 3 {
			old := tc.leader()
			tc.net.isolate(old.id)
			lost := fmt.Sprint("lost", round)
			if err := old.create(lost, 3*time.Second); err == nil {
				t.Errorf("the isolated leader created a topic")
			}
			now := tc.leader(old.id)
			tc.mustCreate(now, fmt.Sprint("kept", round))
			if list := tc.active(); len(list) != 1 {
				t.Errorf("%d active controllers after the lease", len(list))
			}
			tc.net.heal()
			tc.same()
			if m := old.c.Image(); m.Topic(lost) != nil || m.Topic(fmt.Sprint("kept", round)) == nil {
				t.Errorf("round %d: lost is %v, kept is %v", round, m.Topic(lost), m.Topic(fmt.Sprint("kept", round)))
			}
		}
	})
}

// TestNoMajority checks that a minority commits nothing and says so.
func TestNoMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		tc.registerBroker(tc.nodes[1], 1)
		tc.stop(2, 3)
		if err := tc.nodes[1].create("t", 5*time.Second); !errors.Is(err, kerr.RequestTimedOut) && !errors.Is(err, kerr.NotController) {
			t.Errorf("creation without a majority: %v", err)
		}
		tc.start(2)
		tc.mustCreate(tc.nodes[2], "u")
	})
}

// TestWipedVoter replaces the disk of each voter in turn. It doesn't vote with its new disk until the others
// have made it a voter again, and then everything is there.
func TestWipedVoter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		tc.registerBroker(tc.nodes[1], 1)
		for _, id := range []int32{1, 2, 3} { // 1 founded the quorum
			tc.mustCreate(tc.leader(), fmt.Sprint("before", id))
			tc.stop(id)
			tc.wipe(id)
			tc.start(id)
			tc.eventually("the voter is back", func() bool {
				q := tc.quorum(tc.leader())
				return names(q.Topics[0].Partitions[0].CurrentVoters) == map[int32]string{1: "1.2 2.1 3.1", 2: "1.2 2.2 3.1", 3: "1.2 2.2 3.2"}[id]
			})
			tc.same()
			if tc.nodes[id].c.Image().Topic(fmt.Sprint("before", id)) == nil {
				t.Errorf("node %d came back without what was there", id)
			}
		}
		// The new disks vote: any one may fail.
		tc.stop(tc.leader().id)
		tc.mustCreate(tc.leader(), "last")
	})
}

// TestWipedVoterDoesNotVote leaves a wiped voter alone with one that missed what the two others had
// committed: the two must not form a majority, which would forget it.
func TestWipedVoterDoesNotVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wiped := range []int32{1, 2} {
			tc := static(t, 3)
			tc.start(1, 2, 3)
			tc.registerBroker(tc.nodes[1], 1)
			tc.mustCreate(tc.nodes[1], "old")
			tc.stop(3)
			tc.mustCreate(tc.leader(), "both")
			tc.stop(1, 2)
			tc.wipe(wiped)
			errs := tc.launch(wiped, 3)
			time.Sleep(30 * time.Second)
			if list := tc.active(); len(list) > 0 {
				t.Errorf("node %d leads with a majority of which one was wiped", list[0].id)
			}
			other := 3 - wiped
			tc.start(other)
			for range 2 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			tc.same()
			if tc.nodes[3].c.Image().Topic("both") == nil {
				t.Error("a committed topic is lost")
			}
			tc.stopAll()
		}
	})
}

// TestForeignCluster starts nodes whose log directories belong to another cluster than the controllers they
// are configured with: they refuse in one clear line, and the cluster goes on.
func TestForeignCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		tc.registerBroker(tc.nodes[1], 1)
		foreign := func(n *testNode) {
			n.cfg.ClusterID, n.cfg.OnFatal = "AAAAAAAAAAAAAAAAAAAAAA", nil
			var wrong *ClusterError
			if err := <-tc.launch(n.id); !errors.As(err, &wrong) || wrong.Ours != n.cfg.ClusterID || wrong.Theirs != tc.nodes[1].c.Image().ClusterID() {
				t.Errorf("node %d: %v", n.id, err)
			}
			tc.net.mu.Lock()
			n.c = nil
			tc.net.mu.Unlock()
		}
		foreign(tc.broker(4, tc.nodes[1]))
		tc.stop(3)
		foreign(tc.nodes[3])
		tc.mustCreate(tc.nodes[2], "t")
	})
}

// failingOnce fails the first request that it forwards as a broken connection does, and hands on the others.
type failingOnce struct {
	Forwarder
	failed bool
}

func (f *failingOnce) Forward(ctx context.Context, address string, client *Client, req kmsg.Request) (Forwarded, error) {
	if !f.failed {
		f.failed = true
		return Forwarded{}, errCut
	}
	return f.Forwarder.Forward(ctx, address, client, req)
}

// TestRequestFails: a broker that is brought the image by the active controller knows where that is, also after a
// request to it failed.
func TestRequestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		b := tc.broker(4, tc.nodes[1])
		forwarder := &failingOnce{Forwarder: b.cfg.Forwarder}
		b.cfg.Forwarder = forwarder
		tc.start(1, 2, 3, 4)
		tc.registerBroker(b, 4)
		if !forwarder.failed {
			t.Error("no request failed")
		}
		tc.mustCreate(b, "t")
	})
}

// TestStopWithWork stops the active controller while requests are on their way through it, again and again: the stop
// ends, and everybody is answered.
func TestStopWithWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		for round := range 40 {
			leader := tc.leader()
			c := leader.c
			var asked sync.WaitGroup
			for i := range 20 {
				asked.Go(func() { _ = createAt(c, fmt.Sprintf("t%d-%d", round, i), 5*time.Second) }) // Answered, whatever it is.
			}
			time.Sleep(time.Duration(round%8) * 100 * time.Microsecond)
			tc.stop(leader.id)
			asked.Wait()
			tc.start(leader.id)
		}
		tc.same()
	})
}
