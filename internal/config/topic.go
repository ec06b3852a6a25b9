package config

// Topic is the settings in force of one topic. Sizes are bytes; durations are milliseconds, with -1
// (and -2 where said) as in Kafka.
type Topic struct {
	// Delete and Compact are cleanup.policy; with neither, nothing is ever removed.
	Delete, Compact bool
	// CompressionType is producer, uncompressed, gzip, snappy, lz4 or zstd.
	CompressionType      string
	CompressionGzipLevel int32
	CompressionLZ4Level  int32
	CompressionZstdLevel int32

	DeleteRetentionMs         int64
	FileDeleteDelayMs         int64
	FlushMessages             int64
	FlushMs                   int64
	IndexIntervalBytes        int32
	MaxCompactionLagMs        int64
	MinCompactionLagMs        int64
	MinCleanableDirtyRatio    float64
	MaxMessageBytes           int32
	MaxDecompressedBytes      int32
	TimestampBeforeMaxMs      int64
	TimestampAfterMaxMs       int64
	LogAppendTime             bool
	MinInsyncReplicas         int32
	Preallocate               bool
	RetentionBytes            int64
	RetentionMs               int64
	SegmentBytes              int32
	SegmentIndexBytes         int32
	SegmentJitterMs           int64
	SegmentMs                 int64
	UncleanLeaderElection     bool
	RemoteStorageEnable       bool
	LocalRetentionBytes       int64
	LocalRetentionMs          int64
	LeaderThrottledReplicas   []string
	FollowerThrottledReplicas []string
}

// Topic resolves the settings of a topic with these overrides: topic override, dynamic broker, dynamic
// default, static, default. An override that doesn't parse is passed over. The map is only read.
func (b *Broker) Topic(overrides map[string]string) Topic {
	keys := TopicKeys()
	value := func(name string) Value {
		v, _ := b.resolve(keys.Lookup(name), overrides, SourceTopic)
		return v
	}
	i32 := func(name string) int32 { return int32(value(name).Int) }
	i64 := func(name string) int64 { return value(name).Int }
	t := Topic{
		CompressionType:           value("compression.type").Text,
		CompressionGzipLevel:      i32("compression.gzip.level"),
		CompressionLZ4Level:       i32("compression.lz4.level"),
		CompressionZstdLevel:      i32("compression.zstd.level"),
		DeleteRetentionMs:         i64("delete.retention.ms"),
		FileDeleteDelayMs:         i64("file.delete.delay.ms"),
		FlushMessages:             i64("flush.messages"),
		FlushMs:                   i64("flush.ms"),
		IndexIntervalBytes:        i32("index.interval.bytes"),
		MaxCompactionLagMs:        i64("max.compaction.lag.ms"),
		MinCompactionLagMs:        i64("min.compaction.lag.ms"),
		MinCleanableDirtyRatio:    value("min.cleanable.dirty.ratio").Double,
		MaxMessageBytes:           i32("max.message.bytes"),
		MaxDecompressedBytes:      i32("max.decompressed.message.bytes"),
		TimestampBeforeMaxMs:      i64("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:       i64("message.timestamp.after.max.ms"),
		LogAppendTime:             value("message.timestamp.type").Text == "LogAppendTime",
		MinInsyncReplicas:         i32("min.insync.replicas"),
		Preallocate:               value("preallocate").Bool,
		RetentionBytes:            i64("retention.bytes"),
		RetentionMs:               i64("retention.ms"),
		SegmentBytes:              i32("segment.bytes"),
		SegmentIndexBytes:         i32("segment.index.bytes"),
		SegmentJitterMs:           i64("segment.jitter.ms"),
		SegmentMs:                 i64("segment.ms"),
		UncleanLeaderElection:     value("unclean.leader.election.enable").Bool,
		RemoteStorageEnable:       value("remote.storage.enable").Bool,
		LocalRetentionBytes:       i64("local.retention.bytes"),
		LocalRetentionMs:          i64("local.retention.ms"),
		LeaderThrottledReplicas:   value("leader.replication.throttled.replicas").List,
		FollowerThrottledReplicas: value("follower.replication.throttled.replicas").List,
	}
	for _, policy := range value("cleanup.policy").List {
		t.Delete = t.Delete || policy == "delete"
		t.Compact = t.Compact || policy == "compact"
	}
	if v := value("internal.segment.bytes"); !v.Null {
		t.SegmentBytes = int32(v.Int)
	}
	return t
}
