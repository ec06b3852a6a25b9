package handlers

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/wire"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupAPIs are the APIs that go to the group coordinator, with the versions served.
var groupAPIs = []struct {
	key      kmsg.Key
	min, max int16
}{
	{kmsg.OffsetCommit, 2, 10}, {kmsg.OffsetFetch, 1, 10}, {kmsg.JoinGroup, 0, 9}, {kmsg.Heartbeat, 0, 4}, {kmsg.LeaveGroup, 0, 5}, {kmsg.SyncGroup, 0, 5},
	{kmsg.DescribeGroups, 0, 6}, {kmsg.ListGroups, 0, 5}, {kmsg.DeleteGroups, 0, 3}, {kmsg.OffsetDelete, 0, 0},
}

// groupRequest is a request about group "g" and partition 0 of topic "t".
func groupRequest(key kmsg.Key, version int16, topicID [16]byte) kmsg.Request {
	req := key.Request()
	req.SetVersion(version)
	switch r := req.(type) {
	case *kmsg.OffsetCommitRequest:
		r.Group, r.Generation = "g", -1
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = "t", topicID
		t.Partitions = append(t.Partitions, kmsg.NewOffsetCommitRequestTopicPartition())
		r.Topics = append(r.Topics, t)
	case *kmsg.OffsetFetchRequest:
		if version >= 8 {
			g := kmsg.NewOffsetFetchRequestGroup()
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.TopicID, t.Partitions = "t", topicID, []int32{0}
			g.Group, g.Topics = "g", append(g.Topics, t)
			r.Groups = append(r.Groups, g)
			break
		}
		t := kmsg.NewOffsetFetchRequestTopic()
		t.Topic, t.Partitions = "t", []int32{0}
		r.Group, r.Topics = "g", append(r.Topics, t)
	case *kmsg.JoinGroupRequest:
		r.Group, r.SessionTimeoutMillis, r.ProtocolType = "g", 10000, "consumer"
		r.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("metadata")}}
	case *kmsg.SyncGroupRequest:
		r.Group = "g"
		r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		r.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "m", MemberAssignment: []byte("assignment")}}
	case *kmsg.HeartbeatRequest:
		r.Group = "g"
	case *kmsg.LeaveGroupRequest:
		r.Group = "g"
		r.Members = append(r.Members, kmsg.NewLeaveGroupRequestMember())
	case *kmsg.DescribeGroupsRequest:
		r.Groups = []string{"g"}
	case *kmsg.DeleteGroupsRequest:
		r.Groups = []string{"g"}
	case *kmsg.OffsetDeleteRequest:
		r.Group = "g"
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = "t"
		t.Partitions = append(t.Partitions, kmsg.NewOffsetDeleteRequestTopicPartition())
		r.Topics = append(r.Topics, t)
	}
	return req
}

// groupError is the error that a response tells, wherever its API and version have a field for it.
func groupError(t *testing.T, resp kmsg.Response) int16 {
	t.Helper()
	switch r := resp.(type) {
	case *kmsg.OffsetCommitResponse:
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.OffsetFetchResponse:
		switch {
		case r.Version >= 8:
			return r.Groups[0].ErrorCode
		case r.Version >= 2:
			return r.ErrorCode
		}
		return r.Topics[0].Partitions[0].ErrorCode
	case *kmsg.JoinGroupResponse:
		return r.ErrorCode
	case *kmsg.SyncGroupResponse:
		return r.ErrorCode
	case *kmsg.HeartbeatResponse:
		return r.ErrorCode
	case *kmsg.LeaveGroupResponse:
		return r.ErrorCode
	case *kmsg.DescribeGroupsResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.ListGroupsResponse:
		return r.ErrorCode
	case *kmsg.DeleteGroupsResponse:
		return r.Groups[0].ErrorCode
	case *kmsg.OffsetDeleteResponse:
		return r.ErrorCode
	}
	t.Fatalf("%T", resp)
	return 0
}

