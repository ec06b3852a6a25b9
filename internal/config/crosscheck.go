package config

import (
	"fmt"
	"slices"
	"strings"
)

// checkValues is KafkaConfig.validateValues for all but listeners, in Kafka's words and order.
func checkValues(l *Layers) error {
	fail := func(key, format string, args ...any) error {
		return &ValueError{Name: key, Plain: fmt.Sprintf(format, args...)}
	}
	if l.IsSet("node.id") && l.IsSet("broker.id") && l.Int("broker.id") >= 0 && l.Int("node.id") != l.Int("broker.id") {
		return fail("broker.id", "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead.")
	}
	if _, ms := firstSet(l, "segment.ms"); ms < 1 {
		return fail("log.roll.ms", "log.roll.ms must be greater than or equal to 1")
	}
	if key, ms := firstSet(l, "retention.ms"); ms != -1 && ms < 1 {
		return fail(key, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
	}
	if l.Int("log.cleaner.dedupe.buffer.size")/max(l.Int("log.cleaner.threads"), 1) <= 1<<20 {
		return fail("log.cleaner.dedupe.buffer.size", "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
	}
	if l.Int("replica.fetch.wait.max.ms") > l.Int("replica.socket.timeout.ms") {
		return fail("replica.socket.timeout.ms", "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket timeouts")
	}
	if l.Int("replica.fetch.wait.max.ms") > l.Int("replica.lag.time.max.ms") {
		return fail("replica.lag.time.max.ms", "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent changes in ISR")
	}
	if n := l.Int("queued.max.request.bytes"); n > 0 && n < l.Int("socket.request.max.bytes") {
		return fail("queued.max.request.bytes", "queued.max.request.bytes must be larger or equal to socket.request.max.bytes")
	}
	if l.Int("max.connections.per.ip") == 0 && l.Text("max.connections.per.ip.overrides") == "" {
		return fail("max.connections.per.ip", "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")
	}
	for _, entry := range SplitList(l.Text("max.connections.per.ip.overrides")) {
		if host, count, ok := cutLast(entry, ':'); !ok || host == "" || !digits(trimJava(count)) {
			return fail("max.connections.per.ip.overrides", "Error parsing configuration property 'max.connections.per.ip.overrides': %s is not of the form host:count", entry)
		}
	}
	if codec := l.Int("offsets.topic.compression.codec"); codec < 0 || codec > 4 {
		return fail("offsets.topic.compression.codec", "Unknown compression type id: %d", codec)
	}
	if delay, idle := l.Int("connection.failed.authentication.delay.ms"), l.Int("connections.max.idle.ms"); idle >= 0 && delay >= idle {
		return fail("connections.max.idle.ms", "connection.failed.authentication.delay.ms=%d should always be less than connections.max.idle.ms=%d to prevent failed authentication responses from timing out", delay, idle)
	}
	if err := checkCordoned(l, fail); err != nil {
		return err
	}
	return checkGroupBounds(l, fail)
}

// firstSet is the duration in force of a topic key that has several broker keys, with the key that gives it.
func firstSet(l *Layers, topicKey string) (key string, ms int64) {
	k := TopicKeys().Lookup(topicKey)
	for _, s := range k.Synonyms {
		if set := l.explicit(s.Name); len(set) > 0 {
			if v, ok := s.convert(k, set[0].text); ok {
				return s.Name, v.Int
			}
			return s.Name, l.Int(s.Name)
		}
	}
	return k.Synonyms[0].Name, k.defaultValue().Int
}

func checkCordoned(l *Layers, fail func(key, format string, args ...any) error) error {
	const key = "cordoned.log.dirs"
	cordoned, dirs := l.List(key), logDirs(l)
	if slices.Contains(cordoned, "*") {
		if len(cordoned) > 1 {
			return fail(key, "When cordoned.log.dirs is set to *, it must not contain other values")
		}
		return nil
	}
	var missing []string
	for _, dir := range cordoned {
		if !slices.Contains(dirs, dir) {
			missing = append(missing, dir)
		}
	}
	if len(missing) > 0 {
		return fail(key, "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : %s", strings.Join(missing, ","))
	}
	return nil
}

// checkGroupBounds holds the defaults of groups within their own minimum and maximum.
func checkGroupBounds(l *Layers, fail func(key, format string, args ...any) error) error {
	for _, kind := range []string{"consumer", "share", "streams"} {
		prefix := "group." + kind + "."
		for _, what := range []string{"heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms"} {
			if err := checkBounds(l, fail, prefix, what); err != nil {
				return err
			}
		}
		if session, beat := prefix+"session.timeout.ms", prefix+"heartbeat.interval.ms"; l.Int(beat) >= l.Int(session) {
			return fail(beat, "%s must be less than %s", beat, session)
		}
	}
	for _, what := range []string{"record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"} {
		if err := checkBounds(l, fail, "group.share.", what); err != nil {
			return err
		}
	}
	return nil
}

func checkBounds(l *Layers, fail func(key, format string, args ...any) error, prefix, what string) error {
	key, least, most := prefix+what, prefix+"min."+what, prefix+"max."+what
	switch {
	case l.Int(most) < l.Int(least):
		return fail(most, "%s must be greater than or equal to %s", most, least)
	case l.Int(key) < l.Int(least):
		return fail(key, "%s must be greater than or equal to %s", key, least)
	case l.Int(key) > l.Int(most):
		return fail(key, "%s must be less than or equal to %s", key, most)
	}
	return nil
}
