package service

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/shard"
	"github.com/ottla/ottla/coordinator/shard/shardtest"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestPartitionFor compares with Kafka's Utils.abs(group.hashCode()) % 50: lay-classic is where
// Kafka 4.4 keeps it, polygenelubricants has Java's smallest hash code, whose absolute value is 0, and
// characters beyond the basic plane count as two UTF-16 units.
func TestPartitionFor(t *testing.T) {
	for id, want := range map[string]int32{"": 0, "a": 97 % 50, "lay-classic": 1, "polygenelubricants": 0} {
		if got := partitionFor(id, 50); got != want {
			t.Errorf("partitionFor(%q) = %d, want %d", id, got, want)
		}
	}
	// U+1F600 is d83d de00 in UTF-16: 31*0xd83d + 0xde00.
	if got, want := partitionFor("😀", 50), int32((31*0xd83d+0xde00)%50); got != want {
		t.Errorf("partitionFor of a surrogate pair = %d, want %d", got, want)
	}
}

func newGroups(logs map[int32]*shardtest.Log) *Groups {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	return New(Config{
		NodeID: 1, Partitions: 2, Logger: logger, Image: image.Empty,
		Group: group.Config{
			Classic: classic.Config{MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: time.Minute, MaxSize: 10,
				NewMemberID: func(prefix string) string { return prefix + "-1" }},
			OffsetMetadataMaxBytes: 10, OffsetsRetention: time.Hour, OffsetsRetentionCheckInterval: time.Minute,
		},
		Shard: shard.Config{Topic: Topic, Clock: clock.System{}, Logger: logger, Codecs: batch.NewCodecs(), WriteTimeout: time.Second,
			MailboxSize: 100, MaxBatchBytes: 1 << 20, LoadBufferBytes: 1 << 20, MaxDecompressedBytes: 1 << 20, ConcurrentLoads: 2},
		OpenLog: func(p, _ int32) (shard.Log, error) { return logs[p], nil },
	})
}

// ask runs one request and returns its response, or nil if it is parked.
func ask(g *Groups, req kmsg.Request) kmsg.Response {
	var resp kmsg.Response
	g.Handle("c", "/127.0.0.1", req, func(r kmsg.Response) { resp = r })
	synctest.Wait()
	return resp
}

func commit(id string) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 9, id, -1
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 3, LeaderEpoch: -1}}}}
	return req
}

// TestManyGroups spreads groups over two partitions, one of which this broker doesn't lead at
// first, and asks for many at once: order is kept, and each group has its own error.
func TestManyGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(map[int32]*shardtest.Log{0: shardtest.NewLog(0), 1: shardtest.NewLog(0)})
		if err := g.BecomeLeader(1, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// "a" lives in partition 1, "b" in 0.
		if c := ask(g, commit("a")).(*kmsg.OffsetCommitResponse); c.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("commit: %+v", c)
		}
		if c := ask(g, commit("b")).(*kmsg.OffsetCommitResponse); c.Topics[0].Partitions[0].ErrorCode != kerr.NotCoordinator.Code {
			t.Fatalf("commit where this broker doesn't lead: %+v", c)
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "b"}, {Group: "a"}}
		f := ask(g, fetch).(*kmsg.OffsetFetchResponse)
		if f.Groups[0].Group != "b" || f.Groups[0].ErrorCode != kerr.NotCoordinator.Code || f.Groups[1].Topics[0].Partitions[0].Offset != 3 {
			t.Fatalf("fetch: %+v", f)
		}
		if err := g.BecomeLeader(0, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ask(g, commit("b"))
		list := ask(g, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse)
		var ids []string
		for _, row := range list.Groups {
			ids = append(ids, row.Group)
		}
		if strings.Join(ids, ",") != "a,b" {
			t.Fatalf("list: %v", ids)
		}
		del := kmsg.NewPtrDeleteGroupsRequest()
		del.Groups = []string{"b", "a", "b", "zz"}
		d := ask(g, del).(*kmsg.DeleteGroupsResponse)
		if len(d.Groups) != 3 || d.Groups[0].ErrorCode != 0 || d.Groups[2].ErrorCode != kerr.GroupIDNotFound.Code {
			t.Fatalf("delete: %+v", d)
		}
		g.Close()
	})
}

// TestChecksBeforeTheShard covers what is refused without asking a group.
func TestChecksBeforeTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroups(nil)
		join := kmsg.NewPtrJoinGroupRequest()
		if r := ask(g, join).(*kmsg.JoinGroupResponse); r.ErrorCode != kerr.InvalidGroupID.Code {
			t.Errorf("empty group: %d", r.ErrorCode)
		}
		join.Group, join.SessionTimeoutMillis = "g", 5999
		if r := ask(g, join).(*kmsg.JoinGroupResponse); r.ErrorCode != kerr.InvalidSessionTimeout.Code {
			t.Errorf("session too short: %d", r.ErrorCode)
		}
		join.SessionTimeoutMillis = 6000
		if r := ask(g, join).(*kmsg.JoinGroupResponse); r.ErrorCode != kerr.NotCoordinator.Code {
			t.Errorf("no shard: %d", r.ErrorCode)
		}
		if r := ask(g, kmsg.NewPtrListGroupsRequest()).(*kmsg.ListGroupsResponse); r.ErrorCode != 0 || len(r.Groups) != 0 {
			t.Errorf("list without shards: %+v", r)
		}
		g.Close()
	})
}