// TestGroupErrors asks, in every version, a broker that doesn't coordinate the group, and one that
// still loads it: clients look elsewhere after the first and come back after the second (cases G08,
// G09). A list of groups is that of the groups here, so it is no error to have none.
func TestGroupErrors(t *testing.T) {
	b := newGroupsBroker(t, groupsOptions{notLed: true})
	id := b.create("t", 1)
	check := func(want *kerr.Error) {
		t.Helper()
		for _, api := range groupAPIs {
			for version := api.min; version <= api.max; version++ {
				resp := b.send(onWire(t, groupRequest(api.key, version, id))).response()
				code := want.Code
				if api.key == kmsg.ListGroups && want == kerr.NotCoordinator {
					code = 0
				}
				if got := groupError(t, resp); got != code {
					t.Errorf("%s v%d: error %d, want %d", kmsg.NameForKey(api.key.Int16()), version, got, code)
				}
			}
		}
	}
	check(kerr.NotCoordinator)
	lead := func(epoch int32) {
		t.Helper()
		b.offsetsLog.Lead(epoch)
		if err := b.groups.BecomeLeader(0, epoch); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() {
		t.Helper()
		b.waitLoaded()
		if code := groupError(t, b.send(groupRequest(kmsg.OffsetCommit, 9, id)).response()); code != 0 {
			t.Errorf("commit: error %d", code)
		}
	}
	lead(1)
	commit()
	b.groups.Resign(0, 1)
	check(kerr.NotCoordinator)
	release := b.offsetsLog.HoldReads()
	lead(2)
	check(kerr.CoordinatorLoadInProgress)
	release()
	commit()
}

// fakeGroups takes requests and leaves them unanswered until the test says so.
type fakeGroups struct {
	mu          sync.Mutex
	clientID    string
	clientHost  string
	req         kmsg.Request
	done        func(kmsg.Response)
	coordinator func(ctx context.Context, group string) (int32, error)
}

func (f *fakeGroups) Handle(clientID, clientHost string, req kmsg.Request, done func(kmsg.Response)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clientID, f.clientHost, f.req, f.done = clientID, clientHost, req, done
}

func (f *fakeGroups) Coordinator(ctx context.Context, group string) (int32, error) {
	return f.coordinator(ctx, group)
}

// TestParkedGroupRequests: what may wait long gives its frame back and keeps nothing of it; a
// connection that dies meanwhile leaves the group alone, and the late answer does no harm.
func TestParkedGroupRequests(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	groups := &fakeGroups{}
	b.h.deps.Groups = groups
	for _, api := range groupAPIs {
		req := groupRequest(api.key, api.max, id)
		p := b.send(req)
		long := api.key == kmsg.JoinGroup || api.key == kmsg.SyncGroup
		if p.isDone() || p.released != long || groups.clientID != "test" || groups.clientHost != "/127.0.0.1" {
			t.Errorf("%T: done %t, frame released %t, client %q on %q", req, p.isDone(), p.released, groups.clientID, groups.clientHost)
		}
		switch r := req.(type) { // the frame is used for the next request
		case *kmsg.JoinGroupRequest:
			copy(r.Protocols[0].Metadata, "XXXXXXXX")
			if got := string(groups.req.(*kmsg.JoinGroupRequest).Protocols[0].Metadata); got != "metadata" {
				t.Errorf("the parked request has %q", got)
			}
		case *kmsg.SyncGroupRequest:
			copy(r.GroupAssignment[0].MemberAssignment, "XXXXXXXXXX")
			if got := string(groups.req.(*kmsg.SyncGroupRequest).GroupAssignment[0].MemberAssignment); got != "assignment" {
				t.Errorf("the parked request has %q", got)
			}
		}
		p.kill()
		if p.isDone() {
			t.Errorf("%T: completed by the end of its connection", req)
		}
		answer := req.ResponseKind()
		if fetch, ok := answer.(*kmsg.OffsetFetchResponse); ok {
			fetch.Groups = append(fetch.Groups, kmsg.NewOffsetFetchResponseGroup())
		}
		groups.done(answer)
		if !p.isDone() {
			t.Errorf("%T: not completed", req)
		}
	}
}

// TestSyncGroupNeedsProtocol: since version 5 a SyncGroup without protocol type or name is refused before
// the group is asked; version 4 has no such fields.
func TestSyncGroupNeedsProtocol(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.h.deps.Groups = &fakeGroups{}
	for _, strip := range []func(*kmsg.SyncGroupRequest){
		func(r *kmsg.SyncGroupRequest) { r.Protocol = nil },
		func(r *kmsg.SyncGroupRequest) { r.ProtocolType = nil },
	} {
		req := groupRequest(kmsg.SyncGroup, 5, id).(*kmsg.SyncGroupRequest)
		strip(req)
		p := b.send(req)
		if !p.isDone() {
			t.Fatal("the group was asked")
		}
		resp := p.reply.Body.(*kmsg.SyncGroupResponse)
		if resp.ErrorCode != kerr.InconsistentGroupProtocol.Code || resp.ProtocolType != nil || resp.Protocol != nil {
			t.Errorf("answer is %+v", resp)
		}
	}
	if old := b.send(groupRequest(kmsg.SyncGroup, 4, id)); old.isDone() {
		t.Error("version 4 was refused")
	}
}

// TestMemberDiesWhileJoining: a client whose connection dies with its JoinGroup parked isn't
// waited for longer than the rebalance timeout of the others, and the group becomes empty when all
// are gone (case G01).
func TestMemberDiesWhileJoining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newGroupsBroker(t, groupsOptions{delay: time.Second})
		join := func(instance string) *pending {
			req := groupRequest(kmsg.JoinGroup, 5, [16]byte{}).(*kmsg.JoinGroupRequest)
			req.RebalanceTimeoutMillis, req.InstanceID = 20000, &instance
			p := b.send(req)
			synctest.Wait()
			return p
		}
		for _, p := range []*pending{join("a"), join("b"), join("c")} {
			if p.isDone() {
				t.Fatal("the initial delay was not waited out")
			}
			p.kill()
		}
		describe := func() string {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups = []string{"g"}
			return ask[*kmsg.DescribeGroupsResponse](b.broker, req).Groups[0].State
		}
		if s := describe(); s != "PreparingRebalance" {
			t.Errorf("with all parked: %s", s)
		}
		time.Sleep(4 * time.Second) // of the bubble: the initial delay, prolonged by the newcomers
		if s := describe(); s != "CompletingRebalance" {
			t.Errorf("after the delay: %s", s)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if s := describe(); s != "Empty" {
			t.Errorf("after session and rebalance timeout: %s", s)
		}
	})
}

