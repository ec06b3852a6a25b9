package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// client is one simulated consumer: it does what the responses tell it, as real ones do.
type client struct {
	instance   *string
	id         string
	generation int32
	leader     bool
	members    []string
	// phase is join, joining, sync, syncing, or stable.
	phase string
	owned string
}

// world runs clients against one machine and checks the promises of the protocol.
type world struct {
	t       *rapid.T
	b       *bench
	clients []*client
	waiting map[machine.Call]*client
	// highest is the highest generation that anybody was told.
	highest int32
}

func (w *world) call(c *client, req kmsg.Request) {
	// The reply may come while the call is made; its number is known beforehand.
	next := w.b.NextCall()
	w.waiting[next] = c
	w.b.Call(&group.Request{Client: classic.Client{ID: "c", Host: "/h"}, Body: req})
	if w.b.Failed[next] != nil {
		w.failed(next)
	}
}

func (w *world) failed(call machine.Call) {
	if c := w.waiting[call]; c != nil {
		delete(w.waiting, call)
		c.phase = "join"
	}
}

func (w *world) reply(call machine.Call, resp any) {
	c := w.waiting[call]
	delete(w.waiting, call)
	if c == nil {
		return
	}
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		switch r.ErrorCode {
		case 0:
			if r.Generation < w.highest {
				w.t.Fatalf("generation went back from %d to %d", w.highest, r.Generation)
			}
			w.highest = r.Generation
			c.id, c.generation, c.phase, c.leader, c.members = r.MemberID, r.Generation, "sync", r.LeaderID == r.MemberID && !r.SkipAssignment, nil
			for _, m := range r.Members {
				c.members = append(c.members, m.MemberID)
			}
		case kerr.MemberIDRequired.Code:
			c.id, c.phase = r.MemberID, "join"
		default:
			if r.ErrorCode != kerr.RebalanceInProgress.Code {
				c.id = ""
			}
			c.phase = "join"
		}
	case *kmsg.SyncGroupResponse:
		if r.ErrorCode != 0 {
			c.rejoin(r.ErrorCode)
			return
		}
		c.phase, c.owned = "stable", string(r.MemberAssignment)
	case *kmsg.HeartbeatResponse:
		if r.ErrorCode != 0 {
			c.rejoin(r.ErrorCode)
		}
	}
}

func (c *client) rejoin(code int16) {
	if code == kerr.UnknownMemberID.Code || code == kerr.FencedInstanceID.Code {
		c.id = ""
	}
	c.phase = "join"
}

// step lets a client do the next thing that it would do.
func (w *world) step(c *client) {
	switch c.phase {
	case "join":
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID = 9, "g", c.id, c.instance
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 10000, 20000, "consumer"
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}
		c.phase = "joining"
		w.call(c, req)
	case "sync":
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.InstanceID, req.Generation = 5, "g", c.id, c.instance, c.generation
		if c.leader {
			for i, m := range c.members {
				req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: m, MemberAssignment: fmt.Appendf(nil, "%d/%d", c.generation, i)})
			}
		}
		c.phase = "syncing"
		w.call(c, req)
	case "stable":
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.MemberID, req.InstanceID, req.Generation = "g", c.id, c.instance, c.generation
		w.call(c, req)
	}
}

// live is the group as DescribeGroups tells it, without what isn't in the log.
func (b *bench) live() string {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 6, []string{"g"}
	call := b.Call(&group.Request{Body: req})
	s := show(b.Replies[call])
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
	call = b.Call(&group.Request{Body: fetch})
	return s + "\n" + show(b.Replies[call])
}

// TestRandomMembers lets clients join, sync, heartbeat, die, come back and commit at random while
// appends fail now and then. It checks that generations never go back, that no two members of a
// stable group own the same, that a stable group equals the one rebuilt from its log, and that in
// the end, with everybody well behaved, all come to rest in one generation: nobody is stuck.
func TestRandomMembers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := config()
		cfg.Classic.MaxSize = 100
		w := &world{t: rt, b: newBench(t, cfg, time.UnixMilli(0), nil), waiting: map[machine.Call]*client{}}
		w.b.OnReply = w.reply
		static := "s"
		for i := range 5 {
			c := &client{phase: "join"}
			if i == 0 {
				c.instance = &static
			}
			w.clients = append(w.clients, c)
		}
		for range rapid.IntRange(10, 80).Draw(rt, "steps") {
			c := w.clients[rapid.IntRange(0, len(w.clients)-1).Draw(rt, "client")]
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				w.b.Advance(time.Duration(rapid.IntRange(1, 12).Draw(rt, "seconds")) * time.Second)
			case 1: // the process dies and comes back
				for call, waits := range w.waiting {
					if waits == c {
						w.waiting[call] = nil
					}
				}
				*c = client{phase: "join", instance: c.instance}
			case 2:
				w.b.FailAppends = nil
				if rapid.Bool().Draw(rt, "fail") {
					w.b.FailAppends = kerr.CoordinatorNotAvailable
				}
			case 3:
				if c.phase == "stable" {
					commit := kmsg.NewPtrOffsetCommitRequest()
					commit.Version, commit.Group, commit.MemberID, commit.InstanceID, commit.Generation = 9, "g", c.id, c.instance, c.generation
					commit.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 1, Offset: int64(w.b.NextCall()), LeaderEpoch: -1}}}}
					w.b.Call(&group.Request{Body: commit})
				}
			default:
				w.step(c)
			}
			w.sweep()
			w.check(t, cfg)
		}
		// All behave from now on: within a few rebalance timeouts the group is stable with all of them.
		w.b.FailAppends = nil
		for range 60 {
			for _, c := range w.clients {
				w.step(c)
			}
			w.sweep()
			w.b.Advance(2 * time.Second)
			w.sweep()
			w.check(t, cfg)
		}
		for i, c := range w.clients {
			if c.phase != "stable" || c.generation != w.highest {
				rt.Fatalf("client %d is stuck: %+v, highest generation %d\n%s", i, *c, w.highest, w.b.live())
			}
		}
	})
}

// sweep tells clients of calls that failed while others' were made.
func (w *world) sweep() {
	for call := range w.b.Failed {
		w.failed(call)
	}
	clear(w.b.Failed)
}

func (w *world) check(t *testing.T, cfg *group.Config) {
	live := w.b.live()
	if strings.Contains(live, "state=Stable") {
		owners := map[string]bool{}
		for _, c := range w.clients {
			if c.phase == "stable" && c.generation == w.highest && c.owned != "" {
				if owners[c.owned] {
					w.t.Fatalf("two members own %q", c.owned)
				}
				owners[c.owned] = true
			}
		}
	}
	// An empty group may be ahead of its log, where the append failed.
	if strings.Contains(live, "state=Stable") {
		rebuilt := newBench(t, cfg, w.b.Now, slices.Clone(w.b.Records))
		if got := rebuilt.live(); got != live {
			w.t.Fatalf("rebuilt from the log:\n%s\nlive:\n%s", got, live)
		}
	}
}
