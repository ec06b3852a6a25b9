package ottla_test

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestConfigOfNetwork(t *testing.T) {
	t.Parallel()
	// second opens two connections and tells whether the other one is served, closed or left to wait.
	second := func(want string) func(b *configBroker) {
		return func(b *configBroker) {
			b.cl.Close()
			// The client's own connections count until the broker has seen them go.
			var first net.Conn
			b.becomes("a first connection", func() bool {
				first = b.dial()
				return serves(first) == "served"
			})
			other := b.dial()
			got := serves(other)
			if want == "waits" && got == "waits" {
				first.Close()
				other.SetReadDeadline(time.Now().Add(configTimeout))
				_, err := io.ReadFull(other, make([]byte, 4))
				b.is("answer once there is room", err, nil)
			}
			b.is("second connection", got, want)
		}
	}
	runConfigCases(t, []configCase{
		{"no limit", nil, second("served")},
		{"max.connections", settings("max.connections=1"), second("waits")},
		{"listener's max.connections", settings("listener.name.plaintext.max.connections=1"), second("waits")},
		{"max.connections.per.ip", settings("max.connections.per.ip=1"), second("closed")},
		{"max.connections.per.ip.overrides", settings("max.connections.per.ip=9", "max.connections.per.ip.overrides=127.0.0.1:1"), second("closed")},
		{"connections.max.idle.ms", settings("connections.max.idle.ms=300"), func(b *configBroker) {
			c := b.dial()
			b.is("at first", serves(c), "served")
			c.SetReadDeadline(time.Now().Add(configTimeout))
			_, err := c.Read(make([]byte, 1))
			b.is("when idle", err, io.EOF)
		}},
		{"socket.request.max.bytes", settings("socket.request.max.bytes=1000"), func(b *configBroker) {
			c := b.dial()
			c.Write(binary.BigEndian.AppendUint32(nil, 1001))
			b.is("a frame too large", serves(c), "closed")
		}},
		{"fetch.max.bytes", settings("fetch.max.bytes=1024"), func(b *configBroker) {
			b.produces(at(time.Now(), 800), at(time.Now(), 800), at(time.Now(), 800))
			records := b.fetch(0, "t").Topics[0].Partitions[0].RecordBatches
			b.is("a part of the records", len(records) > 0 && len(records) <= 1024, true)
		}},
		{"max.incremental.fetch.session.cache.slots", settings("max.incremental.fetch.session.cache.slots=1"), func(b *configBroker) {
			b.produces(at(time.Now(), 1))
			b.is("a first session", b.fetch(0, "t").SessionID != 0, true)
			b.is("a second one", b.fetch(0, "t").SessionID, 0)
		}},
		{"max.request.partition.size.limit", settings("max.request.partition.size.limit=1"), func(b *configBroker) {
			b.create("t", 2, 1)
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.ResponsePartitionLimit = 2000
			resp := asks[*kmsg.DescribeTopicPartitionsResponse](b, req)
			b.is("partitions in a page", len(resp.Topics[0].Partitions), 1)
			b.is("there are more", resp.NextCursor != nil, true)
		}},
	})
}

func (b *configBroker) dial() net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

// serves asks for ApiVersions and tells what becomes of it within a moment.
func serves(c net.Conn) string {
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	if _, err := c.Write(frame); err != nil {
		return "closed"
	}
	c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return "waits"
		}
		return "closed"
	}
	if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(length[:]))); err != nil {
		return "closed"
	}
	return "served"
}

// fetch reads partition 0 of a topic, in a new session, with limits that don't count.
func (b *configBroker) fetch(offset int64, topic string) *kmsg.FetchResponse {
	b.t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MinBytes, req.MaxBytes, req.SessionEpoch = 1, 50<<20, 0
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, 50<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, b.metadata(topic).Topics[0].TopicID, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return asks[*kmsg.FetchResponse](b, req)
}

