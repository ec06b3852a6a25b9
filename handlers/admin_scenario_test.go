package handlers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/wire"
)

// newControlledBroker is a broker with a real controller over stores in memory. Its log goes to log.
func newControlledBroker(t *testing.T, log io.Writer, static map[string]string) *broker {
	t.Helper()
	b := newBroker(t, static)
	store := config.NewStore(b.configs.broker)
	logger := slog.New(slog.NewTextHandler(log, nil))
	c, err := controller.New(controller.Config{
		NodeID: testNode, Settings: b.configs.broker, Stores: controller.MemoryStores(), Clock: clock.System{},
		Logger: slog.New(slog.DiscardHandler), Rand: rand.New(rand.NewPCG(1, 2)), OnFatal: func(err error) { t.Error("fatal:", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Subscribe(func(_, img *image.Image, _ *image.Delta) {
		store.SetDynamic(img.Configs(image.ResourceBroker, strconv.Itoa(testNode)), img.Configs(image.ResourceBroker, ""))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	register := kmsg.NewPtrBrokerRegistrationRequest()
	register.BrokerID, register.ClusterID, register.IncarnationID = testNode, c.Image().ClusterID(), image.ID{1}
	register.LogDirs = [][16]byte{{1}}
	register.Features = []kmsg.BrokerRegistrationRequestFeature{
		{Name: image.MetadataVersion, MinSupportedVersion: 7, MaxSupportedVersion: 33},
		{Name: image.EligibleLeaderReplicasVersion, MaxSupportedVersion: 1}, {Name: image.KRaftVersion, MaxSupportedVersion: 1},
	}
	listener := kmsg.NewBrokerRegistrationRequestListener()
	listener.Name, listener.Host, listener.Port = "PLAINTEXT", "h1", 9092
	register.Listeners = append(register.Listeners, listener)
	registered, err := c.Handle(ctx, register)
	if err != nil {
		t.Fatal(err)
	}
	beat := kmsg.NewPtrBrokerHeartbeatRequest()
	beat.BrokerID, beat.BrokerEpoch = testNode, registered.(*kmsg.BrokerRegistrationResponse).BrokerEpoch
	beat.CurrentMetadataOffset = c.Image().Offset()
	if _, err := c.Handle(ctx, beat); err != nil {
		t.Fatal(err)
	}
	b.h = New(Deps{
		Logger: logger, Clock: clock.System{}, NodeID: testNode, Image: c.Image, Controller: c, Replicas: b.replicas,
		Configs: store, Random: b.h.deps.Random,
	})
	return b
}

// creation asks for topics: name:partitions:factor.
func creation(version int16, topics ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(version)
	req.TimeoutMillis = 20_000
	for _, topic := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		parts := strings.Split(topic, ":")
		partitions, _ := strconv.Atoi(parts[1])
		factor, _ := strconv.Atoi(parts[2])
		t.Topic, t.NumPartitions, t.ReplicationFactor = parts[0], int32(partitions), int16(factor)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// withConfig adds key=value to all topics of a request.
func withConfig(req *kmsg.CreateTopicsRequest, settings ...string) *kmsg.CreateTopicsRequest {
	for i := range req.Topics {
		for _, s := range settings {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			name, value, _ := strings.Cut(s, "=")
			c.Name, c.Value = name, &value
			req.Topics[i].Configs = append(req.Topics[i].Configs, c)
		}
	}
	return req
}

func deletion(version int16, names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.SetVersion(version)
	req.TimeoutMillis, req.TopicNames = 20_000, names
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// describedTopic is the settings of a topic as DescribeConfigs tells them.
func describedTopic(b *broker, version int16, topic string, keys ...string) kmsg.DescribeConfigsResponseResource {
	b.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.SetVersion(version)
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName, res.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, keys
	req.Resources, req.IncludeSynonyms = append(req.Resources, res), true
	return ask[*kmsg.DescribeConfigsResponse](b, req).Resources[0]
}

// versionsOf are the versions in which an API is served.
func versionsOf(key kmsg.Key) (out []int16) {
	for _, a := range apis() {
		if a.key == key {
			for v := a.min; v <= a.max; v++ {
				out = append(out, v)
			}
		}
	}
	return out
}

// TestTopicLife creates, grows and deletes a topic in every version of the three APIs; what an answer
// tells grows with the version.
func TestTopicLife(t *testing.T) {
	b := newControlledBroker(t, io.Discard, map[string]string{"num.partitions": "3"})
	for _, version := range versionsOf(kmsg.CreateTopics) {
		name := fmt.Sprintf("life-%d", version)
		counts := ":-1:-1"
		if version < 4 {
			counts = ":3:1" // The controller takes -1 of any version, as Kafka's does.
		}
		got := ask[*kmsg.CreateTopicsResponse](b, withConfig(creation(version, name+counts), "retention.ms=1000")).Topics[0]
		if got.ErrorCode != 0 {
			t.Fatalf("v%d: %+v", version, got)
		}
		if version >= 5 && (got.NumPartitions != 3 || got.ReplicationFactor != 1 || len(got.Configs) < 30) {
			t.Errorf("v%d: %d partitions, %d replicas, %d configs", version, got.NumPartitions, got.ReplicationFactor, len(got.Configs))
		}
		if id := ask[*kmsg.MetadataResponse](b, metadataRequest(12, name)).Topics[0].TopicID; version >= 7 && got.TopicID != id {
			t.Errorf("v%d: id %x, Metadata has %x", version, got.TopicID, id)
		}
		again := ask[*kmsg.CreateTopicsResponse](b, creation(version, name+":1:1")).Topics[0]
		if again.ErrorCode != kerr.TopicAlreadyExists.Code || *again.ErrorMessage != "Topic '"+name+"' already exists." {
			t.Errorf("v%d again: %+v", version, again)
		}
	}
	for i, version := range versionsOf(kmsg.CreatePartitions) {
		for _, tc := range []struct {
			count int32
			code  int16
		}{{int32(4 + i), 0}, {2, kerr.InvalidPartitions.Code}} {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.SetVersion(version)
			p := kmsg.NewCreatePartitionsRequestTopic()
			p.Topic, p.Count = "life-7", tc.count
			req.TimeoutMillis, req.Topics = 20_000, append(req.Topics, p)
			if got := ask[*kmsg.CreatePartitionsResponse](b, req).Topics[0]; got.ErrorCode != tc.code || got.Topic != "life-7" {
				t.Errorf("CreatePartitions v%d to %d: %+v", version, tc.count, got)
			}
		}
		if n := len(ask[*kmsg.MetadataResponse](b, metadataRequest(12, "life-7")).Topics[0].Partitions); n != 4+i {
			t.Errorf("%d partitions", n)
		}
	}
	for _, version := range versionsOf(kmsg.DeleteTopics) {
		name := fmt.Sprintf("life-%d", min(version+1, 7))
		got := ask[*kmsg.DeleteTopicsResponse](b, deletion(version, name, "nosuch")).Topics
		if len(got) != 2 || *got[0].Topic != name || got[0].ErrorCode != 0 || got[1].ErrorCode != kerr.UnknownTopicOrPartition.Code ||
			(version >= 5) != (got[1].ErrorMessage != nil) {
			t.Errorf("DeleteTopics v%d: %+v", version, got)
		}
	}
	if got := showTopics(ask[*kmsg.MetadataResponse](b, metadataRequest(12))); got != "" {
		t.Error(got)
	}
}

// TestCreatedConfigsAgree holds the settings that CreateTopics answers against those of DescribeConfigs:
// the same keys, values and sources, and explicit ones marked as such though they equal the default (A04).
func TestCreatedConfigsAgree(t *testing.T) {
	b := newControlledBroker(t, io.Discard, nil)
	for _, version := range []int16{5, 6, 7} {
		name := fmt.Sprintf("t%d", version)
		req := withConfig(creation(version, name+":-1:-1"), "cleanup.policy=delete", "retention.ms=604800000", "segment.bytes=2000000")
		created := ask[*kmsg.CreateTopicsResponse](b, req).Topics[0]
		described := describedTopic(b, 4, name)
		if len(created.Configs) != len(described.Configs) {
			t.Fatalf("v%d: %d keys, described %d", version, len(created.Configs), len(described.Configs))
		}
		explicit := 0
		for i, c := range created.Configs {
			d := described.Configs[i]
			if c.Name != d.Name || *c.Value != *d.Value || c.Source != int8(d.Source) || c.ReadOnly != d.ReadOnly {
				t.Errorf("v%d: created with %+v, described as %+v", version, c, d)
			}
			if c.Source == int8(config.SourceTopic) {
				explicit++
			}
		}
		if explicit != 3 {
			t.Errorf("v%d: %d explicit settings", version, explicit)
		}
	}
	// A value is answered as it was sent.
	req := withConfig(creation(7, "spaces:1:1"), "retention.ms= 1000 ", "cleanup.policy=compact,compact")
	for _, c := range ask[*kmsg.CreateTopicsResponse](b, req).Topics[0].Configs {
		if want := map[string]string{"retention.ms": " 1000 ", "cleanup.policy": "compact,compact"}[c.Name]; want != "" && *c.Value != want {
			t.Errorf("%s is %q, want %q", c.Name, *c.Value, want)
		}
	}
}

// TestDescribeConfigsVersions asks for one and for all keys in every version: types since 3, the key
// asked for alone, synonyms from the strongest to the default (A03, A05).
func TestDescribeConfigsVersions(t *testing.T) {
	b := newControlledBroker(t, io.Discard, map[string]string{"log.retention.hours": "5"})
	ask[*kmsg.CreateTopicsResponse](b, withConfig(creation(7, "t:1:1"), "cleanup.policy=compact"))
	for _, version := range versionsOf(kmsg.DescribeConfigs) {
		all := describedTopic(b, version, "t").Configs
		names := make([]string, 0, len(all))
		for _, c := range all {
			names = append(names, c.Name)
		}
		if len(names) < 30 || !slices.IsSorted(names) {
			t.Errorf("v%d: keys %v", version, names)
		}
		one := describedTopic(b, version, "t", "cleanup.policy").Configs
		if len(one) != 1 || *one[0].Value != "compact" || one[0].Source != kmsg.ConfigSourceDynamicTopicConfig || one[0].IsDefault {
			t.Fatalf("v%d: %+v", version, one)
		}
		var synonyms []string
		for _, s := range one[0].ConfigSynonyms {
			synonyms = append(synonyms, fmt.Sprintf("%s=%s/%d", s.Name, *s.Value, s.Source))
		}
		if got := strings.Join(synonyms, " "); got != "cleanup.policy=compact/1 log.cleanup.policy=delete/5" {
			t.Errorf("v%d: synonyms %s", version, got)
		}
		if kind := one[0].ConfigType; version >= 3 && kind != kmsg.ConfigTypeList || version < 3 && kind != 0 {
			t.Errorf("v%d: type %v", version, kind)
		}
		if r := describedTopic(b, version, "t", "retention.ms").Configs[0]; *r.Value != "18000000" {
			t.Errorf("v%d: retention.ms is %s", version, *r.Value)
		}
	}
}

// TestAlterConfigsVersions changes settings in every version of both APIs, and reads them back.
func TestAlterConfigsVersions(t *testing.T) {
	b := newControlledBroker(t, io.Discard, nil)
	ask[*kmsg.CreateTopicsResponse](b, creation(7, "t:1:1"))
	value := func(key string) string { return *describedTopic(b, 4, "t", key).Configs[0].Value }
	for i, version := range versionsOf(kmsg.IncrementalAlterConfigs) {
		want := strconv.Itoa(1000 + i)
		for _, validateOnly := range []bool{true, false} {
			req := kmsg.NewPtrIncrementalAlterConfigsRequest()
			req.SetVersion(version)
			req.ValidateOnly = validateOnly
			req.Resources = append(req.Resources, alteration(2, "t", "retention.ms="+want, "+cleanup.policy=compact"), alteration(2, "nosuch", "retention.ms=1"))
			got := ask[*kmsg.IncrementalAlterConfigsResponse](b, req).Resources
			if got[0].ErrorCode != 0 || got[1].ErrorCode != kerr.UnknownTopicOrPartition.Code {
				t.Errorf("v%d: %+v", version, got)
			}
			if (value("retention.ms") == want) == validateOnly {
				t.Errorf("v%d, validate only %v: retention.ms is %s", version, validateOnly, value("retention.ms"))
			}
		}
		if got := value("cleanup.policy"); got != "delete,compact" {
			t.Errorf("v%d: %s", version, got)
		}
	}
	for i, version := range versionsOf(kmsg.AlterConfigs) {
		want := strconv.Itoa(2000 + i)
		req := kmsg.NewPtrAlterConfigsRequest()
		req.SetVersion(version)
		req.Resources = []kmsg.AlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "t", Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &want}},
		}}
		if got := ask[*kmsg.AlterConfigsResponse](b, req).Resources[0]; got.ErrorCode != 0 {
			t.Errorf("v%d: %+v", version, got)
		}
		if value("retention.ms") != want || value("cleanup.policy") != "delete" {
			t.Errorf("v%d: retention.ms is %s, cleanup.policy %s", version, value("retention.ms"), value("cleanup.policy"))
		}
	}
	// Settings of the broker count for topics at once.
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, alteration(4, "", "message.max.bytes=777"))
	ask[*kmsg.IncrementalAlterConfigsResponse](b, req)
	if c := describedTopic(b, 4, "t", "max.message.bytes").Configs[0]; *c.Value != "777" || c.Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig {
		t.Errorf("max.message.bytes is %s from %v", *c.Value, c.Source)
	}
}

// TestPartitionsKeepConfigs adds partitions to a compacted topic, whose settings stay (S16).
func TestPartitionsKeepConfigs(t *testing.T) {
	b := newControlledBroker(t, io.Discard, nil)
	ask[*kmsg.CreateTopicsResponse](b, withConfig(creation(7, "connect-configs:1:1"), "cleanup.policy=compact", "segment.ms=5000"))
	before := describedTopic(b, 4, "connect-configs").Configs
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = 20_000
	p := kmsg.NewCreatePartitionsRequestTopic()
	p.Topic, p.Count = "connect-configs", 5
	req.Topics = append(req.Topics, p)
	if got := ask[*kmsg.CreatePartitionsResponse](b, req).Topics[0]; got.ErrorCode != 0 {
		t.Fatalf("%+v", got)
	}
	after := describedTopic(b, 4, "connect-configs").Configs
	if fmt.Sprint(values(before)) != fmt.Sprint(values(after)) || values(after)["cleanup.policy"] != "compact" {
		t.Errorf("settings were %v, are %v", values(before), values(after))
	}
}

func values(list []kmsg.DescribeConfigsResponseResourceConfig) map[string]string {
	out := make(map[string]string, len(list))
	for _, c := range list {
		out[c.Name] = *c.Value
	}
	return out
}

// TestDeleteAndCreateAtOnce deletes a topic and creates it again without a pause (C10): both succeed each
// time, the new topic has another id and none of the old settings.
func TestDeleteAndCreateAtOnce(t *testing.T) {
	b := newControlledBroker(t, io.Discard, nil)
	seen := map[[16]byte]bool{}
	for i := range 50 {
		created := ask[*kmsg.CreateTopicsResponse](b, creation(7, "t:2:1")).Topics[0]
		if created.ErrorCode != 0 || seen[created.TopicID] {
			t.Fatalf("round %d: %+v", i, created)
		}
		seen[created.TopicID] = true
		if got := *describedTopic(b, 4, "t", "cleanup.policy").Configs[0].Value; got != "delete" {
			t.Fatalf("round %d: a new topic has cleanup.policy=%s", i, got)
		}
		alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
		alter.Resources = append(alter.Resources, alteration(2, "t", "cleanup.policy=compact"))
		ask[*kmsg.IncrementalAlterConfigsResponse](b, alter)
		if got := ask[*kmsg.DeleteTopicsResponse](b, deletion(6, "t")).Topics[0]; got.ErrorCode != 0 || got.TopicID != created.TopicID {
			t.Fatalf("round %d: %+v", i, got)
		}
		if got := showTopics(ask[*kmsg.MetadataResponse](b, metadataRequest(12, "t"))); got != "t:3" {
			t.Fatalf("round %d: %s after its deletion", i, got)
		}
	}
}

// TestDeletedTopicStaysAway asks for a deleted topic as monitoring tools do: without leave to create it, it
// stays deleted; with leave it comes back, and the log tells who asked (A01).
func TestDeletedTopicStaysAway(t *testing.T) {
	var log bytes.Buffer
	b := newControlledBroker(t, &log, nil)
	ask[*kmsg.CreateTopicsResponse](b, creation(7, "t:1:1"))
	ask[*kmsg.DeleteTopicsResponse](b, deletion(6, "t"))
	for range 3 {
		req := metadataRequest(12, "t")
		req.AllowAutoTopicCreation = false
		if got := showTopics(ask[*kmsg.MetadataResponse](b, req)); got != "t:3" {
			t.Fatal(got)
		}
	}
	req := metadataRequest(12, "t")
	req.AllowAutoTopicCreation = true
	if got := showTopics(ask[*kmsg.MetadataResponse](b, req)); got != "t:3" {
		t.Fatal(got)
	}
	if got := showTopics(ask[*kmsg.MetadataResponse](b, req)); got != "t:0 0@1/0" {
		t.Fatal(got)
	}
	if got := log.String(); strings.Count(got, "created a topic that a client asked for") != 1 || !strings.Contains(got, "client=127.0.0.1:5000") {
		t.Errorf("log: %s", got)
	}
}

// TestOffsetsTopicIsTheSame creates __consumer_offsets through Metadata: it has the settings that the
// coordinator gives it.
func TestOffsetsTopicIsTheSame(t *testing.T) {
	b := newControlledBroker(t, io.Discard, map[string]string{"offsets.topic.num.partitions": "2", "offsets.topic.segment.bytes": "3000000"})
	req := metadataRequest(12, config.OffsetsTopic)
	req.AllowAutoTopicCreation = true
	ask[*kmsg.MetadataResponse](b, req)
	if got := showTopics(ask[*kmsg.MetadataResponse](b, req)); got != "__consumer_offsets:0 internal 0@1/0 1@1/0" {
		t.Error(got)
	}
	var set []string
	for _, c := range describedTopic(b, 4, config.OffsetsTopic).Configs {
		if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
			set = append(set, c.Name+"="+*c.Value)
		}
	}
	if got := strings.Join(set, " "); got != "cleanup.policy=compact compression.type=producer segment.bytes=3000000" {
		t.Error(got)
	}
}

// TestAnswersOfTheController asks the APIs that the controller answers for a healthy partition, in every
// version.
func TestAnswersOfTheController(t *testing.T) {
	b := newControlledBroker(t, io.Discard, nil)
	ask[*kmsg.CreateTopicsResponse](b, creation(7, "t:1:1"))
	for _, version := range versionsOf(kmsg.ElectLeaders) {
		req := kmsg.NewPtrElectLeadersRequest()
		req.SetVersion(version)
		req.TimeoutMillis = 20_000
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 7}}}
		got := ask[*kmsg.ElectLeadersResponse](b, req)
		if p := got.Topics[0].Partitions; got.ErrorCode != 0 || len(p) != 2 || p[0].ErrorCode != kerr.ElectionNotNeeded.Code || p[1].ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("ElectLeaders v%d: %+v", version, got)
		}
	}
	for _, version := range versionsOf(kmsg.DescribeQuorum) {
		req := kmsg.NewPtrDescribeQuorumRequest()
		req.SetVersion(version)
		req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}}}}
		got := ask[*kmsg.DescribeQuorumResponse](b, req)
		if p := got.Topics[0].Partitions[0]; got.ErrorCode != 0 || p.LeaderID != testNode || len(p.CurrentVoters) != 1 || p.HighWatermark <= 0 {
			t.Errorf("DescribeQuorum v%d: %+v", version, got)
		}
	}
	for _, version := range versionsOf(kmsg.AlterPartitionAssignments) {
		req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		req.SetVersion(version)
		req.TimeoutMillis = 20_000
		req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "none", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: []int32{testNode}}}}}
		got := ask[*kmsg.AlterPartitionAssignmentsResponse](b, req)
		if len(got.Topics) != 1 || got.Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicOrPartition.Code || got.ErrorCode != 0 {
			t.Errorf("AlterPartitionReassignments v%d: %+v", version, got)
		}
	}
	list := kmsg.NewPtrListPartitionReassignmentsRequest()
	list.TimeoutMillis = 20_000
	if got := ask[*kmsg.ListPartitionReassignmentsResponse](b, list); got.ErrorCode != 0 || len(got.Topics) != 0 {
		t.Errorf("%+v", got)
	}
}

