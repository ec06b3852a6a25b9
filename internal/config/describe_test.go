package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// goldenRow is a row of testdata/describe_configs_*.json, recorded from a Kafka 4.4.0 node.
type goldenRow struct {
	Name      string
	Value     *string
	Source    string
	Type      string
	ReadOnly  bool `json:"read_only"`
	Sensitive bool
	IsDefault bool `json:"is_default"`
	Synonyms  []struct {
		Name, Source string
		Value        *string
	}
}

func (g goldenRow) String() string {
	s := fmt.Sprintf("%s=%s %s %s ro=%v sensitive=%v default=%v", g.Name, text(g.Value), g.Source, g.Type, g.ReadOnly, g.Sensitive, g.IsDefault)
	for _, x := range g.Synonyms {
		s += fmt.Sprintf(" [%s=%s %s]", x.Name, text(x.Value), x.Source)
	}
	return s
}

func show(r Row) string {
	s := fmt.Sprintf("%s=%s %s %s ro=%v sensitive=%v default=%v", r.Name, text(r.Value), r.Source, r.Type, r.ReadOnly, r.Sensitive, r.IsDefault())
	for _, x := range r.Synonyms {
		s += fmt.Sprintf(" [%s=%s %s]", x.Name, text(x.Value), x.Source)
	}
	return s
}

func compareRows(t *testing.T, what string, rows []Row, golden string) {
	t.Helper()
	var want []goldenRow
	readJSON(t, golden, &want)
	if len(rows) != len(want) {
		t.Errorf("%s: %d rows, want %d", what, len(rows), len(want))
	}
	got := make(map[string]string)
	for _, r := range rows {
		got[r.Name] = show(r)
	}
	for _, w := range want {
		if got[w.Name] != w.String() {
			t.Errorf("%s:\n got %s\nwant %s", what, got[w.Name], w)
		}
	}
}

// referenceNode is configured as the node was that testdata/describe_configs_*.json come from: its
// static settings are the rows' STATIC_BROKER_CONFIG synonyms.
func referenceNode(t *testing.T) *Broker {
	t.Helper()
	var rows []goldenRow
	readJSON(t, "describe_configs_broker.json", &rows)
	static := make(map[string]string)
	for _, r := range rows {
		for _, s := range r.Synonyms {
			if s.Source == "STATIC_BROKER_CONFIG" && s.Name != "broker.id" {
				static[s.Name] = *s.Value
			}
		}
	}
	b, _, err := Load(static)
	if err != nil {
		t.Fatal(err)
	}
	return b.With(nil, map[string]string{"min.insync.replicas": "1"})
}

// TestDescribeEqualsKafka holds all rows of all resources equal to those of the oracle: values,
// sources, types, flags and synonyms.
func TestDescribeEqualsKafka(t *testing.T) {
	b := referenceNode(t)
	compareRows(t, "broker", b.DescribeBroker(), "describe_configs_broker.json")
	compareRows(t, "default broker", b.DescribeDefaultBroker(), "describe_configs_broker_default.json")
	compareRows(t, "topic", b.DescribeTopic(nil), "describe_configs_topic.json")
	compareRows(t, "group", b.DescribeGroup(nil), "describe_configs_group.json")
	compareRows(t, "client metrics", b.DescribeClientMetrics(nil), "describe_configs_client_metrics.json")
	compareRows(t, "client metrics, set", b.DescribeClientMetrics(map[string]string{"interval.ms": "60000"}),
		"describe_configs_client_metrics_set.json")
}

func find(t *testing.T, rows []Row, name string) string {
	t.Helper()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no row for %s", name)
	}
	return show(rows[i])
}

