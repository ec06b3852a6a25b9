package server

import (
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/coordinator/group"
	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/shard"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/uuid"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/replica"
)

func milliseconds(ms int64) time.Duration {
	if ms > int64(commitlog.NoLimit/time.Millisecond) {
		return commitlog.NoLimit
	}
	return time.Duration(ms) * time.Millisecond
}

// topicSettings resolves a topic's settings for its replicas.
func (s *Server) topicSettings(img *image.Image, topic string) replica.Settings {
	t := s.settings.Broker().Topic(img.Configs(image.ResourceTopic, topic))
	return replica.Settings{Log: logConfig(t), MinInsyncReplicas: t.MinInsyncReplicas,
		LeaderThrottled: t.LeaderThrottledReplicas, FollowerThrottled: t.FollowerThrottledReplicas}
}

func logConfig(t config.Topic) commitlog.Config {
	c := commitlog.Config{
		SegmentBytes:         t.SegmentBytes,
		SegmentAge:           milliseconds(t.SegmentMs),
		SegmentJitter:        milliseconds(t.SegmentJitterMs),
		SegmentIndexBytes:    t.SegmentIndexBytes,
		IndexIntervalBytes:   t.IndexIntervalBytes,
		RetentionMs:          t.RetentionMs,
		RetentionBytes:       t.RetentionBytes,
		Delete:               t.Delete,
		Compact:              t.Compact,
		MinCompactionLagMs:   t.MinCompactionLagMs,
		MaxCompactionLagMs:   t.MaxCompactionLagMs,
		DeleteRetentionMs:    t.DeleteRetentionMs,
		FileDeleteDelay:      milliseconds(t.FileDeleteDelayMs),
		FlushMessages:        t.FlushMessages,
		Preallocate:          t.Preallocate,
		MaxMessageBytes:      t.MaxMessageBytes,
		MaxDecompressedBytes: t.MaxDecompressedBytes,
		CompressionType:      t.CompressionType,
		GzipLevel:            t.CompressionGzipLevel,
		LZ4Level:             t.CompressionLZ4Level,
		ZstdLevel:            t.CompressionZstdLevel,
		LogAppendTime:        t.LogAppendTime,
		TimestampBeforeMaxMs: t.TimestampBeforeMaxMs,
		TimestampAfterMaxMs:  t.TimestampAfterMaxMs,

		MinCleanableDirtyRatio: t.MinCleanableDirtyRatio,
	}
	if t.FlushMs != commitlog.NoLimit {
		c.FlushInterval = milliseconds(t.FlushMs)
	}
	return c
}

// followSettings makes dynamic settings of this broker and of the cluster count; it is the first
// subscriber of the image, so that the others find the new ones.
func (s *Server) followSettings(_, img *image.Image, delta *image.Delta) {
	for _, c := range delta.Configs {
		if c.Resource.Type == image.ResourceBroker {
			node := strconv.Itoa(int(s.settings.Broker().NodeID))
			b := s.settings.SetDynamic(img.Configs(image.ResourceBroker, node), img.Configs(image.ResourceBroker, ""))
			s.encryption.reload(b)
			s.wire.SetConnectionLimits(connectionLimits(&b.Network))
			s.logs.SetProducerIDExpiration(milliseconds(b.Logs.ProducerIDExpirationMs))
			s.logs.SetMinFreeBytes(b.Logs.MinFreeBytes)
			s.logs.SetCleaner(cleanerConfig(b))
			s.replicas.SetFetchers(int(b.Replication.Fetchers))
			s.replicas.SetThrottles(b.Replication.LeaderThrottledRate, b.Replication.FollowerThrottledRate)
			s.replicas.SetMoveRate(b.AlterLogDirsBytesPerSecond())
			if idle := b.IdleDynamic(); len(idle) > 0 {
				s.logger.Warn("dynamic settings without effect while the broker runs", "keys", strings.Join(idle, ", "))
			}
			return
		}
	}
}

// defaultFlushCheck is how often logs are looked at for flush.ms where log.flush.scheduler.interval.ms
// isn't set. Kafka never looks then, so that flush.ms alone changes nothing there.
const defaultFlushCheck = time.Second

