package config

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/kerror"
)

// TestTopicHierarchy takes one setting through its levels: topic override, dynamic broker, dynamic
// default, static, default; and units of the weaker keys.
func TestTopicHierarchy(t *testing.T) {
	load := func(file string) *Broker {
		b, _, err := Load(parseFile(t, file))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	type m = map[string]string
	for _, tc := range []struct {
		name                        string
		b                           *Broker
		overrides                   m
		retentionMs, segmentMs, max int64
	}{
		{"defaults", load(""), nil, 604800000, 604800000, 1048588},
		{"hours", load("log.retention.hours=1\nlog.roll.hours=2"), nil, 3600000, 7200000, 1048588},
		{"minutes beat hours", load("log.retention.hours=1\nlog.retention.minutes=1"), nil, 60000, 604800000, 1048588},
		{"ms beat minutes", load("log.retention.ms=5\nlog.retention.minutes=1"), nil, 5, 604800000, 1048588},
		{"unlimited hours", load("log.retention.hours=-1"), nil, -1, 604800000, 1048588},
		{"dynamic default", load("message.max.bytes=1000").With(nil, m{"message.max.bytes": "2000"}), nil, 604800000, 604800000, 2000},
		{"dynamic broker", load("message.max.bytes=1000").With(m{"message.max.bytes": "3000"}, m{"message.max.bytes": "2000"}), nil, 604800000, 604800000, 3000},
		{"override", load("").With(m{"message.max.bytes": "3000"}, nil), m{"max.message.bytes": "4000", "retention.ms": " -1 "}, -1, 604800000, 4000},
		{"unreadable values are passed over", load("").With(m{"message.max.bytes": "x"}, m{"message.max.bytes": "2000"}), m{"max.message.bytes": "-4", "retention.ms": "y"}, 604800000, 604800000, 2000},
	} {
		got := tc.b.Topic(tc.overrides)
		if got.RetentionMs != tc.retentionMs || got.SegmentMs != tc.segmentMs || int64(got.MaxMessageBytes) != tc.max {
			t.Errorf("%s: retention.ms %d, segment.ms %d, max.message.bytes %d", tc.name, got.RetentionMs, got.SegmentMs, got.MaxMessageBytes)
		}
	}
	topic := load("").Topic(m{"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime", "internal.segment.bytes": "1000"})
	if topic.Delete || !topic.Compact || !topic.LogAppendTime || topic.SegmentBytes != 1000 || topic.CompressionType != "producer" {
		t.Errorf("%+v", topic)
	}
	if topic = load("").Topic(m{"cleanup.policy": ""}); topic.Delete || topic.Compact {
		t.Errorf("an empty cleanup.policy removes: %+v", topic)
	}
}

// TestValidate replays changes of settings; codes and texts are those of IncrementalAlterConfigs of
// Kafka 4.4.0. A setting is key=value; a comma-separated value is written with semicolons.
func TestValidate(t *testing.T) {
	b, _, err := Load(map[string]string{"num.io.threads": "4"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		resource string
		settings string
		code     int16
		message  string
	}{
		{"topic", "retention.ms=1", 0, ""},
		{"topic", "foo=bar", 40, "Unknown topic config name: foo"},
		{"topic", "retention.ms=x", 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{"topic", "min.cleanable.dirty.ratio=2", 40, "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{"topic", "min.compaction.lag.ms=100 max.compaction.lag.ms=10", 40, "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (10)"},
		{"topic", "remote.storage.enable=true", 40, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{"topic", "local.retention.ms=10 retention.ms=5", 0, ""},
		{"topic", "cleanup.policy=", 0, ""},
		{"topic", "message.timestamp.type=x compression.type=y", 40, "Invalid value y for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
		{"broker", "foo=bar", 0, ""},
		{"broker", "num.io.threads=x", 42, "Invalid value x for configuration num.io.threads: Not a number of type INT"},
		{"broker", "num.io.threads=0", 42, "Invalid value 0 for configuration num.io.threads: Value must be at least 1"},
		{"broker", "num.io.threads=100", 42, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for num.io.threads=100, value should not be greater than double the current value 4 for configuration Invalid dynamic configuration"},
		{"default", "num.io.threads=1", 42, "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for num.io.threads=1, value should be at least half the current value 4 for configuration Invalid dynamic configuration"},
		{"broker", "log.dirs=/x", 42, "Cannot update these configs dynamically: [log.dirs]"},
		{"default", "log.retention.minutes=3", 42, "Cannot update these configs dynamically: [log.retention.minutes]"},
		{"default", "listeners=PLAINTEXT://:1", 42, "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
		{"default", "ssl.keystore.location=/x", 42, "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]"},
		{"broker", "ssl.truststore.type=PEM ssl.protocol=TLSv1.3", 42, "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.truststore.type]"},
		{"broker", "sasl.kerberos.min.time.before.relogin=58000", 0, ""},
		{"broker", "ssl.client.auth=none ssl.protocol=TLSv1.3 sasl.enabled.mechanisms=GSSAPI", 0, ""},
		{"default", "sasl.jaas.config=x", 42, "Cannot update these configs at default cluster level, broker id must be specified: [sasl.jaas.config]"},
		{"default", "principal.builder.class=x", 42, "Cannot update these configs at default cluster level, broker id must be specified: [principal.builder.class]"},
		{"broker", "max.connections=5", 0, ""},
		{"default", "log.retention.ms=-2", 0, ""},
		{"default", "log.retention.ms=0", 42, "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
		{"broker", "log.cleaner.dedupe.buffer.size=1", 42, "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."},
		{"broker", "listeners=foo", 42, "Error creating broker listeners from '[foo]': Unable to parse foo to a broker endpoint"},
		{"default", "log.cleanup.policy=x", 42, "Invalid value x for configuration log.cleanup.policy: String must be one of: compact, delete"},
		{"broker", "message.max.bytes=-1", 42, "Invalid value -1 for configuration message.max.bytes: Value must be at least 0"},
		{"broker", "listener.name.plaintext.ssl.keystore.location=/x", 0, ""},
		{"metrics", "foo=1", 42, "Unknown client metrics configuration: foo"},
		{"metrics", "interval.ms=x", 40, "Invalid value x for configuration interval.ms: Not a number of type INT"},
		{"metrics", "interval.ms=1", 42, "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{"metrics", "interval.ms=100", 0, ""},
		{"metrics", "match=foo", 40, "Illegal client matching pattern: foo"},
		{"metrics", "match=x=1", 40, "Illegal client matching pattern: x=1"},
		{"metrics", "match=client_id=[a", 40, "Illegal client matching pattern: client_id=[a"},
		{"metrics", "match=client_id=a.*;client_software_name=b", 0, ""},
		{"group", "foo=1", 40, "Unknown group config name: foo"},
		{"group", "consumer.session.timeout.ms=x", 40, "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT"},
		{"group", "consumer.session.timeout.ms=1", 40, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
		{"group", "consumer.heartbeat.interval.ms=1", 40, "consumer.heartbeat.interval.ms must be in the range 5000 to 15000 inclusive."},
		{"group", "share.record.lock.duration.ms=1000000", 40, "share.record.lock.duration.ms must be in the range 15000 to 60000 inclusive."},
		{"group", "streams.num.standby.replicas=9", 40, "streams.num.standby.replicas must be less than or equal to 2"},
		{"group", "streams.assignor.name=x", 40, "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky]."},
		{"group", "errors.deadletterqueue.topic.name=__x", 40, "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"},
		{"group", "share.delivery.count.limit=1", 40, "Invalid value 1 for configuration share.delivery.count.limit: Value must be at least 2"},
		{"group", "consumer.session.timeout.ms=45001", 0, ""},
	} {
		settings := make(map[string]string)
		for _, s := range strings.Fields(tc.settings) {
			k, v, _ := strings.Cut(s, "=")
			settings[k] = strings.ReplaceAll(v, ";", ",")
		}
		var err error
		switch tc.resource {
		case "topic":
			err = b.ValidateTopic(settings)
		case "broker":
			err = b.ValidateBroker(settings, false)
		case "default":
			err = b.ValidateBroker(settings, true)
		case "metrics":
			err = ValidateClientMetrics(settings)
		case "group":
			err = b.ValidateGroup(settings)
		}
		message := ""
		if m := kerror.MessageOf(err); m != nil {
			message = *m
		}
		if kerror.CodeOf(err) != tc.code || message != tc.message {
			t.Errorf("%s %s:\n got %d %s\nwant %d %s", tc.resource, tc.settings, kerror.CodeOf(err), message, tc.code, tc.message)
		}
	}
}

// TestStore swaps the dynamic settings of a running node.
func TestStore(t *testing.T) {
	b, _, err := Load(map[string]string{"max.connections": "7"})
	if err != nil {
		t.Fatal(err)
	}
	s := NewStore(b)
	s.SetDynamic(map[string]string{"max.connections": "8"}, nil)
	if got := s.Broker(); got.Network.MaxConnections != 8 || b.Network.MaxConnections != 7 || got.NodeID != b.NodeID {
		t.Errorf("%+v", got.Network)
	}
	if got := s.SetDynamic(nil, nil); got.Network.MaxConnections != 7 {
		t.Errorf("%+v", got.Network)
	}
}
