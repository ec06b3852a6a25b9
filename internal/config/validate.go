package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
)

func invalidConfig(format string, args ...any) error {
	return kerror.New(kerr.InvalidConfig, format, args...)
}

// parseAll checks names and values of a resource, in order of names. unknown starts the message for a name
// that isn't a key.
func parseAll(set *KeySet, values map[string]string, unknown string) error {
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if set.Lookup(name) == nil {
			return invalidConfig("%s%s", unknown, name)
		}
	}
	for _, name := range names {
		text := values[name]
		if _, err := set.Lookup(name).Parse(&text); err != nil {
			return invalidConfig("%s", err)
		}
	}
	return nil
}

// ValidateTopic checks the overrides of a topic, as they would be, in Kafka's words (LogConfig.validate);
// the error is a kerror with INVALID_CONFIG.
func (b *Broker) ValidateTopic(overrides map[string]string) error {
	if err := parseAll(TopicKeys(), overrides, "Unknown topic config name: "); err != nil {
		return err
	}
	t := b.Topic(overrides)
	if t.MinCompactionLagMs > t.MaxCompactionLagMs {
		return invalidConfig("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)",
			t.MinCompactionLagMs, t.MaxCompactionLagMs)
	}
	if t.RemoteStorageEnable {
		return invalidConfig("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// groupBound is a group key with the broker keys of its bounds; either may be empty.
type groupBound struct{ name, least, most string }

func groupBounds() []groupBound {
	both := func(kind, what string) groupBound {
		return groupBound{kind + "." + what, "group." + kind + ".min." + what, "group." + kind + ".max." + what}
	}
	return []groupBound{
		both("consumer", "heartbeat.interval.ms"), both("consumer", "session.timeout.ms"), both("consumer", "assignment.interval.ms"),
		both("share", "heartbeat.interval.ms"), both("share", "session.timeout.ms"), both("share", "record.lock.duration.ms"),
		both("share", "delivery.count.limit"), both("share", "partition.max.record.locks"), both("share", "assignment.interval.ms"),
		both("streams", "heartbeat.interval.ms"), both("streams", "session.timeout.ms"),
		{"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
		both("streams", "assignment.interval.ms"),
		{"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
		{"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
	}
}

// ValidateGroup checks the settings of a group, as they would be (GroupConfig.validate).
func (b *Broker) ValidateGroup(values map[string]string) error {
	if err := parseAll(GroupKeys(), values, "Unknown group config name: "); err != nil {
		return err
	}
	value := func(name string) Value {
		v, _ := b.resolve(GroupKeys().Lookup(name), values, SourceGroup)
		return v
	}
	if tags, ok := values["streams.rack.aware.assignment.tags"]; ok {
		if list := SplitList(tags); len(distinct(list)) != len(list) {
			return invalidConfig("streams.rack.aware.assignment.tags must not contain duplicate tag keys.")
		}
	}
	for _, bound := range groupBounds() {
		if _, set := values[bound.name]; !set {
			continue
		}
		n := value(bound.name).Int
		low := bound.least != "" && n < b.Int(bound.least)
		high := bound.most != "" && n > b.Int(bound.most)
		switch {
		case (low || high) && bound.least != "" && bound.most != "":
			return invalidConfig("%s must be in the range %d to %d inclusive.", bound.name, b.Int(bound.least), b.Int(bound.most))
		case low:
			return invalidConfig("%s must be greater than or equal to %d", bound.name, b.Int(bound.least))
		case high:
			return invalidConfig("%s must be less than or equal to %d", bound.name, b.Int(bound.most))
		}
	}
	if name, ok := values["streams.assignor.name"]; ok {
		if list := b.List("group.streams.assignors"); !slices.Contains(list, trimJava(name)) {
			return invalidConfig("streams.assignor.name '%s' is not a registered task assignor. Registered assignors are: [%s].",
				trimJava(name), strings.Join(list, ", "))
		}
	}
	for _, kind := range []string{"consumer", "share", "streams"} {
		session, beat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		if value(session).Int <= value(beat).Int {
			return invalidConfig("%s must be greater than %s", session, beat)
		}
	}
	if strings.HasPrefix(value("errors.deadletterqueue.topic.name").Text, "__") {
		return invalidConfig("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	}
	return nil
}

// The bounds of a client metrics subscription's interval.ms.
const (
	minClientMetricsIntervalMs = 100
	maxClientMetricsIntervalMs = 3600000
)

// ValidateClientMetrics checks a client metrics subscription, as it would be (ClientMetricsConfigs.validate).
// A bad name or interval is INVALID_REQUEST, all else INVALID_CONFIG, as in Kafka.
func ValidateClientMetrics(values map[string]string) error {
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if ClientMetricsKeys().Lookup(name) == nil {
			return kerror.New(kerr.InvalidRequest, "Unknown client metrics configuration: %s", name)
		}
	}
	for _, name := range names {
		k, text := ClientMetricsKeys().Lookup(name), values[name]
		v, err := k.Parse(&text)
		if err != nil {
			return invalidConfig("%s", err)
		}
		switch {
		case name == "interval.ms" && (v.Int < minClientMetricsIntervalMs || v.Int > maxClientMetricsIntervalMs):
			return kerror.New(kerr.InvalidRequest, "Invalid value %d for interval.ms, interval must be between %d and %d (1 hour)",
				v.Int, minClientMetricsIntervalMs, maxClientMetricsIntervalMs)
		case name == "match":
			if err := checkMatch(v.List); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMatch checks the selectors name=regular expression of a subscription.
func checkMatch(list []string) error {
	for _, entry := range list {
		name, pattern, ok := strings.Cut(entry, "=")
		name, pattern = trimJava(name), trimJava(pattern)
		known := slices.Contains([]string{
			"client_instance_id", "client_id", "client_software_name", "client_software_version",
			"client_source_address", "client_source_port",
		}, name)
		if !ok || !known || strings.Contains(pattern, "=") {
			return invalidConfig("Illegal client matching pattern: %s", entry)
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return invalidConfig("Illegal client matching pattern: %s", entry)
		}
	}
	return nil
}

// thread counts may be halved or doubled at most by one change.
func threadKeys() []string {
	return []string{
		"num.io.threads", "num.network.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir",
		"background.threads", "log.cleaner.threads",
	}
}

// listenerKeys are the keys that may change for one listener only, under its prefix: the stores of keys and
// certificates (SslConfigs.RECONFIGURABLE_CONFIGS). Other security keys of a broker are taken without one.
func listenerKeys() []string {
	return []string{
		"ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password",
		"ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type",
	}
}

// ValidateBroker checks dynamic settings of this broker, or of all (clusterDefault), as they would be; the
// error is a kerror with INVALID_REQUEST (DynamicBrokerConfig.validate).
func (b *Broker) ValidateBroker(values map[string]string, clusterDefault bool) error {
	fail := func(format string, args ...any) error { return kerror.New(kerr.InvalidRequest, format, args...) }
	var fixed, perBroker, perListener []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		k := BrokerKeys().Lookup(name)
		switch {
		case k == nil:
		case k.UpdateMode == ReadOnly:
			fixed = append(fixed, name)
		case slices.Contains(listenerKeys(), name):
			perListener = append(perListener, name)
		case clusterDefault && k.UpdateMode == PerBroker:
			perBroker = append(perBroker, name)
		}
	}
	list := func(names []string) string { return "[" + strings.Join(names, ", ") + "]" }
	switch {
	case len(fixed) > 0:
		return fail("Cannot update these configs dynamically: %s", list(fixed))
	case len(perListener) > 0:
		return fail("These security configs can be dynamically updated only per-listener using the listener prefix: %s", list(perListener))
	case len(perBroker) > 0:
		return fail("Cannot update these configs at default cluster level, broker id must be specified: %s", list(perBroker))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if k := lookupDynamic(name); k != nil {
			text := values[name]
			if _, err := k.Parse(&text); err != nil {
				return fail("%s", err)
			}
		}
	}
	next := Layers{DynamicBroker: b.DynamicBroker, DynamicDefault: values, Static: b.Static}
	if !clusterDefault {
		next.DynamicBroker, next.DynamicDefault = values, b.DynamicDefault
	}
	if err := b.checkThreads(&next); err != nil {
		return fail("%s", err)
	}
	if err := checkValues(&next); err != nil {
		return fail("requirement failed: %s", err)
	}
	if _, err := endpoints(&next); err != nil {
		return fail("%s", err)
	}
	for _, name := range fixedKeys() {
		if b.Text(name) != next.Text(name) || !slices.Equal(b.List(name), next.List(name)) {
			return fail("%s can't be changed while the broker runs: set it in the broker's properties and restart it.", name)
		}
	}
	return nil
}

func (b *Broker) checkThreads(next *Layers) error {
	for _, name := range threadKeys() {
		old, n := b.Int(name), next.Int(name)
		reason := ""
		switch {
		case n == old:
			continue
		case n > 2*old:
			reason = fmt.Sprintf("value should not be greater than double the current value %d", old)
		case n < old/2:
			reason = fmt.Sprintf("value should be at least half the current value %d", old)
		default:
			continue
		}
		return &ValueError{
			Name: "Invalid dynamic configuration",
			Value: fmt.Sprintf("org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed for %s=%d, %s",
				name, n, reason),
		}
	}
	return nil
}
