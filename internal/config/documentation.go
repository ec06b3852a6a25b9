package config

import "sync"

// Documentation is one sentence on what a key does, for DescribeConfigs; empty for keys whose name says it all, and for those
// without effect so far. A broker key that is the default of a topic's or group's key shares that key's sentence.
func Documentation(name string) string {
	if text, ok := documentation()[name]; ok {
		return text
	}
	for topicKey, synonyms := range topicSynonyms() {
		for _, s := range synonyms {
			if s.Name == name {
				return documentation()[topicKey]
			}
		}
	}
	return ""
}

var documentation = sync.OnceValue(func() map[string]string {
	return map[string]string{
		// Topics, and their defaults on brokers.
		"cleanup.policy":                          "What becomes of old records: \"delete\" drops them by age and size, \"compact\" keeps the last one of each key; both may be given.",
		"compression.gzip.level":                  "The level when this broker compresses with gzip: 1 (fast) to 9 (small), -1 for the usual one.",
		"compression.lz4.level":                   "The level when this broker compresses with lz4: 1 (fast) to 17 (small).",
		"compression.type":                        "How records are compressed in the log; \"producer\" keeps what the producer chose.",
		"compression.zstd.level":                  "The level when this broker compresses with zstd: negative ones are fast, 22 is small.",
		"delete.retention.ms":                     "How long compaction keeps a deletion (a record without a value), in milliseconds: the time that readers have to notice it.",
		"file.delete.delay.ms":                    "How long the files of a deleted segment stay, in milliseconds.",
		"flush.messages":                          "After how many records a partition is forced to disk, before they are acknowledged.",
		"flush.ms":                                "For how long records may wait, in milliseconds, before they are forced to disk.",
		"follower.replication.throttled.replicas": "Replicas whose fetching from leaders counts against the followers' throttle, as PARTITION:BROKER,..., or * for all.",
		"index.interval.bytes":                    "After how many bytes of records the next entry of a segment's indexes is made.",
		"leader.replication.throttled.replicas":   "Replicas that are served to followers within the leaders' throttle, as PARTITION:BROKER,..., or * for all.",
		"max.compaction.lag.ms":                   "The longest time, in milliseconds, that a record stays uncompacted.",
		"max.decompressed.message.bytes":          "The largest size that a compressed batch may have when it is unpacked.",
		"max.message.bytes":                       "The largest record batch that is taken, in bytes after compression.",
		"message.timestamp.after.max.ms":          "How far a record's time may lie ahead of the broker's clock, in milliseconds.",
		"message.timestamp.before.max.ms":         "How far a record's time may lie behind the broker's clock, in milliseconds.",
		"message.timestamp.type":                  "Whose time a record has: the producer's (CreateTime) or the broker's on arrival (LogAppendTime).",
		"min.cleanable.dirty.ratio":               "The share of a log that must be uncompacted before compaction is worth its work.",
		"min.compaction.lag.ms":                   "The shortest time, in milliseconds, that a record is kept from compaction.",
		"min.insync.replicas":                     "How many replicas must be in sync for a write with acks=all to be taken.",
		"preallocate":                             "Whether a new segment's file gets its full size at once.",
		"retention.bytes":                         "How large a partition may grow before its oldest segments are deleted; -1 sets no limit.",
		"retention.ms":                            "How old records may grow, in milliseconds, before their segment is deleted; -1 sets no limit.",
		"segment.bytes":                           "How large a segment's file grows before the next one is begun.",
		"segment.index.bytes":                     "How large the offset index of a segment may grow.",
		"segment.jitter.ms":                       "The most by which the rolling of a segment is brought forward at random, in milliseconds, so that not all roll at once.",
		"segment.ms":                              "For how long a segment is written to, in milliseconds, before the next one is begun.",
		"unclean.leader.election.enable":          "Whether a replica that may lack acknowledged records can become leader when no other is left. Records can be lost.",

		// The node and its listeners.
		"advertised.listeners":           "The addresses that clients and other nodes are told; by default those of listeners.",
		"broker.rack":                    "Where the broker stands. Replicas are spread over racks, and consumers may read from a replica in theirs.",
		"connections.max.idle.ms":        "After how many milliseconds without a request a connection is closed.",
		"controller.listener.names":      "The listeners that belong to the controller.",
		"inter.broker.listener.name":     "The listener that brokers use among themselves.",
		"listener.security.protocol.map": "The security protocol of each listener, as NAME:PROTOCOL,...",
		"listeners":                      "The addresses that the node listens on, as NAME://HOST:PORT,...",
		"max.connections":                "How many connections the node takes in all.",
		"max.connections.per.ip":         "How many connections the node takes from one address.",
		"node.id":                        "The number of this node, its own within the cluster.",
		"num.network.threads":            "How many event loops read requests.",
		"process.roles":                  "What this process is: broker, controller or both.",
		"queued.max.request.bytes":       "How many bytes of requests may wait or be worked on before connections aren't read any more.",
		"socket.request.max.bytes":       "The largest request that is taken.",

		// The cluster.
		"auto.create.topics.enable":               "Whether a topic that a client asks for is created.",
		"auto.leader.rebalance.enable":            "Whether leadership goes back to preferred replicas by itself.",
		"broker.heartbeat.interval.ms":            "How often a broker tells the controller that it is alive, in milliseconds.",
		"broker.session.timeout.ms":               "After how many milliseconds without a heartbeat a broker is fenced and its leaders move.",
		"controller.quorum.bootstrap.servers":     "Where controllers are found, as HOST:PORT,..., when the quorum's members may change.",
		"controller.quorum.voters":                "The fixed members of the controller quorum, as ID@HOST:PORT,...",
		"default.replication.factor":              "How many replicas a topic gets that is created without saying so.",
		"delete.topic.enable":                     "Whether topics can be deleted.",
		"leader.imbalance.check.interval.seconds": "How often it is looked whether leaders should go back to preferred replicas, in seconds.",
		"num.partitions":                          "How many partitions a topic gets that is created without saying so.",

		// Replication.
		"num.replica.fetchers":      "How many connections fetch from each other broker.",
		"replica.fetch.backoff.ms":  "How long a follower waits after a failed fetch, at most, in milliseconds.",
		"replica.fetch.max.bytes":   "How many bytes a follower asks for of one partition.",
		"replica.fetch.wait.max.ms": "How long a leader may keep a follower's fetch waiting for records, in milliseconds.",
		"replica.lag.time.max.ms":   "For how long a follower may be behind, in milliseconds, before it isn't in sync any more.",
		"replica.selector.class":    "How the replica is chosen that a consumer reads from; without it consumers read from leaders.",

		// Logs.
		"log.cleaner.backoff.ms":            "How long the compaction rests when there is nothing to compact, in milliseconds.",
		"log.cleaner.dedupe.buffer.size":    "How many bytes of memory all compaction threads may use to remember keys.",
		"log.cleaner.threads":               "How many threads compact logs.",
		"log.dir":                           "The directory of the logs, where log.dirs isn't set.",
		"log.dirs":                          "The directories of the logs, with commas between them.",
		"log.retention.check.interval.ms":   "How often it is looked for segments to delete, in milliseconds.",
		"metadata.log.dir":                  "The directory of the cluster's metadata; by default the first of log.dirs.",
		"num.recovery.threads.per.data.dir": "How many threads check the logs of one directory after an unclean stop.",

		// Groups.
		"group.initial.rebalance.delay.ms": "How long a new group waits for further members, in milliseconds, before partitions are assigned.",
		"group.max.session.timeout.ms":     "The longest session timeout that a member may ask for, in milliseconds.",
		"group.max.size":                   "How many members a group may have.",
		"group.min.session.timeout.ms":     "The shortest session timeout that a member may ask for, in milliseconds.",
		"offset.metadata.max.bytes":        "The longest note that may be committed with an offset.",
		"offsets.retention.minutes":        "For how long the offsets of an empty group are kept, in minutes.",
		"offsets.topic.num.partitions":     "How many partitions the topic of committed offsets gets when it is created.",
		"offsets.topic.replication.factor": "How many replicas the topic of committed offsets gets when it is created.",
		"producer.id.expiration.ms":        "After how many milliseconds without records a producer's sequence is forgotten.",
	}
})
