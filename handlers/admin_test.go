package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
)

// TestDescribeCluster asks by endpoint type and for fenced brokers; texts and codes are Kafka's.
func TestDescribeCluster(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	b.apply(&metadata.RegisterBrokerRecord{BrokerID: 2, BrokerEpoch: 8, Fenced: true,
		EndPoints: []metadata.RegisterBrokerRecordBrokerEndpoint{{Name: "PLAINTEXT", Host: "h2", Port: 2}}})
	for _, tc := range []struct {
		version int16
		kind    int8
		fenced  bool
		want    string
	}{
		{0, 0, false, "0 1@h1:9092"},
		{1, 1, false, "0 1@h1:9092"},
		{1, 2, false, "114 The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"},
		{1, 3, false, "115 Unsupported endpoint type 3"},
		{2, 1, false, "0 1@h1:9092"},
		{2, 1, true, "0 1@h1:9092 2@h2:2 fenced"},
	} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.SetVersion(tc.version)
		req.EndpointType, req.IncludeFencedBrokers, req.IncludeClusterAuthorizedOperations = tc.kind, tc.fenced, true
		resp := ask[*kmsg.DescribeClusterResponse](b, req)
		got := fmt.Sprint(resp.ErrorCode)
		if resp.ErrorMessage != nil {
			got += " " + *resp.ErrorMessage
		}
		for _, n := range resp.Brokers {
			got += fmt.Sprintf(" %d@%s:%d", n.NodeID, n.Host, n.Port)
			if n.IsFenced {
				got += " fenced"
			}
		}
		if got != tc.want {
			t.Errorf("v%d type %d: %s, want %s", tc.version, tc.kind, got, tc.want)
		}
		if resp.ErrorCode == 0 && (resp.ClusterAuthorizedOperations != 8096 || resp.ControllerID != testNode) {
			t.Errorf("v%d: operations %d, controller %d", tc.version, resp.ClusterAuthorizedOperations, resp.ControllerID)
		}
	}
}

