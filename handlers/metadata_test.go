package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
)

// recordingController keeps the requests that reach it and answers with what answer makes of them.
type recordingController struct {
	requests []kmsg.Request
	answer   func(kmsg.Request) (kmsg.Response, error)
}

func (c *recordingController) Handle(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	c.requests = append(c.requests, req)
	if c.answer != nil {
		return c.answer(req)
	}
	return req.ResponseKind(), nil
}

// newAdminBroker is a broker whose controller records what it is asked.
func newAdminBroker(t *testing.T, static map[string]string) (*broker, *recordingController) {
	t.Helper()
	b := newBroker(t, static)
	c := &recordingController{}
	d := Deps{
		Logger: b.h.deps.Logger, Clock: b.h.deps.Clock, NodeID: testNode, Image: func() *image.Image { return b.img },
		Controller: c, Replicas: b.replicas, Configs: b.configs, Random: b.h.deps.Random,
	}
	b.h = New(d)
	return b, c
}

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(version)
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// showTopics prints the topics of a Metadata answer: name, error, partitions with leader and error.
func showTopics(resp *kmsg.MetadataResponse) string {
	var out []string
	for _, topic := range resp.Topics {
		name := "null"
		if topic.Topic != nil {
			name = *topic.Topic
		}
		s := fmt.Sprintf("%s:%d", name, topic.ErrorCode)
		if topic.IsInternal {
			s += " internal"
		}
		for _, p := range topic.Partitions {
			s += fmt.Sprintf(" %d@%d/%d", p.Partition, p.Leader, p.ErrorCode)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// TestMetadataTopics asks for topics in every way that differs between versions. The answers are those
// of Kafka 4.4.0 to the same requests: topics that exist first, in the order of the request, each once.
func TestMetadataTopics(t *testing.T) {
	b, _ := newAdminBroker(t, map[string]string{"auto.create.topics.enable": "false"})
	b.create("t1", 2)
	b.create("zz1", 1)
	all := kmsg.NewPtrMetadataRequest()
	all.SetVersion(1)
	for _, tc := range []struct {
		name string
		req  *kmsg.MetadataRequest
		want string
	}{
		{"v0, an empty list is all", metadataRequest(0), "t1:0 0@1/0 1@1/0; zz1:0 0@1/0"},
		{"v1, null is all", all, "t1:0 0@1/0 1@1/0; zz1:0 0@1/0"},
		{"v1, an empty list is none", metadataRequest(1), ""},
		{"v12, an empty list is none", metadataRequest(12), ""},
		{"order and duplicates", metadataRequest(12, "zz1", "nosuch", "t1", "zz1", "nosuch"), "zz1:0 0@1/0; t1:0 0@1/0 1@1/0; nosuch:3"},
		{"illegal names", metadataRequest(4, "a b", "", "..", strings.Repeat("x", 250)), "a b:17; :17; ..:17; " + strings.Repeat("x", 250) + ":17"},
		{"a longest name", metadataRequest(4, strings.Repeat("x", 249)), strings.Repeat("x", 249) + ":3"},
		{"internal topics", metadataRequest(1, "__transaction_state"), "__transaction_state:3 internal"},
	} {
		resp := ask[*kmsg.MetadataResponse](b, tc.req)
		if got := showTopics(resp); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
		if len(resp.Brokers) != 1 || resp.Brokers[0].Host != "h1" || resp.Brokers[0].Port != 9092 {
			t.Errorf("%s: brokers %+v", tc.name, resp.Brokers)
		}
		if tc.req.Version >= 1 && (resp.ControllerID != testNode || *resp.Brokers[0].Rack != "r1") {
			t.Errorf("%s: controller %d, rack %v", tc.name, resp.ControllerID, resp.Brokers[0].Rack)
		}
	}
}

// TestMetadataByID asks for ids, which are legal from version 12 on; names beside them are passed over.
func TestMetadataByID(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	id := b.create("t1", 1)
	req := metadataRequest(12, "zz1")
	for _, want := range [][16]byte{{9}, id, id} {
		topic := kmsg.NewMetadataRequestTopic()
		topic.TopicID = want
		req.Topics = append(req.Topics, topic)
	}
	resp := ask[*kmsg.MetadataResponse](b, req)
	if got := showTopics(resp); got != "t1:0 0@1/0; null:100" || resp.Topics[0].TopicID != id || resp.Topics[1].TopicID != [16]byte{9} {
		t.Errorf("%s, ids %v", got, resp.Topics)
	}
	// Versions 10 and 11 have the field, but don't know what to do with it.
	for _, version := range []int16{10, 11} {
		req.SetVersion(version)
		resp := ask[*kmsg.MetadataResponse](b, req)
		if len(resp.Topics) != 4 || resp.Topics[0].ErrorCode != kerr.InvalidRequest.Code || len(resp.Brokers) != 0 || resp.ControllerID != -1 {
			t.Errorf("v%d: %+v", version, resp)
		}
	}
}

// TestMetadataWithoutNameAndID asks for a topic by nothing: Kafka fails on it, and so does the whole request,
// unless another topic is named by its id.
func TestMetadataWithoutNameAndID(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	b.create("t1", 1)
	for _, version := range []int16{12, 13} {
		req := metadataRequest(version, "t1")
		req.Topics = append(req.Topics, kmsg.NewMetadataRequestTopic())
		resp := ask[*kmsg.MetadataResponse](b, req)
		if got := showTopics(resp); got != "t1:-1; :-1" || len(resp.Brokers) != 0 || resp.ClusterID != nil || resp.ControllerID != -1 {
			t.Errorf("v%d: %s, %+v", version, got, resp)
		}
		if top := resp.ErrorCode; version >= 13 && top != kerr.UnknownServerError.Code || version < 13 && top != 0 {
			t.Errorf("v%d: top-level error %d", version, top)
		}
		byID := kmsg.NewMetadataRequestTopic()
		byID.TopicID = [16]byte{9}
		req.Topics = append(req.Topics, byID)
		if got := showTopics(ask[*kmsg.MetadataResponse](b, req)); got != "null:100" {
			t.Errorf("v%d beside an id: %s", version, got)
		}
	}
}

// TestMetadataAuthorizedOperations gives the bits of a broker without an authorizer; those of the
// cluster in versions 8 to 10 only. They are there for topics that don't exist, but not for unknown ids.
func TestMetadataAuthorizedOperations(t *testing.T) {
	b, _ := newAdminBroker(t, map[string]string{"auto.create.topics.enable": "false"})
	b.create("t1", 1)
	const unset = -2147483648
	for version, cluster := range map[int16]int32{7: unset, 8: 8096, 10: 8096, 11: unset, 13: unset} {
		req := metadataRequest(version, "t1", "nosuch")
		req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
		resp := ask[*kmsg.MetadataResponse](b, req)
		topics := int32(3576)
		if version < 8 {
			topics = unset
		}
		if resp.AuthorizedOperations != cluster || resp.Topics[0].AuthorizedOperations != topics || resp.Topics[1].AuthorizedOperations != topics {
			t.Errorf("v%d: cluster %d, topics %d %d", version, resp.AuthorizedOperations, resp.Topics[0].AuthorizedOperations, resp.Topics[1].AuthorizedOperations)
		}
	}
}

// TestMetadataLeaders shows partitions whose leader or replicas are away: offline replicas, the leader's
// error by version, and version 0's way of leaving dead replicas out.
func TestMetadataLeaders(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	register := func(id int32, listener string, fenced bool) {
		b.apply(&metadata.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: 8, Fenced: fenced,
			EndPoints: []metadata.RegisterBrokerRecordBrokerEndpoint{{Name: listener, Host: "h", Port: 1}}})
	}
	register(2, "PLAINTEXT", true)
	register(3, "OTHER", false)
	id := image.ID{5}
	b.apply(&metadata.TopicRecord{Name: "t", TopicID: id})
	for i, p := range []struct {
		leader   int32
		replicas []int32
	}{{1, []int32{1, 2}}, {-1, []int32{2}}, {3, []int32{3, 1}}} {
		b.apply(&metadata.PartitionRecord{TopicID: id, PartitionID: int32(i), Replicas: p.replicas, ISR: p.replicas[:1],
			Leader: p.leader, Directories: make([]image.ID, len(p.replicas))})
	}
	for version, want := range map[int16]string{
		0: "t:0 0@1/9 1@-1/5 2@-1/5", 5: "t:0 0@1/0 1@-1/5 2@-1/5", 6: "t:0 0@1/0 1@-1/5 2@-1/72", 13: "t:0 0@1/0 1@-1/5 2@-1/72",
	} {
		resp := ask[*kmsg.MetadataResponse](b, metadataRequest(version, "t"))
		if got := showTopics(resp); got != want {
			t.Errorf("v%d: %s, want %s", version, got, want)
		}
		if got := fmt.Sprint(resp.Topics[0].Partitions[0].Replicas); version == 0 && got != "[1]" || version > 0 && got != "[1 2]" {
			t.Errorf("v%d: replicas %s", version, got)
		}
		if got := fmt.Sprint(resp.Topics[0].Partitions[0].OfflineReplicas); version >= 5 && got != "[2]" {
			t.Errorf("v%d: offline %s", version, got)
		}
		if len(resp.Brokers) != 1 {
			t.Errorf("v%d: a client sees brokers that it can't reach: %+v", version, resp.Brokers)
		}
	}
}

// TestMetadataLostDirectory counts a replica as offline whose directory its broker lost, but not one of which
// nobody knows yet where it is.
func TestMetadataLostDirectory(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	kept, lost := image.ID{7, 1}, image.ID{7, 2}
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: 2, BrokerEpoch: 8, LogDirs: []image.ID{kept},
		EndPoints: []metadata.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "h", Port: 1}}})
	id := image.ID{5}
	b.apply(&metadata.TopicRecord{Name: "t", TopicID: id})
	for i, dir := range []image.ID{kept, lost, image.UnassignedDir, image.LostDir} {
		b.apply(&metadata.PartitionRecord{TopicID: id, PartitionID: int32(i), Replicas: []int32{1, 2}, ISR: []int32{1},
			Leader: 1, Directories: []image.ID{{}, dir}})
	}
	resp := ask[*kmsg.MetadataResponse](b, metadataRequest(13, "t"))
	for i, want := range []string{"[]", "[2]", "[]", "[2]"} {
		if got := fmt.Sprint(resp.Topics[0].Partitions[i].OfflineReplicas); got != want {
			t.Errorf("partition %d: offline %s, want %s", i, got, want)
		}
	}
}

