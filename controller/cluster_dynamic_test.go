package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dynamic adds controllers 1 to n that know each other by controller.quorum.bootstrap.servers.
func dynamic(t *testing.T, n int32, keys map[string]string) *testCluster {
	tc := newTestCluster(t, keys)
	var servers []config.HostPort
	for id := int32(1); id <= n; id++ {
		servers = append(servers, config.HostPort{Host: fmt.Sprintf("c%d", id), Port: 9000 + id})
	}
	for id := int32(1); id <= n; id++ {
		tc.add(id, RoleController, func(cfg *Config) { cfg.Bootstrap = servers })
	}
	return tc
}

func (tc *testCluster) change(through *testNode, req kmsg.Request) int16 {
	tc.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	resp, err := through.c.Handle(ctx, req)
	if err != nil {
		tc.t.Fatal(err)
	}
	switch r := resp.(type) {
	case *kmsg.AddRaftVoterResponse:
		return r.ErrorCode
	case *kmsg.RemoveRaftVoterResponse:
		return r.ErrorCode
	}
	tc.t.Fatalf("answered by %T", resp)
	return -1
}

func addVoter(n *testNode) *kmsg.AddRaftVoterRequest {
	r := kmsg.NewPtrAddRaftVoterRequest()
	r.VoterID, r.VoterDirectoryID = n.id, n.cfg.DirectoryID
	r.Listeners = append(r.Listeners, kmsg.AddRaftVoterRequestListener{Name: "CONTROLLER", Host: n.cfg.Endpoint.Host, Port: n.cfg.Endpoint.Port})
	return r
}

func removeVoter(n *testNode) *kmsg.RemoveRaftVoterRequest {
	r := kmsg.NewPtrRemoveRaftVoterRequest()
	r.VoterID, r.VoterDirectoryID = n.id, n.cfg.DirectoryID
	return r
}

func (tc *testCluster) voters() string {
	return names(tc.quorum(tc.leader()).Topics[0].Partitions[0].CurrentVoters)
}

// TestGrowAndShrink grows a quorum of one to three and shrinks it again, with the leader among those that go. What
// was a voter goes on as an observer.
func TestGrowAndShrink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := newTestCluster(t, nil)
		for id := int32(1); id <= 3; id++ {
			tc.add(id, RoleController, func(cfg *Config) { cfg.Bootstrap = []config.HostPort{{Host: "c1", Port: 9001}} })
		}
		one, two, three := tc.nodes[1], tc.nodes[2], tc.nodes[3]
		tc.start(1)
		tc.start(2, 3)
		tc.registerBroker(one, 1)
		tc.mustCreate(three, "alone")
		tc.eventually("both observe", func() bool {
			q := tc.quorum(two).Topics[0].Partitions[0]
			return names(q.CurrentVoters) == "1.1" && names(q.Observers) == "2.1 3.1"
		})
		if code := tc.change(three, addVoter(two)); code != 0 || tc.voters() != "1.1 2.1" {
			t.Fatalf("adding 2: code %d, voters %s", code, tc.voters())
		}
		if code := tc.change(one, addVoter(two)); code != kerr.DuplicateVoter.Code {
			t.Errorf("adding 2 twice: code %d", code)
		}
		if code := tc.change(two, addVoter(three)); code != 0 || tc.voters() != "1.1 2.1 3.1" {
			t.Fatalf("adding 3: code %d, voters %s", code, tc.voters())
		}
		tc.mustCreate(two, "grown")
		if code := tc.change(two, removeVoter(one)); code != 0 {
			t.Errorf("removing the leader: code %d", code)
		}
		tc.leader(1)
		if code := tc.change(one, removeVoter(one)); code != kerr.VoterNotFound.Code {
			t.Errorf("removing 1 twice: code %d", code)
		}
		tc.mustCreate(one, "through-the-one-that-left")
		tc.eventually("1 observes", func() bool {
			q := tc.quorum(two).Topics[0].Partitions[0]
			return names(q.CurrentVoters) == "2.1 3.1" && names(q.Observers) == "1.1"
		})
		tc.same()
		// Who left doesn't count: with one of two voters gone nothing is committed.
		old := tc.leader()
		tc.stop(5 - old.id)
		if err := old.create("no-majority", 5*time.Second); err == nil {
			t.Error("a removed voter made a majority")
		}
		tc.start(5 - old.id)
		tc.mustCreate(one, "again")
		// All restart, on what they have.
		tc.stop(1, 2, 3)
		tc.start(1, 2, 3)
		tc.same()
		if m := one.c.Image(); m.Topic("alone") == nil || m.Topic("again") == nil {
			t.Error("topics are lost")
		}
	})
}

