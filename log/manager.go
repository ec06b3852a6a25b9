package commitlog

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/files"
	"github.com/twmb/franz-go/pkg/kerr"
)

// ManagerConfig is what a Manager is built from.
type ManagerConfig struct {
	// Dirs is log.dirs.
	Dirs []string
	// NodeID is node.id.
	NodeID int32
	// ClusterID, if not empty, must be that of every meta.properties. If empty, whatever they have
	// is accepted, and new directories get theirs by SetClusterID.
	ClusterID string
	// TopicConfig gives the configuration of a topic whose logs are found at start; DefaultConfig
	// if nil. Later changes come by Log.UpdateConfig.
	TopicConfig func(topic string) Config
	// RecoveryThreadsPerDir is num.recovery.threads.per.data.dir; one if less.
	RecoveryThreadsPerDir int
	// InitialTaskDelay is log.initial.task.delay.ms: how long after the start periodic work begins, where its
	// interval is longer; zero waits for the interval.
	InitialTaskDelay time.Duration
	// RetentionCheckInterval is log.retention.check.interval.ms; zero is never, as in all of these.
	RetentionCheckInterval time.Duration
	// FlushCheckInterval is log.flush.scheduler.interval.ms.
	FlushCheckInterval time.Duration
	// RecoveryPointInterval is log.flush.offset.checkpoint.interval.ms.
	RecoveryPointInterval time.Duration
	// StartOffsetInterval is log.flush.start.offset.checkpoint.interval.ms.
	StartOffsetInterval time.Duration
	// HighWatermarkInterval is replica.high.watermark.checkpoint.interval.ms.
	HighWatermarkInterval time.Duration
	// ProducerIDExpiration is producer.id.expiration.ms; SetProducerIDExpiration changes it.
	ProducerIDExpiration time.Duration
	// ProducerIDExpirationCheckInterval is producer.id.expiration.check.interval.ms.
	ProducerIDExpirationCheckInterval time.Duration
	// VerifyTransactions is transaction.partition.verification.enable; SetVerifyTransactions changes it.
	VerifyTransactions bool
	// Cleaner is how logs are compacted; SetCleaner changes it.
	Cleaner CleanerConfig
	// IdleFiles is how many files of segments stay open that nobody uses; 1,000 if zero.
	IdleFiles int
	// UnflushedFiles is how many files may wait for a flush, and stay open for it, before all logs are flushed in
	// the background. With half as many again each append waits for its own. No bound if zero.
	UnflushedFiles int
	// MinFreeBytes is log.dir.min.free.bytes: below so much free space on the device of a log directory
	// records of clients are refused, below a quarter of it all records. AutoMinFree derives it from the
	// device's size, zero refuses nothing; SetMinFreeBytes changes it.
	MinFreeBytes int64
	// Reserve is how blocks are reserved ahead of appends; not at all if zero.
	Reserve Reserve
	// NewUUID makes the directory ids.
	NewUUID func() [16]byte
	// Jitter returns a number in [0, n) for segment.jitter.ms; no jitter if nil.
	Jitter func(n int64) int64
	// OnDirFailure is called once for each directory that goes offline, on a goroutine that holds
	// no lock; it must not block. May be nil.
	OnDirFailure func(path string, id [16]byte, err error)
	// OnRoom is called, on a goroutine that holds no lock, when there is room again, or descriptors, in a directory where
	// a log couldn't be made for want of them: it is worth asking for once more. It must not block. May be nil.
	OnRoom func()
}

// defaultIdleFiles is ManagerConfig.IdleFiles where it isn't given: a few hundred logs at work, and little
// beside the limits that brokers get.
const defaultIdleFiles = 1000