func TestConfigOfGroups(t *testing.T) {
	t.Parallel()
	runConfigCases(t, []configCase{
		{"sessions and size", settings("group.min.session.timeout.ms=5000", "group.max.session.timeout.ms=6000", "group.max.size=1"), func(b *configBroker) {
			b.coordinator("g")
			b.is("group.min.session.timeout.ms", b.join("g", 4999).ErrorCode, kerr.InvalidSessionTimeout.Code)
			b.is("group.max.session.timeout.ms", b.join("g", 6001).ErrorCode, kerr.InvalidSessionTimeout.Code)
			b.is("a member", b.join("g", 5500).ErrorCode, 0)
			b.is("group.max.size", b.join("g", 5500).ErrorCode, kerr.GroupMaxSizeReached.Code)
		}},
		{"group.initial.rebalance.delay.ms", settings("group.initial.rebalance.delay.ms=400"), func(b *configBroker) {
			b.coordinator("g")
			began := time.Now()
			b.is("a member", b.join("g", 10_000).ErrorCode, 0)
			b.is("it waited", time.Since(began) >= 400*time.Millisecond, true)
		}},
		{"offsets topic", settings("offsets.topic.num.partitions=1", "offsets.topic.replication.factor=3", "offsets.topic.segment.bytes=2000000",
			"offsets.topic.compression.codec=1", "offset.metadata.max.bytes=10"), func(b *configBroker) {
			b.coordinator("g")
			b.create("t", 1, 1)
			topic := b.metadata("__consumer_offsets").Topics[0]
			b.is("offsets.topic.num.partitions", len(topic.Partitions), 1)
			b.is("replicas, of which a broker holds one", len(topic.Partitions[0].Replicas), 1)
			configs := kmsg.NewPtrDescribeConfigsRequest()
			configs.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "__consumer_offsets"}}
			set := map[string]string{}
			for _, c := range asks[*kmsg.DescribeConfigsResponse](b, configs).Resources[0].Configs {
				if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
					set[c.Name] = *c.Value
				}
			}
			b.is("settings", maps.Equal(set, map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "2000000"}), true)
			b.is("offset.metadata.max.bytes", b.commit(b.cl, "12345678901", -1), kerr.OffsetMetadataTooLarge.Code)
			b.is("commit", b.commit(b.cl, "1234567890", -1), 0)
			b.is("offsets.topic.compression.codec", b.attributes("__consumer_offsets")&7, 1)
		}},
		{"offsets.retention.check.interval.ms", settings("offsets.retention.check.interval.ms=20"), func(b *configBroker) {
			b.coordinator("g")
			b.create("t", 1, 1)
			b.is("commit", b.commit(b.cl, "", -1), 0)
			b.is("offset", b.committed(), 5)
			// Only clients of old may say how long their offsets are kept.
			v := kversion.Stable()
			v.SetMaxKeyVersion(kmsg.OffsetCommit.Int16(), 2)
			b.is("commit", b.commit(b.client(kgo.MaxVersions(v)), "", 1), 0)
			b.becomes("the offset is gone", func() bool { return b.committed() == -1 })
		}},
	})
}

// coordinator waits until a group's coordinator is ready.
func (b *configBroker) coordinator(group string) {
	b.t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	b.becomes("a coordinator", func() bool {
		return asks[*kmsg.FindCoordinatorResponse](b, req).Coordinators[0].ErrorCode == 0
	})
	list := kmsg.NewPtrDescribeGroupsRequest()
	list.Groups = []string{group}
	b.becomes("a coordinator that has loaded", func() bool {
		code := asks[*kmsg.DescribeGroupsResponse](b, list).Groups[0].ErrorCode
		return code != kerr.CoordinatorLoadInProgress.Code && code != kerr.NotCoordinator.Code
	})
}