// hereGroups says that this broker coordinates every group.
type hereGroups struct{ Groups }

func (hereGroups) Coordinator(context.Context, string) (int32, error) { return testNode, nil }

// TestMetadataAutoAdvertised gives a client the address that it has used, where nothing else is
// configured for a listener on all addresses; what is configured is given as it is.
func TestMetadataAutoAdvertised(t *testing.T) {
	for _, tc := range []struct {
		static map[string]string
		local  string
		want   string
	}{
		{map[string]string{"listeners": "PLAINTEXT://:9092"}, "192.0.2.7:9092", "192.0.2.7"},
		{map[string]string{"listeners": "PLAINTEXT://0.0.0.0:9092"}, "[::ffff:192.0.2.7]:9092", "192.0.2.7"},
		{map[string]string{"listeners": "PLAINTEXT://:9092"}, "[2001:db8::1]:9092", "2001:db8::1"},
		{map[string]string{"listeners": "PLAINTEXT://h1:9092"}, "192.0.2.7:9092", "h1"},
		{map[string]string{"listeners": "PLAINTEXT://:9092", "advertised.listeners": "PLAINTEXT://h1:9092"}, "192.0.2.7:9092", "h1"},
	} {
		b, _ := newAdminBroker(t, tc.static)
		b.session.LocalAddr = netip.MustParseAddrPort(tc.local)
		if resp := ask[*kmsg.MetadataResponse](b, metadataRequest(13)); resp.Brokers[0].Host != tc.want || resp.Brokers[0].Port != 9092 {
			t.Errorf("%v through %s: %s:%d, want %s", tc.static, tc.local, resp.Brokers[0].Host, resp.Brokers[0].Port, tc.want)
		}
		// Whoever names a broker gives the same address: a group's members would else be sent elsewhere.
		b.h.deps.Groups = hereGroups{}
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.SetVersion(4)
		find.CoordinatorKeys = []string{"g"}
		if c := ask[*kmsg.FindCoordinatorResponse](b, find).Coordinators[0]; c.Host != tc.want || c.Port != 9092 {
			t.Errorf("%v through %s: coordinator %s:%d, want %s", tc.static, tc.local, c.Host, c.Port, tc.want)
		}
		cluster := ask[*kmsg.DescribeClusterResponse](b, kmsg.NewPtrDescribeClusterRequest())
		if n := cluster.Brokers[0]; n.Host != tc.want || n.Port != 9092 {
			t.Errorf("%v through %s: DescribeCluster has %s:%d, want %s", tc.static, tc.local, n.Host, n.Port, tc.want)
		}
	}
}

