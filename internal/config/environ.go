package config

import (
	"slices"
	"strings"
)

// FromEnviron reads settings out of an environment (os.Environ) as the official Kafka container image
// does: KAFKA_LOG_DIRS is log.dirs; two underscores are one, three are a dash. Variables of Kafka's
// scripts and of its JVM are left out.
func FromEnviron(environ []string) map[string]string {
	notSettings := []string{
		"KAFKA_VERSION", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "KAFKA_JMX_OPTS", "KAFKA_JMX_PORT",
		"KAFKA_JMX_HOSTNAME", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS", "KAFKA_LOG4J_ROOT_LOGLEVEL",
		"KAFKA_LOG4J_LOGGERS", "KAFKA_TOOLS_LOG4J_LOGLEVEL", "KAFKA_HOME",
	}
	out := make(map[string]string)
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		rest, isKafka := strings.CutPrefix(name, "KAFKA_")
		if !ok || !isKafka || rest == "" || slices.Contains(notSettings, name) {
			continue
		}
		out[environKey(rest)] = value
	}
	return out
}

// environKey turns LOG_RETENTION_MS into log.retention.ms.
func environKey(s string) string {
	const dash, underscore = "\x00", "\x01"
	s = strings.ReplaceAll(strings.ToLower(s), "___", dash)
	s = strings.ReplaceAll(s, "__", underscore)
	s = strings.ReplaceAll(s, "_", ".")
	return strings.NewReplacer(dash, "-", underscore, "_").Replace(s)
}
