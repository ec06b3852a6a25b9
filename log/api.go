package commitlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
)

type Slice struct{}

func (s *Slice) Fd() (fd uintptr, ok bool)                    { panic("unimplemented") }
func (s *Slice) ReadAt(p []byte, position int64) (int, error) { panic("unimplemented") }
func (s *Slice) Position() int64                              { panic("unimplemented") }
func (s *Slice) Len() int                                     { panic("unimplemented") }
func (s *Slice) Release()                                     { panic("unimplemented") }

// Log is one partition's log.
type Log struct{}

func (l *Log) Topic() string     { panic("unimplemented") }
func (l *Log) Partition() int32  { panic("unimplemented") }
func (l *Log) TopicID() [16]byte { panic("unimplemented") }

// DirectoryID is the uuid of the log dir that holds the log.
func (l *Log) DirectoryID() [16]byte { panic("unimplemented") }

// Append borrows and patches records.
func (l *Log) Append(records []byte, opts AppendOptions) (AppendInfo, error) { panic("unimplemented") }
func (l *Log) Read(opts ReadOptions) (ReadInfo, error)                       { panic("unimplemented") }

func (l *Log) LogStartOffset() int64   { panic("unimplemented") }
func (l *Log) LogEndOffset() int64     { panic("unimplemented") }
func (l *Log) HighWatermark() int64    { panic("unimplemented") }
func (l *Log) LastStableOffset() int64 { panic("unimplemented") }

// SetHighWatermark clamps to [logStartOffset, logEndOffset] and returns the new high watermark.
func (l *Log) SetHighWatermark(offset int64) int64 { panic("unimplemented") }
func (l *Log) RecoveryPoint() int64                { panic("unimplemented") }
func (l *Log) SizeBytes() int64                    { panic("unimplemented") }
func (l *Log) Config() Config                      { panic("unimplemented") }
func (l *Log) UpdateConfig(c Config)               { panic("unimplemented") }

func (l *Log) OffsetForTimestamp(timestampMs int64) (TimestampOffset, bool, error) {
	panic("unimplemented")
}
func (l *Log) MaxTimestamp() (TimestampOffset, bool, error) { panic("unimplemented") }

// EpochForOffset is the leader epoch of the offset, -1 if unknown.
func (l *Log) EpochForOffset(offset int64) int32   { panic("unimplemented") }
func (l *Log) EpochEndOffset(epoch int32) EpochEnd { panic("unimplemented") }

// LatestEpoch is -1 if there is none.
func (l *Log) LatestEpoch() int32                               { panic("unimplemented") }
func (l *Log) AssignEpoch(epoch int32, startOffset int64) error { panic("unimplemented") }

// DeleteRecords moves logStartOffset up to offset; OFFSET_OUT_OF_RANGE beyond the high watermark.
func (l *Log) DeleteRecords(offset int64) (logStartOffset int64, err error) { panic("unimplemented") }
func (l *Log) TruncateTo(offset int64) error                                { panic("unimplemented") }
func (l *Log) TruncateFullyAndStartAt(offset int64) error                   { panic("unimplemented") }
func (l *Log) Flush() error                                                 { panic("unimplemented") }
func (l *Log) ActiveProducers() []ActiveProducer                            { panic("unimplemented") }

// ManagerConfig is what the Manager is built from.
type ManagerConfig struct {
	// Dirs is log.dirs.
	Dirs []string
	// NodeID is node.id.
	NodeID int32
	// ClusterID, if not empty, must be that of every meta.properties. If empty, whatever they have
	// is accepted, and new directories get theirs by SetClusterID.
	ClusterID string
	// TopicConfig gives the configuration of a topic whose logs are found at start; the Default
	// configuration if nil. Later changes come by Log.UpdateConfig.
	TopicConfig func(topic string) Config
	// RecoveryThreadsPerDir is num.recovery.threads.per.data.dir.
	RecoveryThreadsPerDir int
	// RetentionCheckInterval is log.retention.check.interval.ms.
	RetentionCheckInterval time.Duration
	// FlushCheckInterval is log.flush.scheduler.interval.ms; zero is never.
	FlushCheckInterval time.Duration
	// RecoveryPointInterval is log.flush.offset.checkpoint.interval.ms.
	RecoveryPointInterval time.Duration
	// StartOffsetInterval is log.flush.start.offset.checkpoint.interval.ms.
	StartOffsetInterval time.Duration
	// HighWatermarkInterval is replica.high.watermark.checkpoint.interval.ms.
	HighWatermarkInterval time.Duration
	// ProducerIDExpiration is producer.id.expiration.ms.
	ProducerIDExpiration time.Duration
	// ProducerIDExpirationCheckInterval is producer.id.expiration.check.interval.ms.
	ProducerIDExpirationCheckInterval time.Duration
	// NewUUID makes the directory ids.
	NewUUID func() [16]byte
	// Jitter returns a number in [0, n) for segment.jitter.ms; no jitter if nil.
	Jitter func(n int64) int64
	// OnDirFailure is called once for each directory that goes offline, on a goroutine that holds
	// no lock; it must not block.
	OnDirFailure func(path string, id [16]byte, err error)
}

// Manager owns the log dirs and all logs in them.
type Manager struct{}

func Open(ctx context.Context, fs vfs.FS, clk clock.Clock, logger *slog.Logger, cfg ManagerConfig) (*Manager, error) {
	panic("unimplemented")
}

// ClusterID is that of the meta.properties files, "" if none has been written yet.
func (m *Manager) ClusterID() string            { panic("unimplemented") }
func (m *Manager) SetClusterID(id string) error { panic("unimplemented") }

// CleanShutdownEpoch is the broker epoch that every directory's clean shutdown marker told at
// start, -1 if the last stop wasn't clean.
func (m *Manager) CleanShutdownEpoch() int64 { panic("unimplemented") }

// SetBrokerEpoch sets what the next clean shutdown marker says.
func (m *Manager) SetBrokerEpoch(epoch int64) { panic("unimplemented") }

// Create returns the existing log if there is one with the same topic id.
func (m *Manager) Create(topic string, partition int32, topicID [16]byte, cfg Config) (*Log, error) {
	panic("unimplemented")
}
func (m *Manager) Get(topic string, partition int32) (*Log, bool) { panic("unimplemented") }

// Logs is every log, sorted by topic and partition.
func (m *Manager) Logs() []*Log { panic("unimplemented") }

// Delete renames the log away at once and removes its files later.
func (m *Manager) Delete(topic string, partition int32) error { panic("unimplemented") }

// SetAsideStray renames a log that belongs to no topic of the cluster to …-stray.
func (m *Manager) SetAsideStray(topic string, partition int32) error { panic("unimplemented") }
func (m *Manager) Dirs() []DirInfo                                   { panic("unimplemented") }

// Close stops everything, flushes, and writes the clean shutdown markers.
func (m *Manager) Close() error { panic("unimplemented") }

// DirInfo is one log dir for DescribeLogDirs.
type DirInfo struct {
	Path string
	ID   [16]byte
	// Err is why the directory is offline, nil if it is not.
	Err error
	// TotalBytes and UsableBytes are the volume's, -1 if unknown.
	TotalBytes, UsableBytes int64
	Logs                    []*Log
}
