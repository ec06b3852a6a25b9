package group_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/coordinator/shard/shardtest"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/offsets"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func config() *group.Config {
	n := 0
	return &group.Config{
		Classic: classic.Config{
			MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, MaxSize: 3, InitialRebalanceDelay: 3 * time.Second,
			NewMemberID: func(prefix string) string { n++; return fmt.Sprintf("%s-%d", prefix, n) },
		},
		OffsetMetadataMaxBytes: 8, OffsetsRetention: time.Hour, OffsetsRetentionCheckInterval: 10 * time.Minute,
	}
}

// subscription is a ConsumerProtocolSubscription of version 0.
func subscription(topics string) []byte {
	list := strings.Split(topics, "+")
	b := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(len(list)))
	for _, t := range list {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(t))), t...)
	}
	return append(b, 0xff, 0xff, 0xff, 0xff)
}

// bench is one script's machine; replies are printed in the order in which they are made.
type bench struct {
	*shardtest.Bench
	cfg     *group.Config
	out     strings.Builder
	printed int // records
}

func newBench(t *testing.T, cfg *group.Config, now time.Time, records []machine.Record) *bench {
	t.Helper()
	b := &bench{cfg: cfg}
	inner, err := shardtest.NewBench(group.New(cfg), now, records)
	if err != nil {
		t.Fatal(err)
	}
	b.Bench, b.printed = inner, len(records)
	inner.OnReply = func(call machine.Call, resp any) { fmt.Fprintf(&b.out, "%d: %s\n", call, show(resp)) }
	return b
}

// flush returns what happened since the last call: replies, failed calls and records.
func (b *bench) flush() string {
	for _, call := range slices.Sorted(keys(b.Failed)) {
		fmt.Fprintf(&b.out, "%d: failed %s\n", call, name(kerror.CodeOf(b.Failed[call])))
	}
	clear(b.Failed)
	for ; b.printed < len(b.Records); b.printed++ {
		fmt.Fprintf(&b.out, "record %s\n", showRecord(b.Records[b.printed]))
	}
	s := b.out.String()
	b.out.Reset()
	return s
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func name(code int16) string {
	if code == 0 {
		return "ok"
	}
	return kerr.ErrorForCode(code).(*kerr.Error).Message
}

func str(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func show(resp any) string {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		if r.ErrorCode != 0 {
			return fmt.Sprintf("join %s member=%q", name(r.ErrorCode), r.MemberID)
		}
		s := fmt.Sprintf("join ok generation=%d member=%s leader=%s protocol=%s/%s", r.Generation, r.MemberID, r.LeaderID, str(r.ProtocolType), str(r.Protocol))
		if r.SkipAssignment {
			s += " skip"
		}
		for _, m := range r.Members {
			s += " [" + m.MemberID + "]"
		}
		return s
	case *kmsg.SyncGroupResponse:
		if r.ErrorCode != 0 {
			return "sync " + name(r.ErrorCode)
		}
		return fmt.Sprintf("sync ok %s/%s %q", str(r.ProtocolType), str(r.Protocol), r.MemberAssignment)
	case *kmsg.HeartbeatResponse:
		return "heartbeat " + name(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		s := "leave " + name(r.ErrorCode)
		for _, m := range r.Members {
			s += fmt.Sprintf(" [%s %s %s]", m.MemberID, str(m.InstanceID), name(m.ErrorCode))
		}
		return s
	case *kmsg.DescribeGroupsResponse:
		var s []string
		for _, g := range r.Groups {
			line := fmt.Sprintf("group %s %s state=%s protocol=%s/%s", g.Group, name(g.ErrorCode), g.State, g.ProtocolType, g.Protocol)
			for _, m := range g.Members {
				line += fmt.Sprintf(" [%s %s %s %s metadata=%d assignment=%q]", m.MemberID, str(m.InstanceID), m.ClientID, m.ClientHost, len(m.ProtocolMetadata), m.MemberAssignment)
			}
			s = append(s, line)
		}
		return strings.Join(s, "; ")
	case *kmsg.ListGroupsResponse:
		s := "list"
		for _, g := range r.Groups {
			s += fmt.Sprintf(" [%s %s %s %s]", g.Group, g.ProtocolType, g.GroupState, g.GroupType)
		}
		return s
	case *kmsg.DeleteGroupsResponse:
		s := "delete"
		for _, g := range r.Groups {
			s += fmt.Sprintf(" [%s %s]", g.Group, name(g.ErrorCode))
		}
		return s
	case *kmsg.OffsetCommitResponse:
		s := "commit"
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s += fmt.Sprintf(" [%s-%d %s]", t.Topic, p.Partition, name(p.ErrorCode))
			}
		}
		return s
	case *kmsg.OffsetFetchResponse:
		s := "fetch"
		for _, g := range r.Groups {
			for _, t := range g.Topics {
				for _, p := range t.Partitions {
					s += fmt.Sprintf(" [%s-%d %d %d %q]", t.Topic, p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata)
				}
			}
		}
		return s
	case *kmsg.OffsetDeleteResponse:
		s := "offset-delete " + name(r.ErrorCode)
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s += fmt.Sprintf(" [%s-%d %s]", t.Topic, p.Partition, name(p.ErrorCode))
			}
		}
		return s
	}
	return fmt.Sprintf("%#v", resp)
}