// TestFindCoordinatorErrors covers the answers that depend on the cluster: no coordinator, one
// that isn't alive or known (case P33), one without the client's listener, and an end of the
// connection while the internal topic is created.
func TestFindCoordinatorErrors(t *testing.T) {
	b := newBroker(t, nil)
	groups := &fakeGroups{}
	b.h.deps.Groups = groups
	node, failure := int32(testNode), error(nil)
	groups.coordinator = func(context.Context, string) (int32, error) { return node, failure }
	check := func(what string, want *kerr.Error, message string) {
		t.Helper()
		for version := int16(0); version <= 6; version++ {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorKey, req.CoordinatorKeys = version, "g", []string{"g", "h"}
			resp := ask[*kmsg.FindCoordinatorResponse](b, req)
			code, id, host, port, told := resp.ErrorCode, resp.NodeID, resp.Host, resp.Port, str(resp.ErrorMessage)
			if version >= 4 {
				if len(resp.Coordinators) != 2 || resp.Coordinators[0].Key != "g" || resp.Coordinators[1].Key != "h" {
					t.Fatalf("%s, v%d: %+v", what, version, resp)
				}
				c := resp.Coordinators[1]
				code, id, host, port, told = c.ErrorCode, c.NodeID, c.Host, c.Port, str(c.ErrorMessage)
			}
			if want == nil {
				if code != 0 || id != testNode || host != "h1" || port != 9092 {
					t.Errorf("%s, v%d: %+v", what, version, resp)
				}
				continue
			}
			if code != want.Code || id != -1 || host != "" || port != -1 {
				t.Errorf("%s, v%d: %+v", what, version, resp)
			}
			if version >= 1 && message != "" && told != message {
				t.Errorf("%s, v%d: message %q", what, version, told)
			}
		}
	}
	check("all is well", nil, "")
	failure = kerror.Wrap(kerr.CoordinatorNotAvailable, errors.New("no leader"))
	check("no leader", kerr.CoordinatorNotAvailable, "")
	failure, node = nil, 7
	check("unknown broker", kerr.CoordinatorNotAvailable, "")
	b.session.Listener = "OTHER"
	node = testNode
	check("other listener", kerr.CoordinatorNotAvailable, "")
	b.session.Listener = "PLAINTEXT"
	fence := &metadata.BrokerRegistrationChangeRecord{}
	fence.Reset()
	fence.BrokerID, fence.BrokerEpoch, fence.Fenced = testNode, 7, 1
	b.apply(fence)
	check("fenced broker", kerr.CoordinatorNotAvailable, "")

	entered := make(chan struct{})
	groups.coordinator = func(ctx context.Context, _ string) (int32, error) {
		close(entered)
		<-ctx.Done()
		return -1, kerror.Wrap(kerr.CoordinatorNotAvailable, ctx.Err())
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorKeys = 6, []string{"g"}
	p := &pending{t: t, req: req, done: make(chan struct{})}
	go b.h.ServeRequest(wire.NewRequest(wire.Header{Key: req.Key(), Version: req.GetVersion()}, req, b.session, p, time.Now()))
	<-entered
	p.kill()
	<-p.done
}

// TestJavaAddress compares with Java's InetAddress.toString.
func TestJavaAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1": "/127.0.0.1", "::ffff:10.0.0.1": "/10.0.0.1", "::1": "/0:0:0:0:0:0:0:1", "fe80::1:2%eth0": "/fe80:0:0:0:0:0:1:2%eth0",
	} {
		if got := javaAddress(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// TestOffsetFetchDeletedTopic: offsets of a topic that is no more have no id to be told under.
func TestOffsetFetchDeletedTopic(t *testing.T) {
	b := newGroupsBroker(t, groupsOptions{})
	id := b.create("t", 1)
	if code := groupError(t, b.send(groupRequest(kmsg.OffsetCommit, 10, id)).response()); code != 0 {
		t.Fatalf("commit: %d", code)
	}
	all := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	all.Version, all.Groups = 10, append(all.Groups, g)
	if got := ask[*kmsg.OffsetFetchResponse](b.broker, all).Groups[0]; len(got.Topics) != 1 || got.Topics[0].TopicID != id {
		t.Errorf("all offsets: %+v", got)
	}
	b.apply(&metadata.RemoveTopicRecord{TopicID: id})
	if got := ask[*kmsg.OffsetFetchResponse](b.broker, all).Groups[0]; len(got.Topics) != 0 || got.ErrorCode != 0 {
		t.Errorf("after the topic was deleted: %+v", got)
	}
	one := ask[*kmsg.OffsetFetchResponse](b.broker, groupRequest(kmsg.OffsetFetch, 10, id)).Groups[0]
	if len(one.Topics) != 1 || one.Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicID.Code || one.Topics[0].Partitions[0].Offset != -1 {
		t.Errorf("by its id: %+v", one)
	}
}

// TestListGroups lists by state and type, as asked in the versions that have it.
func TestListGroups(t *testing.T) {
	b := newGroupsBroker(t, groupsOptions{})
	id := b.create("t", 1)
	ask[*kmsg.OffsetCommitResponse](b.broker, groupRequest(kmsg.OffsetCommit, 9, id))
	for version := int16(0); version <= 5; version++ {
		for _, tc := range []struct {
			states, types []string
			from          int16
			want          string
		}{
			{nil, nil, 0, "g"}, {[]string{"EMPTY"}, nil, 4, "g"}, {[]string{"stable"}, nil, 4, ""}, {[]string{"nonsense"}, nil, 4, ""},
			{nil, []string{"Classic"}, 5, "g"}, {nil, []string{"consumer"}, 5, ""}, {[]string{"Empty", "Stable"}, []string{"classic"}, 5, "g"},
		} {
			if version < tc.from {
				continue
			}
			req := kmsg.NewPtrListGroupsRequest()
			req.Version, req.StatesFilter, req.TypesFilter = version, tc.states, tc.types
			var got []string
			for _, row := range ask[*kmsg.ListGroupsResponse](b.broker, req).Groups {
				got = append(got, row.Group)
				if version >= 4 && row.GroupState != "Empty" || version >= 5 && row.GroupType != "classic" {
					t.Errorf("v%d: %+v", version, row)
				}
			}
			if strings.Join(got, ",") != tc.want {
				t.Errorf("v%d %v %v: %v, want %s", version, tc.states, tc.types, got, tc.want)
			}
		}
	}
}
