package commitlog

import (
	"cmp"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/epoch"
	"github.com/ottla/ottla/log/files"
	"github.com/ottla/ottla/log/producer"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Log is one partition's log.
//
// Lock order: copying, highWatermarkMu, flushing, mu, reading; the same of the log's future; then epochs, tail and the locks of segments, which are never
// held over another one of these.
type Log struct {
	tp     topicPartition
	dir    *dir
	fs     vfs.FS
	pool   *files.Pool
	clk    clock.Clock
	logger *slog.Logger
	codecs *batch.Codecs
	host   host

	// topicID is zero only for a log that was found without partition.metadata.
	topicID  atomic.Pointer[[16]byte]
	settings atomic.Pointer[settings]
	// gone is why the log can't be used: closed or deleted; nil while it can. Written with mu held.
	gone atomic.Pointer[kerror.Error]

	// Invariant: logStartOffset <= lastStableOffset <= highWatermark <= logEndOffset, where the
	// last stable offset is the smaller one of highWatermark and firstUnstable. Written with mu
	// held, but highWatermark, which has its own lock.
	logStartOffset, highWatermark, logEndOffset atomic.Int64
	// firstUnstable is the first offset of the oldest undecided transaction, NoLimit without one.
	firstUnstable atomic.Int64
	// startMoved is called after logStartOffset has moved up, nil without one; see OnStartMoved.
	startMoved atomic.Pointer[func()]
	// recoveryPoint: offsets below it are known to be flushed, with all that belongs to them. Written with mu held.
	recoveryPoint atomic.Int64
	// recordsDurable: the records below it are known to be on the disk, indexes perhaps not. It may be behind the recovery
	// point; 0 says nothing. Written with flushing and mu held.
	recordsDurable atomic.Int64
	// cleaned is the offset up to which the log was compacted, clean.NoCheckpoint if it never was. Written
	// with mu held.
	cleaned atomic.Int64
	// owed is why the last flush is owed, the whole of it or some index entries and leader epochs, which wait in memory: for
	// want of room or descriptors. Nil if nothing is. Written with flushing held.
	owed atomic.Pointer[error]
	// inherited says that an earlier life of the log may have left records or names that aren't durable, whose files aren't
	// held open. Cleared with flushing held.
	inherited atomic.Bool
	// owedFrom is the first segment whose index entries loading had no room for. Not used once l is shared.
	owedFrom int64
	// lastFlush is the unix time in ms of the last flush.
	lastFlush atomic.Int64

	// segments are all segments by base offset, the last one being active; never empty. The slice
	// is replaced, never changed, so readers need no lock. Written with mu held.
	segments atomic.Pointer[[]*segment]
	tail     tail

	// copying is held over each step of a move, and by whatever takes records away that were copied.
	copying sync.Mutex
	// future is the log that this one is being moved to, nil if it isn't moved. Written with copying, flushing
	// and mu held.
	future atomic.Pointer[Log]
	// isFuture says that the log was found at a start as another one's future.
	isFuture bool

	// flushing is held by the one goroutine that flushes; others that wait for it find their
	// records flushed with its own or the next one's.
	flushing sync.Mutex
	// highWatermarkMu serialises changes of highWatermark.
	highWatermarkMu sync.Mutex
	// reading is held for reading by readers while they look for positions, and for writing by
	// truncation, the only thing that takes bytes away under them.
	reading sync.RWMutex

	// progress is told what is recovered; nil but for a log that is being loaded at start.
	progress *progress

	mu sync.Mutex // guards what follows, and all appends
	// path is the partition's directory.
	path      string
	producers *producer.State
	// snapshots are the offsets of the .snapshot files, sorted; those from unsynced on are not
	// durable yet.
	snapshots []int64
	unsynced  []int64
	// namesUnsynced says that a new file's name isn't durable yet, namesSyncing that a flush is under way that is to make one
	// so.
	namesUnsynced, namesSyncing bool
	// names is the partition's directory, open since a segment was made in it until its name is durable; nil otherwise. So
	// records can be made durable without a descriptor more, see syncRecords.
	names vfs.Dir
	// rolledFrom is where the oldest segment begins that was rolled since the last flush, NoLimit without
	// one. The roll changed it even if all records were flushed before.
	rolledFrom int64
	// epochsWritten is what the file of leader epochs says.
	epochsWritten []epoch.Entry
	// truncations counts truncations, so that a compaction notices that its segments were cut.
	truncations int
	// swapping says that a compaction exchanges the files of segments that have changed in segments already; swapped
	// tells of its end. (See clean_swap.go.)
	swapping bool
	swapped  sync.Cond
	// startLowered says that a truncation has moved the start down, and that the checkpoint doesn't say so yet.
	startLowered bool
	// jitter is subtracted from the active segment's age limit.
	jitter time.Duration
	// scratch is a batch that is being appended, kept here so that it needn't be allocated.
	scratch batch.Batch

	epochs struct {
		sync.RWMutex
		cache *epoch.Cache
	}
}

// host is what a log asks of the manager that owns it. No lock of the log's may be wanted by it.
type host interface {
	// flushSoon flushes the log in the background.
	flushSoon(l *Log)
	// crowded says that so many files wait for a flush that whoever appends must wait for his.
	crowded() bool
	// removeAfter runs f, which removes files, once d has passed, unless the manager is closed first. One f runs at a time.
	removeAfter(d time.Duration, f func())
	// checkpointRecoveryPoints and checkpointLogStarts write the directory's files durably.
	checkpointRecoveryPoints(d *dir) error
	checkpointLogStarts(d *dir) error
	checkpointCleaned(d *dir) error
	// settingsOf is what logs with a configuration share.
	settingsOf(c Config) *settings
	// reserves is ManagerConfig.Reserve.
	reserves() Reserve
	// jitter is a random number in [0, n).
	jitter(n int64) int64
	producerIDExpiration() time.Duration
	// verifiesTransactions is transaction.partition.verification.enable.
	verifiesTransactions() bool
}

// errClosed is the error after Close, errDeleted that after Delete.
var (
	errClosed  = kerror.New(kerr.KafkaStorageError, "The log is closed.")
	errDeleted = kerror.New(kerr.UnknownTopicOrPartition, "The log was deleted.")
)

// Topic is the topic's name.
func (l *Log) Topic() string { return l.tp.topic }

// Partition is the partition's number.
func (l *Log) Partition() int32 { return l.tp.partition }

// TopicID is the topic's id.
func (l *Log) TopicID() [16]byte { return *l.topicID.Load() }

// DirectoryID is the uuid of the log dir that holds the log.
func (l *Log) DirectoryID() [16]byte { return l.dir.id }

// Offline is why the log's directory is offline, KAFKA_STORAGE_ERROR; nil if it isn't.
func (l *Log) Offline() error {
	if err := l.dir.offline(); err != nil {
		return storageError(err)
	}
	return nil
}

// LogStartOffset is the first offset that may be read.
func (l *Log) LogStartOffset() int64 { return l.logStartOffset.Load() }

// LogEndOffset is the offset that the next record gets.
func (l *Log) LogEndOffset() int64 { return l.logEndOffset.Load() }

// HighWatermark is the exclusive bound of what consumers may see.
func (l *Log) HighWatermark() int64 { return l.highWatermark.Load() }

// LastStableOffset is the exclusive bound of what read_committed consumers may see.
func (l *Log) LastStableOffset() int64 {
	return min(l.highWatermark.Load(), l.firstUnstable.Load())
}

// OnStartMoved has f called whenever the log start moves up, by retention too. f is called with the log's lock
// held and must not use the log but for its offsets. A later call replaces f.
func (l *Log) OnStartMoved(f func()) { l.startMoved.Store(&f) }

// RecoveryPoint is the offset below which everything is flushed.
func (l *Log) RecoveryPoint() int64 { return l.recoveryPoint.Load() }

// SetHighWatermark moves the high watermark to offset, which is clamped to [logStartOffset,
// logEndOffset], and returns where it is now. It may move back: the caller knows when that is right.
func (l *Log) SetHighWatermark(offset int64) int64 {
	l.highWatermarkMu.Lock()
	defer l.highWatermarkMu.Unlock()
	offset = max(l.logStartOffset.Load(), min(offset, l.logEndOffset.Load()))
	l.highWatermark.Store(offset)
	if l.firstUnstable.Load() == NoLimit {
		return offset
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.producers.OnHighWatermark(offset)
	l.publishUnstable()
	return offset
}

// publishUnstable takes the first unstable offset over from the producer state. Requires: l.mu held.
func (l *Log) publishUnstable() {
	if offset, ok := l.producers.FirstUnstableOffset(); ok {
		l.firstUnstable.Store(max(offset, l.logStartOffset.Load()))
		return
	}
	l.firstUnstable.Store(math.MaxInt64)
}

// SizeBytes is the length of all segments.
func (l *Log) SizeBytes() int64 {
	var sum int64
	for _, s := range *l.segments.Load() {
		sum += s.size.Load()
	}
	return sum
}

// Config is the topic's configuration as last told.
func (l *Log) Config() Config { return l.settings.Load().Config }

// UpdateConfig replaces the configuration; the next append and the next check of retention use it.
func (l *Log) UpdateConfig(c Config) { l.settings.Store(l.host.settingsOf(c)) }

// ActiveProducers lists the producers that the log remembers, by id.
func (l *Log) ActiveProducers() []ActiveProducer {
	l.mu.Lock()
	defer l.mu.Unlock()
	active := l.producers.ActiveProducers()
	out := make([]ActiveProducer, 0, len(active))
	for _, p := range active {
		out = append(out, ActiveProducer{
			ProducerID: p.ProducerID, ProducerEpoch: p.ProducerEpoch, LastSequence: p.LastSequence,
			LastTimestampMs: p.LastTimestamp, CoordinatorEpoch: p.CoordinatorEpoch,
			CurrentTxnStartOffset: p.CurrentTxnFirstOffset,
		})
	}
	return out
}

// usable is the error of a log that is closed or deleted, or whose directory is offline. Changes ask
// it again once they hold the mutex.
func (l *Log) usable() error {
	if err := l.gone.Load(); err != nil {
		return err
	}
	if err := l.dir.offline(); err != nil {
		return storageError(err)
	}
	return nil
}

// owe notes that a flush is owed. Requires: l.flushing held, or l not shared.
func (l *Log) owe(err error) { l.owed.Store(&err) }

// owes is why a flush is owed, nil if none is.
func (l *Log) owes() error {
	if err := l.owed.Load(); err != nil {
		return *err
	}
	return nil
}

// closeNames closes the directory. Requires: l.mu held.
func (l *Log) closeNames() {
	if l.names != nil {
		_ = l.names.Close() // Nothing is written through it.
		l.names = nil
	}
}

// discard closes all files, those in use as soon as nobody holds them. Requires: l.mu held.
func (l *Log) discard() {
	for _, s := range *l.segments.Load() {
		s.discard()
	}
	l.closeNames()
}

// active is the segment that is appended to. Requires: l.mu held.
func (l *Log) active() *segment {
	segs := *l.segments.Load()
	return segs[len(segs)-1]
}

// setSegments publishes another set of segments. Requires: l.mu held, or l not shared; segs isn't
// changed afterwards.
func (l *Log) setSegments(segs []*segment) { l.segments.Store(&segs) }

// floorSegment is the index of the last segment that starts at or before offset, or 0.
func floorSegment(segs []*segment, offset int64) int {
	i, found := slices.BinarySearchFunc(segs, offset, func(s *segment, o int64) int {
		return cmp.Compare(s.baseOffset, o)
	})
	if found {
		return i
	}
	return max(0, i-1)
}

// segmentOptions are those of a new segment.
func (l *Log) segmentOptions(c *Config) segmentOptions {
	o := segmentOptions{pool: l.pool, dir: l.path, maxIndexBytes: c.SegmentIndexBytes}
	if c.Preallocate {
		o.preallocate = int64(c.SegmentBytes)
	}
	return o
}
