package group_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/coordinator/shard/shardtest"
)

// members is a group "g" of which all members are stable, in a machine whose log forgets.
type members struct {
	*shardtest.Bench
	b          *testing.B
	ids        []string // the leader first
	generation int32
}

// newMembers makes a group of n members.
func newMembers(b *testing.B, n int) *members {
	b.Helper()
	cfg := config()
	cfg.Classic.MaxSize, cfg.Classic.InitialRebalanceDelay = n, time.Millisecond
	inner, err := shardtest.NewBench(group.New(cfg), time.UnixMilli(1_000_000), nil)
	if err != nil {
		b.Fatal(err)
	}
	m := &members{Bench: inner, b: b, ids: make([]string, n)}
	for i := range m.ids {
		m.ids[i] = answer[*kmsg.JoinGroupResponse](m, m.send(joinRequest(""))).MemberID
	}
	m.rebalance()
	return m
}

func (m *members) send(req kmsg.Request) machine.Call {
	return m.Call(&group.Request{Client: classic.Client{ID: "c", Host: "/h"}, Body: req})
}

// forget drops what was answered and appended.
func (m *members) forget() {
	clear(m.Replies)
	m.Records, m.Notes = m.Records[:0], m.Notes[:0]
}

// answer is the answer to call, which must be there.
func answer[T kmsg.Response](m *members, call machine.Call) T {
	m.b.Helper()
	resp, ok := m.Replies[call].(T)
	if !ok {
		m.b.Fatalf("call %d has no answer", call)
	}
	return resp
}

func joinRequest(id string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID = 9, "g", id
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 10000, 20000, "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription("t")}}
	return req
}

// rebalance lets all members join, the leader first, and sync.
func (m *members) rebalance() {
	joins := make([]machine.Call, len(m.ids))
	for i, id := range m.ids {
		joins[i] = m.send(joinRequest(id))
	}
	if m.generation == 0 {
		m.Advance(10 * time.Millisecond) // The initial delay.
	}
	m.generation++
	syncs := make([]machine.Call, len(m.ids))
	for i, call := range joins {
		joined := answer[*kmsg.JoinGroupResponse](m, call)
		if joined.ErrorCode != 0 || joined.Generation != m.generation || joined.LeaderID != m.ids[0] {
			m.b.Fatalf("member %d joined generation %d with error %d, leader %s", i, joined.Generation, joined.ErrorCode, joined.LeaderID)
		}
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 5, "g", m.ids[i], m.generation
		for _, member := range joined.Members {
			req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: member.MemberID, MemberAssignment: []byte(member.MemberID)})
		}
		syncs[i] = m.send(req)
	}
	for i, call := range syncs {
		if synced := answer[*kmsg.SyncGroupResponse](m, call); synced.ErrorCode != 0 || string(synced.MemberAssignment) != m.ids[i] {
			m.b.Fatalf("member %d got %q with error %d", i, synced.MemberAssignment, synced.ErrorCode)
		}
	}
}

var benchMembers = []int{1, 10, 100}

// BenchmarkRebalance lets a group's members join and sync.
func BenchmarkRebalance(b *testing.B) {
	for _, n := range benchMembers {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newMembers(b, n)
			b.ReportAllocs()
			for b.Loop() {
				m.forget()
				m.rebalance()
			}
		})
	}
}

// BenchmarkHeartbeat has one member after the other send a heartbeat, to the machine alone: shardtest's list of timers would cost more.
func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range benchMembers {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newMembers(b, n)
			req := kmsg.NewPtrHeartbeatRequest()
			req.Version, req.Group, req.Generation = 4, "g", m.generation
			b.ReportAllocs()
			request := &group.Request{Client: classic.Client{ID: "c", Host: "/h"}, Body: req}
			for i := 0; b.Loop(); i++ {
				req.MemberID = m.ids[i%n]
				r := m.Machine.Handle(m.Now, 1, request)
				if len(r.Timers) != 1 || len(r.Replies) != 1 || r.Replies[0].Response.(*kmsg.HeartbeatResponse).ErrorCode != 0 {
					b.Fatalf("%+v", r)
				}
			}
		})
	}
}

// BenchmarkCommit commits the offsets of so many partitions at once.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := newMembers(b, 1)
			req := commitRequest(n)
			req.MemberID, req.Generation = m.ids[0], m.generation
			b.ReportAllocs()
			for b.Loop() {
				m.forget()
				resp := answer[*kmsg.OffsetCommitResponse](m, m.send(req))
				if len(m.Records) != n || len(resp.Topics[0].Partitions) != n || resp.Topics[0].Partitions[n-1].ErrorCode != 0 {
					b.Fatalf("%d records, %+v", len(m.Records), resp)
				}
			}
		})
	}
}

func commitRequest(n int) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 9, "g", -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "topic"
	for i := range n {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(i), 1000
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	return req
}

// BenchmarkReplay rebuilds a machine from the offsets of a hundred partitions.
func BenchmarkReplay(b *testing.B) {
	const n = 100
	writer, err := shardtest.NewBench(group.New(config()), time.UnixMilli(1_000_000), nil)
	if err != nil {
		b.Fatal(err)
	}
	writer.Call(&group.Request{Body: commitRequest(n)})
	if len(writer.Records) != n {
		b.Fatalf("%d records", len(writer.Records))
	}
	b.ReportAllocs()
	var m *group.Machine
	for b.Loop() {
		m = group.New(config())
		for _, r := range writer.Records {
			if err := m.Replay(r); err != nil {
				b.Fatal(err)
			}
		}
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
	reply := m.Handle(writer.Now, 1, &group.Request{Body: fetch}).Replies[0].Response.(*kmsg.OffsetFetchResponse)
	if got := len(reply.Groups[0].Topics[0].Partitions); got != n {
		b.Fatalf("%d offsets, want %d", got, n)
	}
}
