package config

// groupKeyTable is the keys of GroupConfig in Kafka 4.4.0, by name; their synonyms are in synonyms.go.
func groupKeyTable() []Key {
	return buildKeys([]keyRow{
		{"consumer.assignment.interval.ms", TypeInt, "1000", atLeast(0), Medium, ClusterWide, 0},
		{"consumer.assignor.offload.enable", TypeBoolean, "true", nil, Medium, ClusterWide, internal},
		{"consumer.heartbeat.interval.ms", TypeInt, "5000", atLeast(1), Medium, ClusterWide, 0},
		{"consumer.session.timeout.ms", TypeInt, "45000", atLeast(1), Medium, ClusterWide, 0},
		{"errors.deadletterqueue.copy.record.enable", TypeBoolean, "false", nil, Medium, ClusterWide, 0},
		{"errors.deadletterqueue.topic.name", TypeString, "", nil, Medium, ClusterWide, 0},
		{"share.assignment.interval.ms", TypeInt, "1000", atLeast(0), Medium, ClusterWide, 0},
		{"share.assignor.offload.enable", TypeBoolean, "true", nil, Medium, ClusterWide, internal},
		{"share.auto.offset.reset", TypeString, "latest", offsetReset{}, Medium, ClusterWide, 0},
		{"share.delivery.count.limit", TypeInt, "5", atLeast(2), Medium, ClusterWide, 0},
		{"share.heartbeat.interval.ms", TypeInt, "5000", atLeast(1), Medium, ClusterWide, 0},
		{"share.isolation.level", TypeString, "read_uncommitted", oneOf("read_committed", "read_uncommitted"), Medium, ClusterWide, 0},
		{"share.partition.max.record.locks", TypeInt, "2000", atLeast(100), Medium, ClusterWide, 0},
		{"share.record.lock.duration.ms", TypeInt, "30000", atLeast(1000), Medium, ClusterWide, 0},
		{"share.renew.acknowledge.enable", TypeBoolean, "true", nil, Medium, ClusterWide, 0},
		{"share.session.timeout.ms", TypeInt, "45000", atLeast(1), Medium, ClusterWide, 0},
		{"streams.acceptable.recovery.lag", TypeLong, "10000", atLeast(0), Medium, ClusterWide, internal},
		{"streams.assignment.interval.ms", TypeInt, "1000", atLeast(0), Medium, ClusterWide, 0},
		{"streams.assignor.name", TypeString, "", nil, Medium, ClusterWide, nullDefault},
		{"streams.assignor.offload.enable", TypeBoolean, "true", nil, Medium, ClusterWide, internal},
		{"streams.heartbeat.interval.ms", TypeInt, "5000", atLeast(1), Medium, ClusterWide, 0},
		{"streams.initial.rebalance.delay.ms", TypeInt, "3000", atLeast(0), Medium, ClusterWide, 0},
		{"streams.num.standby.replicas", TypeInt, "0", atLeast(0), Medium, ClusterWide, 0},
		{"streams.num.warmup.replicas", TypeInt, "2", atLeast(0), Medium, ClusterWide, internal},
		{"streams.rack.aware.assignment.tags", TypeList, "", listOf{}, Low, ClusterWide, 0},
		{"streams.session.timeout.ms", TypeInt, "45000", atLeast(1), Medium, ClusterWide, 0},
		{"streams.task.offset.interval.ms", TypeInt, "60000", atLeast(1), Medium, ClusterWide, internal},
	})
}