// TestMetadataAutoCreation creates what doesn't exist if client, broker and name allow it. The answer
// still says that the topic is unknown, as Kafka's does.
func TestMetadataAutoCreation(t *testing.T) {
	for _, tc := range []struct {
		name    string
		static  map[string]string
		version int16
		allow   bool
		want    string
	}{
		{"allowed", nil, 12, true, "new(-1,-1) __consumer_offsets(50,1)"},
		{"not by the client", nil, 12, false, ""},
		{"old clients can't refuse", nil, 3, false, "new(-1,-1) __consumer_offsets(50,1)"},
		{"not by the broker", map[string]string{"auto.create.topics.enable": "false"}, 12, true, ""},
	} {
		b, c := newAdminBroker(t, tc.static)
		b.create("old", 1)
		req := metadataRequest(tc.version, "old", "new", "a b", "__consumer_offsets", "__transaction_state", "new")
		req.AllowAutoTopicCreation = tc.allow
		resp := ask[*kmsg.MetadataResponse](b, req)
		if got := showTopics(resp); got != "old:0 0@1/0; new:3; a b:17; __consumer_offsets:3 internal; __transaction_state:3 internal" {
			t.Errorf("%s: %s", tc.name, got)
		}
		var created []string
		for _, r := range c.requests {
			for _, topic := range r.(*kmsg.CreateTopicsRequest).Topics {
				created = append(created, fmt.Sprintf("%s(%d,%d)", topic.Topic, topic.NumPartitions, topic.ReplicationFactor))
			}
		}
		if got := strings.Join(created, " "); got != tc.want {
			t.Errorf("%s: created %s, want %s", tc.name, got, tc.want)
		}
	}
	// A controller that can't be reached costs the client nothing but the topic.
	b, c := newAdminBroker(t, nil)
	c.answer = func(kmsg.Request) (kmsg.Response, error) { return nil, errors.New("no controller") }
	req := metadataRequest(12, "new")
	req.AllowAutoTopicCreation = true
	if got := showTopics(ask[*kmsg.MetadataResponse](b, req)); got != "new:3" || len(c.requests) != 1 {
		t.Errorf("%s after %d requests", got, len(c.requests))
	}
}
