package commitlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/clean"
)

// Suffixes of the directories of partitions that are no longer served.
const (
	deleteDirSuffix = "-delete"
	strayDirSuffix  = "-stray"
	futureDirSuffix = "-future"
)

// metadataTopic is the log of Kafka's own controller, which is none of ours.
const metadataTopic = "__cluster_metadata"

// parsePartitionDir reads topic and partition from a directory's name.
func parsePartitionDir(name string) (topicPartition, bool) {
	at := strings.LastIndexByte(name, '-')
	if at <= 0 || at == len(name)-1 {
		return topicPartition{}, false
	}
	digits := name[at+1:]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != digits {
		return topicPartition{}, false
	}
	return topicPartition{name[:at], int32(n)}, true
}

// loadAll loads the logs of all directories, several at a time. Trouble with a directory takes it
// offline; it fails only if none is left, for want of descriptors, which is none of a directory's, or if ctx ends.
func (m *Manager) loadAll(ctx context.Context) error {
	var wg sync.WaitGroup
	var short atomic.Pointer[error]
	for _, d := range m.liveDirs() {
		wg.Go(func() {
			err := m.loadDir(ctx, d)
			switch {
			case err == nil || ctx.Err() != nil:
			case vfs.NoDescriptors(err):
				short.Store(&err)
			default:
				d.fail(err)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := short.Load(); err != nil {
		return *err
	}
	if len(m.liveDirs()) == 0 {
		return errors.Join(noLiveDir(), m.dirs[0].offline())
	}
	return nil
}

// loadedCheckpoints are the checkpoints that a start reads.
var loadedCheckpoints = [4]string{recoveryPointFile, logStartFile, highWatermarkFile, cleanerFile}

// loadDir loads the logs of one directory. Those that are damaged, or for which there is no room, are set aside; it
// fails for trouble with the device only.
func (m *Manager) loadDir(ctx context.Context, d *dir) error {
	var marks [4]map[topicPartition]int64
	for i, name := range loadedCheckpoints {
		var err error
		if marks[i], err = readOffsetCheckpoint(m.fs, d.file(name)); err != nil {
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) {
				return err
			}
			// Costs time, not data: without it everything is checked.
			m.logger.Warn("ignoring a checkpoint", "error", err)
			d.clean = d.clean && i != 0
		}
	}
	entries, err := m.fs.ReadDir(d.path)
	if err != nil {
		return err
	}
	logs, err := m.partitionsOf(d, entries)
	if err != nil {
		return err
	}
	if err := m.loadLogs(ctx, d, logs, marks); err != nil {
		return err
	}
	m.keepMarks(d, marks)
	if marks[0] != nil {
		return nil
	}
	// From now on a missing one was lost.
	if err := m.checkpointRecoveryPoints(d); err != nil && !vfs.NoRoom(err) {
		return err
	}
	return nil
}

// loadLogs loads logs with the offsets of the four checkpoints, several at a time.
func (m *Manager) loadLogs(ctx context.Context, d *dir, logs []*Log, marks [4]map[topicPartition]int64) error {
	if len(logs) == 0 {
		return nil
	}
	threads := max(1, m.cfg.RecoveryThreadsPerDir)
	m.logger.Info("loading logs", "dir", d.path, "logs", len(logs), "threads", threads, "cleanShutdown", d.clean)
	work := make(chan *Log)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	p := &progress{d: d, logs: logs, recoveryPoint: func(l *Log) int64 { return marked(marks[0], l) }}
	m.watch(p)
	defer p.ended.Store(true)
	for range min(threads, len(logs)) {
		wg.Go(func() {
			for l := range work {
				if ctx.Err() != nil {
					continue
				}
				l.progress = p
				if err := m.loadOne(ctx, d, l, marks); err != nil {
					cancel(err)
					continue
				}
				l.progress = nil
				if n := p.loaded.Add(1); n == int64(len(logs)) {
					m.logger.Info("loaded logs", "dir", d.path, "logs", n, "bytesRecovered", p.bytes.Load())
				}
			}
		})
	}
	for _, l := range logs {
		work <- l
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// marked is what a checkpoint says of a log, -1 if nothing.
func marked(checkpoint map[topicPartition]int64, l *Log) int64 {
	if offset, ok := checkpoint[l.tp]; ok {
		return offset
	}
	return -1
}

// loadOne loads a log and makes it known.
func (m *Manager) loadOne(ctx context.Context, d *dir, l *Log, marks [4]map[topicPartition]int64) error {
	of := func(i int) int64 { return marked(marks[i], l) }
	c := checkpointed{recoveryPoint: of(0), logStart: of(1), highWatermark: of(2), cleaned: of(3), lost: marks[0] == nil}
	err := l.load(ctx, c, d.clean)
	switch {
	case err == nil:
		m.add(l)
	case ctx.Err() != nil || !m.setAside(l, err):
		return fmt.Errorf("load %s: %w", l.path, err)
	}
	return nil
}

// partitionsOf makes a log, not loaded yet, of each partition directory. Left-overs of deletions are
// removed in the background, what isn't ours is told of and left alone.
func (m *Manager) partitionsOf(d *dir, entries []fs.DirEntry) ([]*Log, error) {
	var logs []*Log
	var unknown []string
	for _, e := range entries {
		name := e.Name()
		full := path.Join(d.path, name)
		tp, isPartition := parsePartitionDir(name)
		switch {
		case !e.IsDir():
			if !knownFile(name) {
				unknown = append(unknown, name)
			}
		case strings.HasSuffix(name, deleteDirSuffix):
			m.removeDirLater(d, full)
		case strings.HasSuffix(name, strayDirSuffix):
			m.logger.Warn("leaving a stray partition alone", "dir", full)
		case strings.HasSuffix(name, futureDirSuffix):
			l, err := m.futureAt(d, full)
			if err != nil {
				return nil, err
			}
			if l != nil {
				logs = append(logs, l)
			}
		case !isPartition:
			unknown = append(unknown, name)
		case tp.topic == metadataTopic:
		default:
			l, err := m.partitionAt(d, tp, full)
			if err != nil {
				return nil, err
			}
			if l != nil {
				logs = append(logs, l)
			}
		}
	}
	if len(unknown) > 0 {
		m.logger.Warn("leaving unknown files in the log directory alone", "dir", d.path, "names", strings.Join(unknown, " "))
	}
	return logs, nil
}

// partitionAt makes the log of a partition directory, or sets it aside.
func (m *Manager) partitionAt(d *dir, tp topicPartition, full string) (*Log, error) {
	id, err := m.readTopicID(full)
	if isCorrupt(err) {
		m.tellDamaged(full, err)
		m.noteAside(d, tp, false, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m.newLog(d, tp, id, full, m.topicConfig(tp.topic)), nil
}

// readTopicID reads partition.metadata; without it the id is zero: a log of Kafka's before 2.8, or one whose
// creation was interrupted.
func (m *Manager) readTopicID(full string) ([16]byte, error) {
	name := path.Join(full, partitionMetadataFile)
	b, err := readFile(m.fs, name)
	if isNotExist(err) {
		return [16]byte{}, nil
	}
	if err != nil {
		return [16]byte{}, err
	}
	id, err := parsePartitionMetadata(b)
	if err != nil {
		return [16]byte{}, &CorruptError{Path: name, Reason: err.Error()}
	}
	return id, nil
}

// topicConfig is the configuration of a topic found at start.
func (m *Manager) topicConfig(topic string) Config {
	if m.cfg.TopicConfig == nil {
		return DefaultConfig()
	}
	return m.cfg.TopicConfig(topic)
}

// newLog makes a log that isn't loaded yet.
func (m *Manager) newLog(d *dir, tp topicPartition, id [16]byte, full string, cfg Config) *Log {
	l := &Log{
		tp: tp, dir: d, fs: m.fs, pool: m.pool, clk: m.clk, logger: m.logger,
		codecs: m.codecs, host: m, path: full, rolledFrom: NoLimit,
	}
	l.swapped.L = &l.mu
	l.topicID.Store(&id)
	l.cleaned.Store(clean.NoCheckpoint)
	l.epochs.cache = &epochCache{}
	l.settings.Store(m.settingsOf(cfg))
	return l
}

// knownFile says that a file in a log dir is one of Kafka's or ours.
func knownFile(name string) bool {
	name = strings.TrimSuffix(name, ".tmp")
	switch name {
	case lockFile, metaPropertiesFile, cleanShutdownFile, recoveryPointFile, logStartFile,
		highWatermarkFile, cleanerFile, "bootstrap.checkpoint":
		return true
	}
	return false
}