func showRecord(r machine.Record) string {
	key, err := offsets.ReadKey(r.Key)
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("%+v", key)
	if r.Value == nil {
		return s + " tombstone"
	}
	value, version, err := offsets.ReadValue(key.RecordType(), r.Value)
	if err != nil {
		return err.Error()
	}
	switch v := value.(type) {
	case *offsets.GroupMetadataValue:
		s += fmt.Sprintf(" v%d type=%s generation=%d protocol=%s leader=%s since=%d", version, v.ProtocolType, v.Generation, str(v.Protocol), str(v.Leader), v.CurrentStateTimestamp)
		for _, m := range v.Members {
			s += fmt.Sprintf(" [%s %s %s %s %d %d subscription=%d assignment=%q]", m.MemberID, str(m.GroupInstanceID), m.ClientID, m.ClientHost, m.RebalanceTimeout, m.SessionTimeout, len(m.Subscription), m.Assignment)
		}
	case *offsets.OffsetCommitValue:
		s += fmt.Sprintf(" v%d offset=%d epoch=%d metadata=%q committed=%d expires=%d", version, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp)
	}
	return s
}

// TestScripts plays testdata/*: requests with their arguments, time, and what came of them. A line
// "n: …" is the reply to the n-th request of the script, "record …" what was appended.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		cfg := config()
		b := newBench(t, cfg, time.UnixMilli(0), nil)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if strings.HasPrefix(d.Cmd, "reload") { // a new leader takes over
				for _, arg := range d.CmdArgs { // with another group.max.size
					n, err := strconv.Atoi(arg.Vals[0])
					if err != nil {
						t.Fatal(err)
					}
					cfg.Classic.MaxSize = n
				}
				b = newBench(t, cfg, b.Now, b.Records)
				return b.flush()
			}
			if err := b.run(d); err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
			return b.flush()
		})
	})
}

type args map[string]string

func (a args) has(key string) bool { _, ok := a[key]; return ok }

func (a args) ptr(key string) *string {
	if v, ok := a[key]; ok {
		return &v
	}
	return nil
}

func (a args) int(key string, otherwise int) int {
	if v, ok := a[key]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			panic(err)
		}
		return n
	}
	return otherwise
}

func (b *bench) run(d *datadriven.TestData) error {
	a := args{"group": "g"}
	for _, arg := range d.CmdArgs {
		a[arg.Key] = strings.Join(arg.Vals, ",")
	}
	req, err := b.request(d.Cmd, a)
	if err != nil {
		return err
	}
	if req == nil {
		return nil
	}
	b.Call(&group.Request{Client: classic.Client{ID: "c", Host: "/1.2.3.4"}, Body: req})
	return nil
}

