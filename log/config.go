package commitlog

import (
	"math"
	"time"
)

// NoLimit stands for an absent bound where Kafka writes Long.MAX_VALUE.
const NoLimit = math.MaxInt64

// Config is what a topic's configuration says to its logs; every field is effective, defaults
// included. It is a value: a Log keeps a copy and UpdateConfig replaces it whole.
type Config struct {
	// SegmentBytes is segment.bytes: a segment is rolled before it would outgrow this.
	SegmentBytes int32
	// SegmentAge is segment.ms, SegmentJitter is segment.jitter.ms.
	SegmentAge, SegmentJitter time.Duration
	// SegmentIndexBytes is segment.index.bytes: the bound of one index file.
	SegmentIndexBytes int32
	// IndexIntervalBytes is index.interval.bytes: log bytes between two index entries.
	IndexIntervalBytes int32
	// RetentionMs is retention.ms, -1 for ever. RetentionBytes is retention.bytes, -1 for no bound.
	RetentionMs, RetentionBytes int64
	// Delete and Compact are the two words of cleanup.policy. Without Delete nothing is removed by
	// age or size; what lies below the log start offset is removed either way.
	Delete, Compact bool
	// MinCleanableDirtyRatio is min.cleanable.dirty.ratio: a log is compacted once so much of it is dirty.
	MinCleanableDirtyRatio float64
	// MinCompactionLagMs and MaxCompactionLagMs are min.compaction.lag.ms and max.compaction.lag.ms: no
	// record is compacted earlier than the one, none waits longer than the other; NoLimit is for ever.
	MinCompactionLagMs, MaxCompactionLagMs int64
	// DeleteRetentionMs is delete.retention.ms: how long tombstones outlive their first compaction.
	DeleteRetentionMs int64
	// FileDeleteDelay is file.delete.delay.ms: files are renamed first and removed after this.
	FileDeleteDelay time.Duration
	// FlushMessages is flush.messages: an append that leaves so many records unflushed flushes
	// before it returns. NoLimit is never.
	FlushMessages int64
	// FlushInterval is flush.ms: the longest that a record waits for a flush; zero is never.
	FlushInterval time.Duration
	// Preallocate is preallocate: reserve a segment's blocks when it is created.
	Preallocate bool

	// MaxMessageBytes is max.message.bytes: the largest batch that is accepted.
	MaxMessageBytes int32
	// MaxDecompressedBytes is max.decompressed.message.bytes: the largest record of a compressed batch;
	// zero is Kafka's default.
	MaxDecompressedBytes int32
	// CompressionType is compression.type: producer, uncompressed, gzip, snappy, lz4 or zstd.
	CompressionType string
	// GzipLevel, LZ4Level and ZstdLevel are compression.gzip.level, .lz4.level and .zstd.level.
	GzipLevel, LZ4Level, ZstdLevel int32
	// LogAppendTime is message.timestamp.type=LogAppendTime.
	LogAppendTime bool
	// TimestampBeforeMaxMs and TimestampAfterMaxMs are message.timestamp.before.max.ms and
	// message.timestamp.after.max.ms.
	TimestampBeforeMaxMs, TimestampAfterMaxMs int64
}

// DefaultConfig is a topic's configuration when nothing is set anywhere.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:       1 << 30,
		SegmentAge:         7 * 24 * time.Hour,
		SegmentIndexBytes:  10 << 20,
		IndexIntervalBytes: 4096,
		RetentionMs:        7 * 24 * 3600 * 1000,
		RetentionBytes:     -1,
		Delete:             true,
		FileDeleteDelay:    time.Minute,
		FlushMessages:      NoLimit,

		MinCleanableDirtyRatio: 0.5,
		MaxCompactionLagMs:     NoLimit,
		DeleteRetentionMs:      24 * 3600 * 1000,

		MaxMessageBytes:      1048588,
		CompressionType:      "producer",
		GzipLevel:            -1,
		LZ4Level:             9,
		ZstdLevel:            3,
		TimestampBeforeMaxMs: math.MaxInt64,
		TimestampAfterMaxMs:  3600 * 1000,
	}
}