// TestDescribeTopicPartitions pages through topics; cursors, limits and errors are Kafka's.
func TestDescribeTopicPartitions(t *testing.T) {
	b, _ := newAdminBroker(t, map[string]string{"max.request.partition.size.limit": "4"})
	b.create("b", 3)
	b.create("d", 2)
	b.create("f", 1)
	for _, tc := range []struct {
		name   string
		topics string
		limit  int32
		cursor string
		want   string
	}{
		{"all, up to the broker's limit", "", 2000, "", "b:0 0 1 2; d:0 0 -> d/1"},
		{"the next page", "", 2000, "d/1", "d:0 1; f:0 0"},
		{"all, from a topic that is gone", "", 2000, "c/7", "d:0 0 1; f:0 0"},
		{"the page ends with a topic", "", 3, "", "b:0 0 1 2 -> d/0"},
		{"named, sorted, each once", "f b nosuch f", 2000, "", "b:0 0 1 2; f:0 0 -> nosuch/0"},
		{"a missing topic", "f nosuch", 2000, "", "f:0 0; nosuch:3"},
		{"missing topics cost nothing", "a b", 1, "", "a:3; b:0 0 -> b/1"},
		{"an illegal name", "a+b", 1, "", "a+b:17"},
		{"no limit below one", "b", 0, "", "b:0 0 -> b/1"},
		{"a cursor beyond the end", "b", 2000, "b/9", "b:0"},
		{"a cursor elsewhere", "f b", 2000, "c/0", "f:42; b:42"},
		{"a negative cursor", "b", 2000, "b/-1", "b:42"},
		{"nothing is left", "", 2000, "g/0", ""},
	} {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		for _, name := range strings.Fields(tc.topics) {
			topic := kmsg.NewDescribeTopicPartitionsRequestTopic()
			topic.Topic = name
			req.Topics = append(req.Topics, topic)
		}
		req.ResponsePartitionLimit = tc.limit
		if name, index, ok := strings.Cut(tc.cursor, "/"); ok {
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic = name
			if _, err := fmt.Sscan(index, &c.Partition); err != nil {
				t.Fatal(err)
			}
			req.Cursor = &c
		}
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](b, req)
		var out []string
		for _, topic := range resp.Topics {
			s := fmt.Sprintf("%s:%d", *topic.Topic, topic.ErrorCode)
			for _, p := range topic.Partitions {
				s += fmt.Sprintf(" %d", p.Partition)
				if p.LeaderID != testNode || p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
					t.Errorf("%s: %+v", tc.name, p)
				}
			}
			out = append(out, s)
		}
		got := strings.Join(out, "; ")
		if c := resp.NextCursor; c != nil {
			got += fmt.Sprintf(" -> %s/%d", c.Topic, c.Partition)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// Documentation is sent to who asks for it, since version 3; sarama's tests want it.
func TestDescribeConfigsDocumentation(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	for _, tc := range []struct {
		version int16
		ask     bool
		want    bool
	}{{4, true, true}, {4, false, false}, {3, true, true}, {2, true, false}} {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.SetVersion(tc.version)
		req.IncludeDocumentation = tc.ask
		res := kmsg.NewDescribeConfigsRequestResource()
		res.ResourceType, res.ResourceName, res.ConfigNames = 4, "1", []string{"log.retention.hours"}
		req.Resources = append(req.Resources, res)
		rows := ask[*kmsg.DescribeConfigsResponse](b, req).Resources[0].Configs
		if len(rows) != 1 || (rows[0].Documentation != nil && *rows[0].Documentation != "") != tc.want {
			t.Errorf("version %d, asked %v: %+v", tc.version, tc.ask, rows)
		}
	}
}

// TestDescribeConfigsResources asks for resources of all types; the refusals are Kafka's.
func TestDescribeConfigsResources(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	b.create("t1", 1, "cleanup.policy", "compact, delete")
	const unknownType = "This most likely occurs because of a request being malformed by the client library or the message " +
		"was sent to an incompatible broker. See the broker logs for more details."
	for _, tc := range []struct {
		kind int8
		name string
		keys string
		want string
	}{
		{2, "t1", "cleanup.policy nope", "0  cleanup.policy=compact,delete/1"},
		{2, "nosuch", "", "3 "},
		{2, "", "", "17 Topic name is invalid: the empty string is not allowed"},
		{2, "a b", "", "17 Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{4, "1", "node.id log.dirs", "0  log.dirs=/data/4 node.id=1/4"},
		{4, "", "", "0 "},
		{4, "99", "", "42 Unexpected broker id, expected 1 or empty string, but received 99"},
		{4, "abc", "", "42 Broker id must be an integer, but it is: abc"},
		{8, "1", "", "0  root=FATAL/6"},
		{8, "", "", "42 Broker id must not be empty"},
		{8, "2", "", "42 Unexpected broker id, expected 1 but received 2"},
		{16, "", "", "42 Client metrics subscription name must not be empty"},
		{16, "m", "", "0  interval.ms=300000/5 match=/5 metrics=/5"},
		{32, "", "", "42 Group name must not be empty"},
		{32, "g", "consumer.session.timeout.ms", "0  consumer.session.timeout.ms=45000/5"},
		{1, "x", "", "42 " + unknownType},
		{64, "x", "", "42 " + unknownType},
	} {
		req := kmsg.NewPtrDescribeConfigsRequest()
		req.SetVersion(4)
		res := kmsg.NewDescribeConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceType(tc.kind), tc.name
		if tc.keys != "" {
			res.ConfigNames = strings.Fields(tc.keys)
		}
		req.Resources = append(req.Resources, res)
		out := ask[*kmsg.DescribeConfigsResponse](b, req).Resources[0]
		if tc.kind == 4 && tc.name == "1" && len(out.Configs) != 2 {
			t.Errorf("%d rows for two keys", len(out.Configs))
		}
		got := fmt.Sprintf("%d %s", out.ErrorCode, *out.ErrorMessage)
		for _, c := range out.Configs {
			got += fmt.Sprintf(" %s=%s/%d", c.Name, *c.Value, c.Source)
			if len(c.ConfigSynonyms) > 0 {
				t.Errorf("%s has synonyms though none were asked for", c.Name)
			}
		}
		if got != tc.want {
			t.Errorf("%d %q:\n got %s\nwant %s", tc.kind, tc.name, got, tc.want)
		}
	}
}

// alteration is one resource of an IncrementalAlterConfigs request: key=value, -key, +key=value.
func alteration(kind int8, name string, ops ...string) kmsg.IncrementalAlterConfigsRequestResource {
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceType(kind), name
	for _, op := range ops {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		key, value, ok := strings.Cut(op, "=")
		if ok {
			c.Value = &value
		}
		switch key[0] {
		case '-':
			c.Op, key = kmsg.IncrementalAlterConfigOpDelete, key[1:]
		case '+':
			c.Op, key = kmsg.IncrementalAlterConfigOpAppend, key[1:]
		}
		c.Name = key
		res.Configs = append(res.Configs, c)
	}
	return res
}

// TestAlterLogLevels changes the level of the broker's logger (KIP-412) and refuses as Kafka does.
func TestAlterLogLevels(t *testing.T) {
	b, c := newAdminBroker(t, nil)
	d := *b.h.deps
	d.LogLevel = &slog.LevelVar{}
	d.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: d.LogLevel}))
	b.h = New(d)
	for _, tc := range []struct{ broker, op, want string }{
		{"1", "root=DEBUG", "0"},
		{"1", "root=FOO", "40 Cannot set the log level of root to FOO as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"},
		{"1", "nope=DEBUG", "40 Logger nope does not exist!"},
		{"1", "root", "42 Null value not supported for : root"},
		{"1", "-root", "42 Removing the log level of the root logger is not allowed"},
		{"1", "+root=INFO", "42 APPEND operation is not allowed for the BROKER_LOGGER resource"},
		{"2", "root=INFO", "42 Unexpected node id. Expected 1, but received 2"},
		{"", "root=INFO", "42 Node id must be an integer, but it is: "},
		{"abc", "root=INFO", "42 Node id must be an integer, but it is: abc"},
	} {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.SetVersion(1)
		req.Resources = append(req.Resources, alteration(8, tc.broker, tc.op))
		out := ask[*kmsg.IncrementalAlterConfigsResponse](b, req).Resources[0]
		got := fmt.Sprint(out.ErrorCode)
		if out.ErrorMessage != nil {
			got += " " + *out.ErrorMessage
		}
		if got != tc.want {
			t.Errorf("broker %q %s: %s, want %s", tc.broker, tc.op, got, tc.want)
		}
	}
	if !d.Logger.Enabled(context.Background(), slog.LevelDebug) || *d.describeLoggers()[0].Value != "DEBUG" {
		t.Errorf("level is %v", d.LogLevel.Level())
	}
	if len(c.requests) != 0 {
		t.Error("log levels reached the controller")
	}
}