func (b *bench) request(cmd string, a args) (kmsg.Request, error) {
	switch cmd {
	case "advance":
		d, err := time.ParseDuration(a["by"])
		b.Advance(d)
		return nil, err
	case "fail-appends":
		b.FailAppends = kerr.CoordinatorNotAvailable
		return nil, nil
	case "appends-work":
		b.FailAppends = nil
		return nil, nil
	case "log": // what was logged since the last time
		for _, n := range b.Notes {
			line := n.Level.String() + " " + n.Message
			for i := 0; i < len(n.Args); i += 2 {
				line += fmt.Sprintf(" %v=%v", n.Args[i], n.Args[i+1])
			}
			fmt.Fprintln(&b.out, line)
		}
		b.Notes = nil
		return nil, nil
	case "topic-deleted":
		b.Post(&group.TopicsDeleted{Topics: []string{a["topic"]}})
		return nil, nil
	case "join":
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version = int16(a.int("version", 9))
		req.Group, req.MemberID, req.InstanceID = a["group"], a["member"], a.ptr("instance")
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(a.int("session", 10000)), int32(a.int("rebalance", 60000))
		req.ProtocolType = "consumer"
		if a.has("type") {
			req.ProtocolType = a["type"]
		}
		protocols := "range"
		if a.has("protocols") {
			protocols = a["protocols"]
		}
		topics := "t"
		if a.has("topics") {
			topics = a["topics"]
		}
		for _, p := range strings.FieldsFunc(protocols, func(r rune) bool { return r == '+' }) {
			req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: p, Metadata: subscription(topics)})
		}
		return req, nil
	case "sync":
		req := kmsg.NewPtrSyncGroupRequest()
		req.Version = 5
		req.Group, req.MemberID, req.InstanceID, req.Generation = a["group"], a["member"], a.ptr("instance"), int32(a.int("generation", 1))
		req.ProtocolType, req.Protocol = a.ptr("type"), a.ptr("protocol")
		for _, m := range strings.Fields(strings.ReplaceAll(a["assign"], "+", " ")) {
			req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: m, MemberAssignment: []byte("a:" + m)})
		}
		return req, nil
	case "heartbeat":
		req := kmsg.NewPtrHeartbeatRequest()
		req.Group, req.MemberID, req.InstanceID, req.Generation = a["group"], a["member"], a.ptr("instance"), int32(a.int("generation", 1))
		return req, nil
	case "leave":
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group = a["group"]
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: a["member"], InstanceID: a.ptr("instance"), Reason: a.ptr("reason")}}
		return req, nil
	case "describe":
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version = int16(a.int("version", 6))
		req.Groups = []string{a["group"]}
		return req, nil
	case "list":
		req := kmsg.NewPtrListGroupsRequest()
		if a.has("states") {
			req.StatesFilter = strings.Split(a["states"], "+")
		}
		if a.has("types") {
			req.TypesFilter = strings.Split(a["types"], "+")
		}
		return req, nil
	case "delete":
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = strings.Split(a["group"], "+")
		return req, nil
	case "commit":
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version = int16(a.int("version", 9))
		req.Group, req.MemberID, req.InstanceID, req.Generation = a["group"], a["member"], a.ptr("instance"), int32(a.int("generation", -1))
		req.RetentionTimeMillis = int64(a.int("retention", -1))
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic, topic.TopicID = a["topic"], [16]byte{1}
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = int32(a.int("partition", 0)), int64(a.int("offset", 0)), a.ptr("metadata")
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		return req, nil
	case "fetch":
		req := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = a["group"]
		if a.has("topic") {
			g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: a["topic"], Partitions: []int32{int32(a.int("partition", 0))}})
		}
		req.Groups = append(req.Groups, g)
		return req, nil
	case "offset-delete":
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = a["group"]
		req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: a["topic"], Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
		return req, nil
	}
	return nil, fmt.Errorf("unknown command %q", cmd)
}
