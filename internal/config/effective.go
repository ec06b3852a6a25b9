package config

import (
	"maps"
	"slices"
)

// effectiveBrokerKeys lists, sorted, the broker keys that this broker acts on. All others are accepted and
// described, and listed in docs/config-status.md; a test holds the two equal.
func effectiveBrokerKeys() []string {
	return []string{
		"advertised.listeners",
		"auto.create.topics.enable",
		"auto.leader.rebalance.enable",
		"broker.heartbeat.interval.ms",
		"broker.id",
		"broker.rack",
		"broker.session.timeout.ms",
		"compression.gzip.level",
		"compression.lz4.level",
		"compression.type",
		"compression.zstd.level",
		"connections.max.idle.ms",
		"controller.listener.names",
		"controller.quorum.auto.join.enable",
		"controller.quorum.bootstrap.servers",
		"controller.quorum.election.timeout.ms",
		"controller.quorum.fetch.timeout.ms",
		"controller.quorum.request.timeout.ms",
		"controller.quorum.retry.backoff.ms",
		"controller.quorum.voters",
		"default.replication.factor",
		"delete.topic.enable",
		"fetch.max.bytes",
		"group.initial.rebalance.delay.ms",
		"group.max.session.timeout.ms",
		"group.max.size",
		"group.min.session.timeout.ms",
		"inter.broker.listener.name",
		"leader.imbalance.check.interval.seconds",
		"listener.security.protocol.map",
		"listeners",
		"log.cleaner.backoff.ms",
		"log.cleaner.dedupe.buffer.size",
		"log.cleaner.delete.retention.ms",
		"log.cleaner.enable",
		"log.cleaner.io.buffer.load.factor",
		"log.cleaner.io.buffer.size",
		"log.cleaner.io.max.bytes.per.second",
		"log.cleaner.max.compaction.lag.ms",
		"log.cleaner.min.cleanable.ratio",
		"log.cleaner.min.compaction.lag.ms",
		"log.cleaner.threads",
		"log.cleanup.policy",
		"log.dir",
		"log.dir.min.free.bytes",
		"log.dirs",
		"log.flush.interval.messages",
		"log.flush.interval.ms",
		"log.flush.offset.checkpoint.interval.ms",
		"log.flush.scheduler.interval.ms",
		"log.flush.start.offset.checkpoint.interval.ms",
		"log.index.interval.bytes",
		"log.index.size.max.bytes",
		"log.initial.task.delay.ms",
		"log.message.timestamp.after.max.ms",
		"log.message.timestamp.before.max.ms",
		"log.message.timestamp.type",
		"log.preallocate",
		"log.retention.bytes",
		"log.retention.check.interval.ms",
		"log.retention.hours",
		"log.retention.minutes",
		"log.retention.ms",
		"log.roll.hours",
		"log.roll.jitter.hours",
		"log.roll.jitter.ms",
		"log.roll.ms",
		"log.segment.bytes",
		"log.segment.delete.delay.ms",
		"max.connections",
		"max.connections.per.ip",
		"max.connections.per.ip.overrides",
		"max.decompressed.message.bytes",
		"max.incremental.fetch.session.cache.slots",
		"max.request.partition.size.limit",
		"message.max.bytes",
		"metadata.log.dir",
		"min.insync.replicas",
		"node.id",
		"num.network.threads",
		"num.partitions",
		"num.recovery.threads.per.data.dir",
		"num.replica.alter.log.dirs.threads",
		"num.replica.fetchers",
		"offset.metadata.max.bytes",
		"offsets.commit.timeout.ms",
		"offsets.load.buffer.size",
		"offsets.retention.check.interval.ms",
		"offsets.retention.minutes",
		"offsets.topic.compression.codec",
		"offsets.topic.num.partitions",
		"offsets.topic.replication.factor",
		"offsets.topic.segment.bytes",
		"process.roles",
		"producer.id.expiration.check.interval.ms",
		"producer.id.expiration.ms",
		"queued.max.request.bytes",
		"replica.fetch.backoff.ms",
		"replica.fetch.max.bytes",
		"replica.fetch.min.bytes",
		"replica.fetch.response.max.bytes",
		"replica.fetch.wait.max.ms",
		"replica.high.watermark.checkpoint.interval.ms",
		"replica.lag.time.max.ms",
		"replica.selector.class",
		"request.timeout.ms",
		"security.inter.broker.protocol",
		"socket.listen.backlog.size",
		"socket.receive.buffer.bytes",
		"socket.request.max.bytes",
		"socket.send.buffer.bytes",
		"ssl.cipher.suites",
		"ssl.client.auth",
		"ssl.enabled.protocols",
		"ssl.endpoint.identification.algorithm",
		"ssl.key.password",
		"ssl.keystore.certificate.chain",
		"ssl.keystore.key",
		"ssl.keystore.location",
		"ssl.keystore.password",
		"ssl.keystore.type",
		"ssl.protocol",
		"ssl.truststore.certificates",
		"ssl.truststore.location",
		"ssl.truststore.password",
		"ssl.truststore.type",
		"unclean.leader.election.enable",
		"unclean.leader.election.interval.ms",
	}
}

// effectiveTopicKeys is the same for topics.
func effectiveTopicKeys() []string {
	return []string{
		"cleanup.policy",
		"compression.gzip.level",
		"compression.lz4.level",
		"compression.type",
		"compression.zstd.level",
		"delete.retention.ms",
		"file.delete.delay.ms",
		"flush.messages",
		"flush.ms",
		"follower.replication.throttled.replicas",
		"index.interval.bytes",
		"internal.segment.bytes",
		"leader.replication.throttled.replicas",
		"max.compaction.lag.ms",
		"max.decompressed.message.bytes",
		"max.message.bytes",
		"message.timestamp.after.max.ms",
		"message.timestamp.before.max.ms",
		"message.timestamp.type",
		"min.cleanable.dirty.ratio",
		"min.compaction.lag.ms",
		"min.insync.replicas",
		"preallocate",
		"retention.bytes",
		"retention.ms",
		"segment.bytes",
		"segment.index.bytes",
		"segment.jitter.ms",
		"segment.ms",
		"unclean.leader.election.enable",
	}
}

// effectiveGroupKeys is the same for groups; all of their keys belong to the newer protocols.
func effectiveGroupKeys() []string {
	return []string{}
}

// restartKeys lists, sorted, the broker keys that Kafka changes while it runs and that this broker reads at
// its start only. fixedKeys are those of them that are refused as dynamic settings, since a broker that
// pretended to have changed them couldn't be reached as its metadata says.
func restartKeys() []string {
	return append(fixedKeys(), "num.network.threads", "num.recovery.threads.per.data.dir")
}

func fixedKeys() []string { return []string{"listener.security.protocol.map", "listeners"} }

// IdleDynamic lists, sorted, the dynamic settings of this broker and of the cluster that change nothing
// while the broker runs.
func (b *Broker) IdleDynamic() []string {
	idle := map[string]bool{}
	for _, layer := range []map[string]string{b.DynamicBroker, b.DynamicDefault} {
		for name := range layer {
			if k := lookupDynamic(name); k == nil || !k.Effective || slices.Contains(restartKeys(), k.Name) {
				idle[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(idle))
}