// TestAddVoterThatIsAway checks that a replica that can't be reached is not made a voter: it would count
// in every majority.
func TestAddVoterThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := newTestCluster(t, nil)
		for id := int32(1); id <= 2; id++ {
			tc.add(id, RoleController, func(cfg *Config) { cfg.Bootstrap = []config.HostPort{{Host: "c1", Port: 9001}} })
		}
		tc.start(1)
		if code := tc.change(tc.nodes[1], addVoter(tc.nodes[2])); code != kerr.RequestTimedOut.Code {
			t.Errorf("code %d", code)
		}
		tc.registerBroker(tc.nodes[1], 1)
		tc.mustCreate(tc.nodes[1], "t")
		for _, s := range tc.nodes[1].c.raft.Load().servers() {
			if s.ID != tc.nodes[1].c.self.serverID() {
				t.Errorf("left behind: %+v", s)
			}
		}
	})
}

// TestInterruptedAdd loses the leader while it waits for a replica: the next one drops what is left of the change, and the
// replica can be added then.
func TestInterruptedAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		four := tc.add(4, RoleController, func(cfg *Config) { cfg.Bootstrap = []config.HostPort{{Host: "c1", Port: 9001}} })
		tc.start(1, 2, 3)
		old := tc.leader()
		done := make(chan struct{})
		go func() {
			defer close(done)
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			_, _ = old.c.Handle(ctx, addVoter(four)) // It fails in one way or another.
		}()
		tc.eventually("the replica is a non-voter", func() bool { return len(old.c.raft.Load().servers()) == 4 })
		time.Sleep(time.Second)
		tc.net.isolate(old.id)
		now := tc.leader(old.id)
		tc.eventually("nothing is left", func() bool { return len(now.c.raft.Load().servers()) == 3 })
		tc.net.heal()
		<-done
		tc.start(4)
		// The leader may be busy still with dropping what was left.
		tc.eventually("the replica is added", func() bool { return tc.change(now, addVoter(four)) != kerr.RequestTimedOut.Code })
		if tc.voters() != "1.1 2.1 3.1 4.1" {
			t.Errorf("voters %s", tc.voters())
		}
		tc.same()
	})
}

// TestBootstrapServersFound founds a quorum of all that controller.quorum.bootstrap.servers names, and has a
// fourth controller join by itself; a replaced disk is let in the same way.
func TestBootstrapServersFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := dynamic(t, 3, map[string]string{"controller.quorum.auto.join.enable": "true"})
		tc.add(4, RoleController, func(cfg *Config) { cfg.Bootstrap = tc.nodes[1].cfg.Bootstrap })
		tc.start(1, 2, 3)
		if got := tc.voters(); got != "1.1 2.1 3.1" {
			t.Errorf("voters %s", got)
		}
		tc.start(4)
		tc.eventually("4 joins", func() bool { return tc.voters() == "1.1 2.1 3.1 4.1" })
		tc.stop(1)
		tc.wipe(1)
		tc.start(1)
		tc.eventually("1 joins again", func() bool { return tc.voters() == "1.2 2.1 3.1 4.1" })
		tc.same()
	})
}

// TestTwoNodesWithOneID starts a second controller with the id of one that is alive: it doesn't push it out.
func TestTwoNodesWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		leader := tc.leader()
		id := int32(2)
		if leader.id == 2 {
			id = 3
		}
		twin := tc.add(10, RoleController, func(cfg *Config) {
			*cfg = tc.nodes[id].cfg
			cfg.Stores, cfg.DirectoryID = MemoryStores(), image.ID{99}
			cfg.Network, cfg.Forwarder = netOf{tc.net, 10}, netOf{tc.net, 10}
		})
		tc.start(twin.id)
		time.Sleep(time.Minute)
		if got := tc.voters(); got != "1.1 2.1 3.1" {
			t.Errorf("voters %s", got)
		}
	})
}