// logManagerConfig is what the node's settings say to its log directories.
func (s *Server) logManagerConfig(b *config.Broker) commitlog.ManagerConfig {
	flushCheck := defaultFlushCheck
	if ms := b.Logs.FlushSchedulerIntervalMs; ms != commitlog.NoLimit {
		flushCheck = milliseconds(ms)
	}
	return commitlog.ManagerConfig{
		Dirs:                              b.LogDirs,
		NodeID:                            b.NodeID,
		TopicConfig:                       func(topic string) commitlog.Config { return s.topicSettings(image.Empty(), topic).Log },
		RecoveryThreadsPerDir:             int(b.Logs.RecoveryThreadsPerDataDir),
		InitialTaskDelay:                  max(milliseconds(b.Logs.InitialTaskDelayMs), time.Millisecond),
		RetentionCheckInterval:            milliseconds(b.Logs.RetentionCheckIntervalMs),
		FlushCheckInterval:                flushCheck,
		RecoveryPointInterval:             milliseconds(b.Logs.FlushOffsetCheckpointIntervalMs),
		StartOffsetInterval:               milliseconds(b.Logs.FlushStartOffsetCheckpointMs),
		HighWatermarkInterval:             milliseconds(b.Logs.HighWatermarkCheckpointIntervalMs),
		ProducerIDExpiration:              milliseconds(b.Logs.ProducerIDExpirationMs),
		ProducerIDExpirationCheckInterval: milliseconds(b.Logs.ProducerIDExpirationCheckIntervalMs),
		MinFreeBytes:                      b.Logs.MinFreeBytes,
		Reserve:                           commitlog.DefaultReserve(),
		Cleaner:                           cleanerConfig(b),
		IdleFiles:                         idleFiles(s.maxOpenFiles()),
		UnflushedFiles:                    s.maxOpenFiles() / 2,
		NewUUID:                           s.newUUID,
		Jitter:                            func(n int64) int64 { return int64(s.random.Uint64() % uint64(n)) },
		OnDirFailure:                      func(path string, _ [16]byte, err error) { s.dirFailed(path, err) },
		OnRoom:                            func() { s.replicas.RetryLogs() },
	}
}

// maxOpenFiles is how many files and sockets the process may have open, 0 if that isn't known.
func (s *Server) maxOpenFiles() int {
	if fs, ok := s.env.FS.(interface{ MaxOpenFiles() int }); ok {
		return fs.MaxOpenFiles()
	}
	return 0
}

// idleFiles is how many files that nobody uses stay open: enough for the segments that are read now and then, and
// no more than an eighth of what the process may have.
func idleFiles(limit int) int {
	const most, least = 1000, 64
	if limit <= 0 {
		return most
	}
	return max(min(limit/8, most), least)
}

// cleanerConfig is how logs are compacted.
func cleanerConfig(b *config.Broker) commitlog.CleanerConfig {
	c := commitlog.CleanerConfig{
		Threads:            int(b.Logs.CleanerThreads),
		DedupeBufferBytes:  b.Logs.CleanerDedupeBufferBytes,
		IOBufferBytes:      int(b.Logs.CleanerIOBufferBytes),
		IOBufferLoadFactor: b.Logs.CleanerIOBufferLoadFactor,
		MaxBytesPerSecond:  b.Logs.CleanerMaxBytesPerSecond,
		Backoff:            milliseconds(b.Logs.CleanerBackoffMs),
	}
	if !b.Logs.CleanerEnable {
		c.Threads = 0
	}
	return c
}

// Bounds of the coordinators that Kafka has no keys for.
const (
	shardMailbox         = 4096
	shardMaxBatchBytes   = 512 << 10
	shardMaxDecompressed = 256 << 20
	shardConcurrentLoads = 4
)

func (s *Server) groupConfig(b *config.Broker) group.Config {
	return group.Config{
		Classic: classic.Config{
			MinSessionTimeout:     milliseconds(int64(b.Groups.MinSessionTimeoutMs)),
			MaxSessionTimeout:     milliseconds(int64(b.Groups.MaxSessionTimeoutMs)),
			MaxSize:               int(b.Groups.MaxSize),
			InitialRebalanceDelay: milliseconds(int64(b.Groups.InitialRebalanceDelayMs)),
			NewMemberID:           func(prefix string) string { return prefix + "-" + uuid.FormatDashed(s.newUUID()) },
		},
		OffsetMetadataMaxBytes:        int(b.Offsets.MetadataMaxBytes),
		OffsetsRetention:              milliseconds(b.Offsets.RetentionMs),
		OffsetsRetentionCheckInterval: milliseconds(b.Offsets.RetentionCheckIntervalMs),
	}
}

func (s *Server) shardConfig(b *config.Broker, topic string) shard.Config {
	return shard.Config{
		Topic:                topic,
		Clock:                s.env.Clock,
		Logger:               s.logger,
		Codecs:               s.codecs,
		Codec:                batch.Codec(b.Offsets.TopicCompression),
		WriteTimeout:         milliseconds(int64(b.Offsets.CommitTimeoutMs)),
		MailboxSize:          shardMailbox,
		MaxBatchBytes:        shardMaxBatchBytes,
		LoadBufferBytes:      int(b.Offsets.LoadBufferBytes),
		MaxDecompressedBytes: shardMaxDecompressed,
		ConcurrentLoads:      shardConcurrentLoads,
	}
}