// TestIncrementalAlterConfigsOrder mixes what this broker refuses, does itself and passes on: answers
// stand in the request's order, also where the controller doesn't answer.
func TestIncrementalAlterConfigsOrder(t *testing.T) {
	b, c := newAdminBroker(t, nil)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.SetVersion(1)
	req.Resources = append(req.Resources,
		alteration(2, "a", "retention.ms=1"), alteration(4, "7", "max.connections=1"), alteration(2, "b", "retention.ms=1"),
		alteration(8, "1", "root=FOO"), alteration(2, "c"), alteration(2, "c"), alteration(2, ""))
	show := func() string {
		var out []string
		for _, x := range ask[*kmsg.IncrementalAlterConfigsResponse](b, req).Resources {
			out = append(out, fmt.Sprintf("%s:%d", x.ResourceName, x.ErrorCode))
		}
		return strings.Join(out, " ")
	}
	c.answer = func(r kmsg.Request) (kmsg.Response, error) {
		resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for i, in := range r.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			out := kmsg.NewIncrementalAlterConfigsResponseResource()
			out.ResourceName, out.ErrorCode = in.ResourceName, int16(100+i)
			resp.Resources = append(resp.Resources, out)
		}
		return resp, nil
	}
	if got := show(); got != "a:100 7:42 b:101 1:40 c:42 c:42 :42" {
		t.Error(got)
	}
	c.answer = func(kmsg.Request) (kmsg.Response, error) {
		return nil, kerror.Wrap(kerr.NotController, errors.New("gone"))
	}
	if got := show(); got != "a:41 7:42 b:41 1:40 c:42 c:42 :42" {
		t.Error(got)
	}
}