// TestSnapshotInstall compacts the log while a voter is away: it gets a snapshot, as does an observer whose
// position is no longer kept, and both follow on.
func TestSnapshotInstall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		b := tc.broker(4, tc.nodes[1])
		tc.start(1, 2, 3, 4)
		tc.registerBroker(b, 4)
		tc.mustCreate(b, "first")
		away := tc.nodes[1]
		if tc.leader() == away {
			away = tc.nodes[2]
		}
		tc.stop(away.id)
		for i := range 20 {
			tc.mustCreate(b, fmt.Sprint("t", i))
		}
		for _, n := range tc.nodes {
			if n.c == nil || n.cfg.Role == RoleBroker {
				continue
			}
			node := n.c.raft.Load()
			rc := node.ReloadableConfig()
			rc.TrailingLogs = 1
			if err := node.ReloadConfig(rc); err != nil {
				t.Fatal(err)
			}
			if err := node.Snapshot().Error(); err != nil {
				t.Fatal(err)
			}
			if first, err := node.stores.Log.FirstIndex(); err != nil || first < 15 {
				t.Errorf("node %d: the log begins at %d, %v", n.id, first, err)
			}
		}
		tc.start(away.id)
		tc.same()
		synctest.Wait() // The image is there before raft notes where it came from.
		if n := away.c.raft.Load(); n.Stats()["last_snapshot_index"] == "0" {
			t.Error("the voter got no snapshot")
		}
		tc.mustCreate(away, "later")
		// A new leader knows nothing of before its snapshot, but a broker that starts gets all.
		tc.stop(4)
		tc.start(4)
		tc.same()
		// Snapshots are what a restart loads.
		tc.stop(1, 2, 3)
		tc.start(1, 2, 3)
		tc.mustCreate(b, "last")
		tc.same()
	})
}

// TestSlowObserver stops reading on an observer's side: the leader drops it, goes on, and keeps a bounded number of
// entries; afterwards the observer starts over with a snapshot.
func TestSlowObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 1)
		b := tc.broker(4, tc.nodes[1])
		stuck := make(chan struct{})
		b.onImage = func(next *image.Image) {
			if next.Topic("t0") != nil {
				<-stuck
			}
		}
		tc.start(1, 4)
		tc.registerBroker(tc.nodes[1], 1)
		for i := range publishQueue + 50 {
			tc.mustCreate(tc.nodes[1], fmt.Sprint("t", i))
		}
		tc.eventually("the observer is dropped", func() bool {
			return len(tc.quorum(tc.nodes[1]).Topics[0].Partitions[0].Observers) == 0
		})
		close(stuck)
		tc.same()
	})
}

// TestSuperseded commits an entry that was decided in another term, and one that was decided on another image: neither
// is applied, by anyone.
func TestSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		leader := tc.leader()
		node := leader.c.raft.Load()
		tc.registerBroker(leader, 1)
		before := leader.c.Image()
		for _, e := range [][]byte{
			appendEntry(nil, node.CurrentTerm()-1, before.Offset(), bootstrapRecords(leader.cfg, before.ClusterID())),
			appendEntry(nil, node.CurrentTerm(), before.Offset()-1, bootstrapRecords(leader.cfg, before.ClusterID())),
		} {
			f := node.Apply(e, 0)
			if err := f.Error(); err != nil {
				t.Fatal(err)
			}
			if f.Response() != errSuperseded {
				t.Errorf("answered %v", f.Response())
			}
		}
		if leader.c.Image() != before {
			t.Error("the image changed")
		}
		tc.mustCreate(leader, "t")
		tc.same()
	})
}

// TestWrongReplica dials a voter under identities that it does not have: raft never gets to talk to it.
func TestWrongReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		c := tc.nodes[1].c
		for _, to := range []raft.ServerID{"2", identity{node: 2, directory: image.ID{2, 7}}.serverID(), tc.nodes[3].c.self.serverID()} {
			if conn, err := c.layer.Dial(target(to, raft.ServerAddress(addressOf(2))), time.Second); err == nil {
				closeQuietly(conn)
				t.Errorf("node 2 answered as %s", to)
			}
		}
		conn, err := c.layer.Dial(target(tc.nodes[2].c.self.serverID(), raft.ServerAddress(addressOf(2))), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		closeQuietly(conn)
	})
}