// join joins as a new member, with the id that the coordinator asks it to take.
func (b *configBroker) join(group string, sessionMs int32) *kmsg.JoinGroupResponse {
	b.t.Helper()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = group, sessionMs, 1000, "consumer"
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
	resp := asks[*kmsg.JoinGroupResponse](b, req)
	if resp.ErrorCode == kerr.MemberIDRequired.Code {
		req.MemberID = resp.MemberID
		resp = asks[*kmsg.JoinGroupResponse](b, req)
	}
	return resp
}

// commit commits offset 5 of t for a group that nobody is in.
func (b *configBroker) commit(cl *kgo.Client, metadata string, retentionMs int64) int16 {
	b.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.RetentionTimeMillis = "solo", -1, retentionMs
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.Metadata = 5, &metadata
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID, t.Partitions = "t", b.metadata("t").Topics[0].TopicID, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return asksBy[*kmsg.OffsetCommitResponse](b, cl, req).Topics[0].Partitions[0].ErrorCode
}

// committed is the offset of t that the same group has.
func (b *configBroker) committed() int64 {
	b.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = "solo", -1
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.TopicID, t.Partitions = "t", b.metadata("t").Topics[0].TopicID, []int32{0}
	g.Topics = append(g.Topics, t)
	req.Groups = append(req.Groups, g)
	out := asks[*kmsg.OffsetFetchResponse](b, req).Groups[0]
	if len(out.Topics) == 0 {
		return -1
	}
	return out.Topics[0].Partitions[0].Offset
}

// alter changes a dynamic setting of all brokers ("") or of one.
func (b *configBroker) alter(broker, key, value string) kmsg.IncrementalAlterConfigsResponseResource {
	b.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeBroker, broker
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Value = key, &value
	res.Configs = append(res.Configs, c)
	req.Resources = append(req.Resources, res)
	return asks[*kmsg.IncrementalAlterConfigsResponse](b, req).Resources[0]
}

// TestConfigOfRunningBroker changes settings of a running broker: they count at once, or are refused.
func TestConfigOfRunningBroker(t *testing.T) {
	t.Parallel()
	b := startConfigured(t, "log.retention.check.interval.ms=20", "producer.id.expiration.check.interval.ms=20")
	set := func(broker, key, value string) {
		t.Helper()
		b.is(key, b.alter(broker, key, value).ErrorCode, 0)
	}
	now := time.Now()
	b.produces(at(now, 1000), at(now, 1))
	set("", "message.max.bytes", "500")
	b.fails("message.max.bytes", at(now, 600), kerr.MessageTooLarge)
	set("1", "message.max.bytes", "1000")
	if err := b.produce(b.cl, at(now, 600)); err != nil {
		t.Errorf("this broker's message.max.bytes: %v", err)
	}
	set("", "log.message.timestamp.after.max.ms", "1000")
	b.fails("log.message.timestamp.after.max.ms", at(now.Add(time.Minute), 1), kerr.InvalidTimestamp)

	b.idempotent()
	b.is("producers", b.producers(), 1)
	set("", "producer.id.expiration.ms", "1")
	b.becomes("the producer is forgotten", func() bool { return b.producers() == 0 })

	set("", "log.retention.ms", "1")
	b.becomes("records are gone", func() bool { return b.offset(-2) == 4 })

	listeners := b.alter("1", "listeners", "PLAINTEXT://127.0.0.1:1")
	b.is("listeners", listeners.ErrorCode, kerr.InvalidRequest.Code)
	b.is("listeners", *listeners.ErrorMessage, "listeners can't be changed while the broker runs: set it in the broker's properties and restart it.")

	c := b.dial()
	b.is("a connection", serves(c), "served")
	set("", "max.connections.per.ip", "1")
	b.is("max.connections.per.ip", serves(b.dial()), "closed")
	set("", "max.connections.per.ip", "1000")
	set("", "max.connections", "1")
	c.SetReadDeadline(time.Now().Add(configTimeout))
	_, err := c.Read(make([]byte, 1))
	b.is("a connection of too many", err != nil && !errors.Is(err, os.ErrDeadlineExceeded), true)
}