// TestDescribeHierarchy asks for rows of a node with settings on every level; the answers are those
// that a Kafka 4.4.0 node configured so gave.
func TestDescribeHierarchy(t *testing.T) {
	static := map[string]string{
		"log.retention.minutes": "60", "log.roll.hours": "2", "ssl.keystore.password": "abc", "foo.bar": "baz",
		"listener.name.plaintext.ssl.keystore.location": "/x", "log.flush.scheduler.interval.ms": "1000", "num.io.threads": "8",
	}
	b, warnings, err := Load(static)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(warnings, "unknown configuration key foo.bar is ignored") {
		t.Errorf("warnings = %q", warnings)
	}
	plain := b.DescribeBroker()
	overrides := map[string]string{"cleanup.policy": "compact, delete", "retention.ms": "5"}
	topic := b.DescribeTopic(overrides)
	dynamic := b.With(map[string]string{"log.retention.ms": "6000"},
		map[string]string{"log.retention.ms": "5000", "log.roll.ms": "7000", "num.io.threads": "4"})
	const ro, rw = " ro=true sensitive=false default=false", " ro=false sensitive=false default=false"
	for _, tc := range []struct{ got, want string }{
		{find(t, plain, "foo.bar"), "foo.bar=null STATIC_BROKER_CONFIG UNKNOWN ro=true sensitive=true default=false [foo.bar=null STATIC_BROKER_CONFIG]"},
		{find(t, plain, "listener.name.plaintext.ssl.keystore.location"), "listener.name.plaintext.ssl.keystore.location=/x STATIC_BROKER_CONFIG STRING" + ro +
			" [listener.name.plaintext.ssl.keystore.location=/x STATIC_BROKER_CONFIG]"},
		{find(t, plain, "ssl.keystore.password"), "ssl.keystore.password=null STATIC_BROKER_CONFIG PASSWORD ro=false sensitive=true default=false [ssl.keystore.password=null STATIC_BROKER_CONFIG]"},
		{find(t, plain, "log.flush.interval.ms"), "log.flush.interval.ms=null DEFAULT_CONFIG LONG ro=false sensitive=false default=true"},
		{find(t, plain, "log.retention.minutes"), "log.retention.minutes=60 STATIC_BROKER_CONFIG INT" + ro +
			" [log.retention.minutes=60 STATIC_BROKER_CONFIG] [log.retention.hours=168 DEFAULT_CONFIG]"},
		{find(t, topic, "cleanup.policy"), "cleanup.policy=compact,delete DYNAMIC_TOPIC_CONFIG LIST" + rw +
			" [cleanup.policy=compact,delete DYNAMIC_TOPIC_CONFIG] [log.cleanup.policy=delete DEFAULT_CONFIG]"},
		{find(t, topic, "flush.ms"), "flush.ms=1000 DEFAULT_CONFIG LONG ro=false sensitive=false default=true"},
		{find(t, b.DescribeTopic(map[string]string{"internal.segment.bytes": "1000"}), "internal.segment.bytes"),
			"internal.segment.bytes=1000 DYNAMIC_TOPIC_CONFIG INT" + rw + " [internal.segment.bytes=1000 DYNAMIC_TOPIC_CONFIG]"},
		{find(t, topic, "segment.ms"), "segment.ms=7200000 DEFAULT_CONFIG LONG ro=false sensitive=false default=true"},
		{find(t, topic, "retention.ms"), "retention.ms=5 DYNAMIC_TOPIC_CONFIG LONG" + rw + " [retention.ms=5 DYNAMIC_TOPIC_CONFIG]"},
		{find(t, dynamic.DescribeTopic(overrides), "retention.ms"), "retention.ms=5 DYNAMIC_TOPIC_CONFIG LONG" + rw +
			" [retention.ms=5 DYNAMIC_TOPIC_CONFIG] [log.retention.ms=6000 DYNAMIC_BROKER_CONFIG] [log.retention.ms=5000 DYNAMIC_DEFAULT_BROKER_CONFIG]" +
			" [log.retention.minutes=60 STATIC_BROKER_CONFIG] [log.retention.hours=168 DEFAULT_CONFIG]"},
		{find(t, dynamic.DescribeTopic(nil), "segment.ms"), "segment.ms=7000 DYNAMIC_DEFAULT_BROKER_CONFIG LONG" + rw +
			" [log.roll.ms=7000 DYNAMIC_DEFAULT_BROKER_CONFIG] [log.roll.hours=2 STATIC_BROKER_CONFIG] [log.roll.hours=168 DEFAULT_CONFIG]"},
		{find(t, dynamic.DescribeBroker(), "log.retention.minutes"), "log.retention.minutes=null STATIC_BROKER_CONFIG INT" + ro +
			" [log.retention.minutes=60 STATIC_BROKER_CONFIG] [log.retention.hours=168 DEFAULT_CONFIG]"},
		{find(t, dynamic.DescribeBroker(), "num.io.threads"), "num.io.threads=4 DYNAMIC_DEFAULT_BROKER_CONFIG INT" + rw +
			" [num.io.threads=4 DYNAMIC_DEFAULT_BROKER_CONFIG] [num.io.threads=8 STATIC_BROKER_CONFIG] [num.io.threads=8 DEFAULT_CONFIG]"},
		{find(t, b.DescribeGroup(map[string]string{"consumer.session.timeout.ms": "45001"}), "consumer.session.timeout.ms"),
			"consumer.session.timeout.ms=45001 DYNAMIC_GROUP_CONFIG INT" + rw +
				" [consumer.session.timeout.ms=45001 DYNAMIC_GROUP_CONFIG] [group.consumer.session.timeout.ms=45000 DEFAULT_CONFIG]"},
	} {
		if tc.got != tc.want {
			t.Errorf("\n got %s\nwant %s", tc.got, tc.want)
		}
	}
	if got := strings.Join(slices.Sorted(maps.Keys(overrides)), ","); got != "cleanup.policy,retention.ms" {
		t.Errorf("describing changed the overrides: %s", got)
	}
}