// Manager owns the log dirs and all logs in them.
//
// Lock order: a log's locks come before logsMu.
type Manager struct {
	cfg    ManagerConfig
	fs     vfs.FS
	pool   *files.Pool
	clk    clock.Clock
	logger *slog.Logger
	codecs *batch.Codecs
	dirs   []*dir
	tasks  *scheduler
	// flusher flushes rolled logs.
	flusher flusher
	// cleaner compacts logs.
	cleaner cleaner
	// brokerEpoch is what the clean shutdown marker will say.
	brokerEpoch atomic.Int64
	// expiration is producer.id.expiration.ms in force, as a time.Duration.
	expiration atomic.Int64
	// minFree is log.dir.min.free.bytes in force.
	minFree atomic.Int64
	// descriptors is what is known of the want of them.
	descriptors descriptors
	// verify is transaction.partition.verification.enable in force.
	verify atomic.Bool
	// settings are what logs with the same configuration share.
	settings sharedSettings
	// metaMu guards the meta fields of the dirs.
	metaMu sync.Mutex
	// calls are the running OnDirFailure calls.
	calls sync.WaitGroup

	// changing serialises Create, Delete, moves between directories and Close; it comes before the logs' locks.
	changing sync.Mutex
	closed   bool // guarded by changing

	logsMu sync.RWMutex // guards what follows
	logs   map[topicPartition]*Log
	// futures are the logs that are being filled in another directory (see future.go).
	futures map[topicPartition]*Log
	// broken are the partitions that were set aside (see set_aside.go).
	broken map[topicPartition]asideLog
	// preferred is where partitions were asked to be made that don't exist yet; at most maxPreferred.
	preferred map[topicPartition]*dir
	// twice tells of partitions that a start found in two directories; extra are the second logs of them.
	twice []string
	extra []*Log
}

// Open locks the log dirs, loads all logs in them, recovering where the last stop wasn't clean, and
// starts the background work. A directory that fails is offline; only if all do, or one belongs to
// another broker or cluster, Open fails.
func Open(ctx context.Context, fs vfs.FS, clk clock.Clock, logger *slog.Logger, cfg ManagerConfig) (*Manager, error) {
	pool := files.NewPool(fs, cmp.Or(cfg.IdleFiles, defaultIdleFiles))
	m := &Manager{
		cfg: cfg, fs: pool.FS(), pool: pool, clk: clk, logger: logger,
		codecs:    batch.NewCodecs(),
		tasks:     newScheduler(clk),
		logs:      map[topicPartition]*Log{},
		futures:   map[topicPartition]*Log{},
		broken:    map[topicPartition]asideLog{},
		preferred: map[topicPartition]*dir{},
	}
	m.brokerEpoch.Store(noBrokerEpoch)
	m.expiration.Store(int64(cfg.ProducerIDExpiration))
	m.minFree.Store(cfg.MinFreeBytes)
	m.descriptors.logger = logger
	m.verify.Store(cfg.VerifyTransactions)
	if err := m.openDirs(); err != nil {
		m.closeDirs()
		m.calls.Wait()
		return nil, err
	}
	err := m.loadAll(ctx)
	if err == nil {
		err = m.settle()
	}
	if err != nil {
		m.abandon()
		return nil, err
	}
	m.flusher.start(m)
	m.startTasks()
	m.cleaner.start(m, cfg.Cleaner)
	return m, nil
}

// SetBrokerEpoch sets what the next clean shutdown marker says.
func (m *Manager) SetBrokerEpoch(epoch int64) { m.brokerEpoch.Store(epoch) }

// Get returns a log.
func (m *Manager) Get(topic string, partition int32) (*Log, bool) {
	m.logsMu.RLock()
	defer m.logsMu.RUnlock()
	l, ok := m.logs[topicPartition{topic, partition}]
	return l, ok
}

// Logs is every log, sorted by topic and partition.
func (m *Manager) Logs() []*Log { return m.logsIn(nil) }

// logsIn is every log in a directory, or in all of them, sorted.
func (m *Manager) logsIn(d *dir) []*Log {
	return m.logsThat(func(l *Log) bool { return d == nil || l.dir == d })
}

// logsThat is every log that is wanted, sorted. Of many logs few are wanted where nothing happens, and sorting is
// what costs.
func (m *Manager) logsThat(wanted func(*Log) bool) []*Log { return m.sorted(m.logs, wanted) }