// TestForwardedFailures gives every item the controller's failure, and a client that allows no time a
// timeout without asking.
func TestForwardedFailures(t *testing.T) {
	b, c := newAdminBroker(t, nil)
	c.answer = func(kmsg.Request) (kmsg.Response, error) { return nil, kerror.New(kerr.NotController, "elsewhere") }
	create := kmsg.NewPtrCreateTopicsRequest()
	create.SetVersion(7)
	for _, name := range []string{"x", "y"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic = name
		create.Topics = append(create.Topics, topic)
	}
	codes := func() (out []int16) {
		for _, topic := range ask[*kmsg.CreateTopicsResponse](b, create).Topics {
			out = append(out, topic.ErrorCode)
		}
		return out
	}
	create.TimeoutMillis = 1000
	if got := codes(); !slices.Equal(got, []int16{41, 41}) || len(c.requests) != 1 {
		t.Errorf("%v after %d requests", got, len(c.requests))
	}
	create.TimeoutMillis = 0
	if got := codes(); !slices.Equal(got, []int16{7, 7}) || len(c.requests) != 1 {
		t.Errorf("%v after %d requests", got, len(c.requests))
	}
	remove := kmsg.NewPtrDeleteTopicsRequest()
	remove.SetVersion(5)
	remove.TopicNames, remove.TimeoutMillis = []string{"x"}, 1000
	if got := ask[*kmsg.DeleteTopicsResponse](b, remove).Topics; len(got) != 1 || got[0].ErrorCode != 41 || *got[0].ErrorMessage != "elsewhere" {
		t.Errorf("%+v", got)
	}
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.SetVersion(2)
	elect.TimeoutMillis = 1000
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "x", Partitions: []int32{0, 1}}}
	if got := ask[*kmsg.ElectLeadersResponse](b, elect); got.ErrorCode != 41 || len(got.Topics[0].Partitions) != 2 || got.Topics[0].Partitions[1].ErrorCode != 41 {
		t.Errorf("%+v", got)
	}
	move := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	move.SetVersion(1)
	move.TimeoutMillis = 1000
	move.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "x", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 0}, {Partition: 3}}}}
	if got := ask[*kmsg.AlterPartitionAssignmentsResponse](b, move); got.ErrorCode != 41 || len(got.Topics[0].Partitions) != 2 ||
		got.Topics[0].Partitions[1].Partition != 3 || got.Topics[0].Partitions[1].ErrorCode != 41 || *got.Topics[0].Partitions[1].ErrorMessage != "elsewhere" {
		t.Errorf("%+v", got)
	}
	quorum := kmsg.NewPtrDescribeQuorumRequest()
	if got := ask[*kmsg.DescribeQuorumResponse](b, quorum); got.ErrorCode != 41 {
		t.Errorf("%+v", got)
	}
}