// stuckController answers nobody; entered tells of each request that has reached it.
type stuckController struct{ entered chan struct{} }

func (c stuckController) Handle(ctx context.Context, _ kmsg.Request) (kmsg.Response, error) {
	c.entered <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestControllerTimeouts asks a controller that doesn't answer: the client's limit and request.timeout.ms
// end the wait with REQUEST_TIMED_OUT, and so does the end of the connection.
func TestControllerTimeouts(t *testing.T) {
	b := newBroker(t, map[string]string{"request.timeout.ms": "30"})
	stuck := stuckController{make(chan struct{}, 16)}
	d := *b.h.deps
	d.Controller = stuck
	b.h = New(d)
	create := creation(7, "x:1:1", "y:1:1")
	create.TimeoutMillis = 20
	for _, topic := range ask[*kmsg.CreateTopicsResponse](b, create).Topics {
		if topic.ErrorCode != kerr.RequestTimedOut.Code {
			t.Errorf("CreateTopics: %+v", topic)
		}
	}
	if got := ask[*kmsg.DescribeQuorumResponse](b, kmsg.NewPtrDescribeQuorumRequest()).ErrorCode; got != kerr.RequestTimedOut.Code {
		t.Errorf("DescribeQuorum: %d", got)
	}
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.Resources = append(alter.Resources, alteration(2, "t", "retention.ms=1"))
	if got := ask[*kmsg.IncrementalAlterConfigsResponse](b, alter).Resources[0].ErrorCode; got != kerr.RequestTimedOut.Code {
		t.Errorf("IncrementalAlterConfigs: %d", got)
	}
	for len(stuck.entered) > 0 {
		<-stuck.entered
	}
	create.TimeoutMillis = 600_000
	ended := make(chan struct{})
	p := &pending{t: t, req: create, done: make(chan struct{})}
	go func() {
		b.h.ServeRequest(wire.NewRequest(wire.Header{Key: create.Key(), Version: create.Version}, create, b.session, p, time.Now()))
		close(ended)
	}()
	<-stuck.entered
	p.kill()
	<-ended
}