// sorted is the wanted ones of m.logs or m.futures.
func (m *Manager) sorted(logs map[topicPartition]*Log, wanted func(*Log) bool) []*Log {
	var out []*Log
	m.logsMu.RLock()
	for _, l := range logs {
		if wanted(l) {
			out = append(out, l)
		}
	}
	m.logsMu.RUnlock()
	slices.SortFunc(out, func(a, b *Log) int { return a.tp.compare(b.tp) })
	return out
}

// futuresIn is every future log in a directory, or in all of them, sorted.
func (m *Manager) futuresIn(d *dir) []*Log {
	return m.futuresThat(func(l *Log) bool { return d == nil || l.dir == d })
}

// futuresThat is logsThat of future logs.
func (m *Manager) futuresThat(wanted func(*Log) bool) []*Log { return m.sorted(m.futures, wanted) }

// DirInfo is one log dir for DescribeLogDirs.
type DirInfo struct {
	Path string
	ID   [16]byte
	// Err is why the directory is offline, nil if it is not.
	Err error
	// TotalBytes and UsableBytes are the volume's, -1 if unknown.
	TotalBytes, UsableBytes int64
	// Logs and Futures, the logs that are being filled here, are sorted by topic and partition.
	Logs, Futures []*Log
}

// Dirs describes the log dirs in the order of log.dirs.
func (m *Manager) Dirs() []DirInfo {
	out := make([]DirInfo, 0, len(m.dirs))
	for _, d := range m.dirs {
		info := DirInfo{Path: d.path, ID: d.id, Err: d.offline(), TotalBytes: -1, UsableBytes: -1}
		if info.Err == nil {
			if u, err := m.fs.Usage(d.path); err == nil {
				info.TotalBytes, info.UsableBytes = u.TotalBytes, u.FreeBytes
			}
		}
		info.Logs, info.Futures = m.logsIn(d), m.futuresIn(d)
		out = append(out, info)
	}
	return out
}

// DirState is one log dir for those who ask often.
type DirState struct {
	ID [16]byte
	// Err is why the directory is offline, nil if it is not.
	Err error
}

// DirStates tells which directories are offline, in the order of log.dirs.
func (m *Manager) DirStates() []DirState {
	out := make([]DirState, len(m.dirs))
	for i, d := range m.dirs {
		out[i] = DirState{ID: d.id, Err: d.offline()}
	}
	return out
}

// liveDirs are the directories that are not offline.
func (m *Manager) liveDirs() []*dir {
	return slices.DeleteFunc(slices.Clone(m.dirs), func(d *dir) bool { return d.offline() != nil })
}

// dirFailed reports a directory that went offline.
func (m *Manager) dirFailed(d *dir, err error) {
	if f := m.cfg.OnDirFailure; f != nil {
		m.calls.Go(func() { f(d.path, d.id, err) })
	}
}

// flushSoon implements host.
func (m *Manager) flushSoon(l *Log) { m.flusher.add(l) }

// crowded implements host.
func (m *Manager) crowded() bool {
	limit, pinned := m.cfg.UnflushedFiles, m.pool.Pinned()
	if limit <= 0 || pinned <= limit {
		return false
	}
	m.flusher.flushAll()
	return pinned > limit+limit/2
}

// removeAfter implements host.
func (m *Manager) removeAfter(d time.Duration, f func()) { m.tasks.afterInTurn(d, f) }

// settingsOf implements host.
func (m *Manager) settingsOf(c Config) *settings { return m.settings.of(c) }

// reserves implements host.
func (m *Manager) reserves() Reserve { return m.cfg.Reserve }

// jitter implements host.
func (m *Manager) jitter(n int64) int64 {
	if m.cfg.Jitter == nil {
		return 0
	}
	return m.cfg.Jitter(n)
}

// producerIDExpiration implements host.
func (m *Manager) producerIDExpiration() time.Duration { return time.Duration(m.expiration.Load()) }

// SetProducerIDExpiration changes producer.id.expiration.ms; it counts from the next check on.
func (m *Manager) SetProducerIDExpiration(d time.Duration) { m.expiration.Store(int64(d)) }

// noLiveDir is the answer when every directory is offline.
func noLiveDir() error {
	return kerror.New(kerr.KafkaStorageError, "All log directories are offline.")
}