// TestListConfigResources lists topics and live brokers, and what else has settings.
func TestListConfigResources(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	b.create("t1", 1)
	b.create("t2", 1)
	value := "60000"
	b.apply(
		&metadata.ConfigRecord{ResourceType: image.ResourceClientMetrics, ResourceName: "m", Name: "interval.ms", Value: &value},
		&metadata.ConfigRecord{ResourceType: image.ResourceGroup, ResourceName: "g", Name: "consumer.session.timeout.ms", Value: &value})
	for _, tc := range []struct {
		version int16
		types   []int8
		want    string
		code    int16
	}{
		{0, nil, "16/m", 0},
		{1, nil, "16/m 2/t1 2/t2 32/g 4/1 8/1", 0},
		{1, []int8{2}, "2/t1 2/t2", 0},
		{1, []int8{4, 8}, "4/1 8/1", 0},
		{1, []int8{2, 64}, "", 35},
		{1, []int8{1}, "", 35},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.SetVersion(tc.version)
		req.ResourceTypes = append(req.ResourceTypes, tc.types...)
		resp := ask[*kmsg.ListConfigResourcesResponse](b, req)
		var got []string
		for _, x := range resp.ConfigResources {
			kind := x.Type
			if tc.version == 0 {
				kind = image.ResourceClientMetrics
			}
			got = append(got, fmt.Sprintf("%d/%s", kind, x.Name))
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != tc.want || resp.ErrorCode != tc.code {
			t.Errorf("v%d %v: %d %s, want %d %s", tc.version, tc.types, resp.ErrorCode, s, tc.code, tc.want)
		}
	}
}

// TestDescribeWhatCannotBeSet gives Kafka's answers of a cluster without users, quotas and authorizer.
func TestDescribeWhatCannotBeSet(t *testing.T) {
	b, _ := newAdminBroker(t, nil)
	users := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range []string{"a", "b", "a"} {
		u := kmsg.NewDescribeUserSCRAMCredentialsRequestUser()
		u.Name = name
		users.Users = append(users.Users, u)
	}
	got := ask[*kmsg.DescribeUserSCRAMCredentialsResponse](b, users).Results
	if len(got) != 2 || got[0].ErrorCode != 92 || got[1].ErrorCode != 91 ||
		*got[0].ErrorMessage != "Cannot describe SCRAM credentials for the same user twice in a single request: a" ||
		*got[1].ErrorMessage != "Attempt to describe a user credential that does not exist: b" {
		t.Errorf("%+v", got)
	}
	x := "x"
	for _, tc := range []struct {
		components []kmsg.DescribeClientQuotasRequestComponent
		code       int16
		message    string
	}{
		{nil, 0, ""},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 0, Match: &x}}, 0, ""},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "foo", MatchType: 0, Match: &x}}, 35, "Unsupported entity type foo"},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 0}}, 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 1, Match: &x}}, 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 2, Match: &x}}, 42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "", MatchType: 2}}, 42, "Invalid empty entity type."},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 2}, {EntityType: "user", MatchType: 1}}, 42, "Entity type user cannot appear more than once in the filter."},
		{[]kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: 2}, {EntityType: "ip", MatchType: 2}}, 42,
			"Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component."},
	} {
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		req.Components = tc.components
		resp := ask[*kmsg.DescribeClientQuotasResponse](b, req)
		if resp.ErrorCode != tc.code || *resp.ErrorMessage != tc.message || (tc.code == 0) != (resp.Entries != nil) {
			t.Errorf("%+v: %d %s, entries %v", tc.components, resp.ErrorCode, *resp.ErrorMessage, resp.Entries)
		}
	}
	acls := kmsg.NewPtrDescribeACLsRequest()
	acls.SetVersion(3)
	acls.ResourceType, acls.ResourcePatternType, acls.Operation, acls.PermissionType = 1, 1, 1, 1
	if resp := ask[*kmsg.DescribeACLsResponse](b, acls); resp.ErrorCode != 54 || *resp.ErrorMessage != "No Authorizer is configured on the broker" {
		t.Errorf("%+v", resp)
	}
}
