package config

// Durations as factors to milliseconds.
const (
	minuteMs = 60 * 1000
	hourMs   = 60 * minuteMs
)

// topicSynonyms lists the broker keys that stand in for a topic key, the strongest first
// (ServerTopicConfigSynonyms). A topic key that isn't here has no default on the broker.
func topicSynonyms() map[string][]Synonym {
	one := func(name string) []Synonym { return []Synonym{{Name: name}} }
	return map[string][]Synonym{
		"cleanup.policy":                  one("log.cleanup.policy"),
		"compression.gzip.level":          one("compression.gzip.level"),
		"compression.lz4.level":           one("compression.lz4.level"),
		"compression.type":                one("compression.type"),
		"compression.zstd.level":          one("compression.zstd.level"),
		"delete.retention.ms":             one("log.cleaner.delete.retention.ms"),
		"file.delete.delay.ms":            one("log.segment.delete.delay.ms"),
		"flush.messages":                  one("log.flush.interval.messages"),
		"flush.ms":                        {{Name: "log.flush.interval.ms"}, {Name: "log.flush.scheduler.interval.ms"}},
		"index.interval.bytes":            one("log.index.interval.bytes"),
		"local.retention.bytes":           one("log.local.retention.bytes"),
		"local.retention.ms":              one("log.local.retention.ms"),
		"max.compaction.lag.ms":           one("log.cleaner.max.compaction.lag.ms"),
		"max.decompressed.message.bytes":  one("max.decompressed.message.bytes"),
		"max.message.bytes":               one("message.max.bytes"),
		"message.timestamp.after.max.ms":  one("log.message.timestamp.after.max.ms"),
		"message.timestamp.before.max.ms": one("log.message.timestamp.before.max.ms"),
		"message.timestamp.type":          one("log.message.timestamp.type"),
		"min.cleanable.dirty.ratio":       one("log.cleaner.min.cleanable.ratio"),
		"min.compaction.lag.ms":           one("log.cleaner.min.compaction.lag.ms"),
		"min.insync.replicas":             one("min.insync.replicas"),
		"preallocate":                     one("log.preallocate"),
		"remote.copy.lag.bytes":           one("log.remote.copy.lag.bytes"),
		"remote.copy.lag.ms":              one("log.remote.copy.lag.ms"),
		"retention.bytes":                 one("log.retention.bytes"),
		"retention.ms":                    {{"log.retention.ms", 1}, {"log.retention.minutes", minuteMs}, {"log.retention.hours", hourMs}},
		"segment.bytes":                   one("log.segment.bytes"),
		"segment.index.bytes":             one("log.index.size.max.bytes"),
		"segment.jitter.ms":               {{Name: "log.roll.jitter.ms"}, {"log.roll.jitter.hours", hourMs}},
		"segment.ms":                      {{Name: "log.roll.ms"}, {"log.roll.hours", hourMs}},
		"unclean.leader.election.enable":  one("unclean.leader.election.enable"),
	}
}

// groupSynonyms is the same for groups (GroupConfig.ALL_GROUP_CONFIG_SYNONYMS).
func groupSynonyms() map[string][]Synonym {
	m := make(map[string][]Synonym)
	for _, name := range []string{
		"consumer.assignment.interval.ms", "consumer.assignor.offload.enable", "consumer.heartbeat.interval.ms",
		"consumer.session.timeout.ms",
		"share.assignment.interval.ms", "share.assignor.offload.enable", "share.delivery.count.limit",
		"share.heartbeat.interval.ms", "share.partition.max.record.locks", "share.record.lock.duration.ms",
		"share.session.timeout.ms",
		"streams.acceptable.recovery.lag", "streams.assignment.interval.ms", "streams.assignor.offload.enable",
		"streams.heartbeat.interval.ms", "streams.initial.rebalance.delay.ms", "streams.num.standby.replicas",
		"streams.num.warmup.replicas", "streams.rack.aware.assignment.tags", "streams.session.timeout.ms",
		"streams.task.offset.interval.ms",
	} {
		m[name] = []Synonym{{Name: "group." + name}}
	}
	m["streams.assignor.name"] = []Synonym{{Name: "group.streams.assignors"}}
	return m
}
