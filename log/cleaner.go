package commitlog

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/clean"
)

// CleanerConfig is how logs are compacted.
type CleanerConfig struct {
	// Threads is log.cleaner.threads; zero compacts nothing.
	Threads int
	// DedupeBufferBytes is log.cleaner.dedupe.buffer.size, shared by the threads.
	DedupeBufferBytes int64
	// IOBufferBytes is log.cleaner.io.buffer.size, shared by the threads.
	IOBufferBytes int
	// IOBufferLoadFactor is log.cleaner.io.buffer.load.factor: how full the offset map may get.
	IOBufferLoadFactor float64
	// MaxBytesPerSecond is log.cleaner.io.max.bytes.per.second, reads and writes of all threads together.
	MaxBytesPerSecond float64
	// Backoff is log.cleaner.backoff.ms: how long a thread waits that found nothing to do.
	Backoff time.Duration
}

// Bounds of the configuration.
const (
	minCleanerBackoff     = 10 * time.Millisecond
	minCleanerBufferBytes = 4 << 10
	maxCleanerBufferBytes = 64 << 20
)

// cleaner owns the goroutines that compact logs. Each works alone on the log with the largest dirty part,
// until none is due. (Kafka: LogCleaner.)
type cleaner struct {
	m        *Manager
	throttle clean.Throttle
	ctx      context.Context
	cancel   context.CancelFunc

	mu  sync.Mutex // guards what follows
	cfg CleanerConfig
	// threads is how many workers there are, running or waiting for their time.
	threads int
	// busy are the logs that are being compacted.
	busy map[*Log]struct{}
	// aside are logs that can't be compacted, which is tried again only after a restart.
	aside map[*Log]Uncleanable
	// cramped are logs that couldn't be compacted for want of room or descriptors the last time.
	cramped map[*Log]struct{}
}

func (c *cleaner) start(m *Manager, cfg CleanerConfig) {
	c.mu.Lock()
	c.m, c.busy, c.aside, c.cramped = m, map[*Log]struct{}{}, map[*Log]Uncleanable{}, map[*Log]struct{}{}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.mu.Unlock()
	m.SetCleaner(cfg)
}

// stop interrupts compactions; Manager.tasks.stop waits for them.
func (c *cleaner) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// SetCleaner changes how logs are compacted; running compactions end as they began, but for the rate.
func (m *Manager) SetCleaner(cfg CleanerConfig) {
	c := &m.cleaner
	cfg.Backoff = max(cfg.Backoff, minCleanerBackoff)
	if cfg.MaxBytesPerSecond >= math.MaxFloat64 {
		cfg.MaxBytesPerSecond = 0
	}
	c.throttle.SetRate(cfg.MaxBytesPerSecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg = cfg
	for c.threads < cfg.Threads {
		n := c.threads
		c.threads++
		c.after(c.firstDelay(), n)
	}
}

// firstDelay is when the first look is taken. Requires: c.mu held.
func (c *cleaner) firstDelay() time.Duration {
	if d := c.m.cfg.InitialTaskDelay; d > 0 {
		return min(d, c.cfg.Backoff)
	}
	return c.cfg.Backoff
}

// after lets worker n work once d has passed.
func (c *cleaner) after(d time.Duration, n int) { c.m.tasks.after(d, func() { c.work(n) }) }

// work compacts until nothing is due, and comes back after the backoff unless there are fewer threads now.
func (c *cleaner) work(n int) {
	c.pass()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= c.cfg.Threads && n == c.threads-1 {
		c.threads--
		return
	}
	c.after(c.cfg.Backoff, n)
}

// pass compacts one log after the other, the dirtiest first. One that fails waits for the next pass.
func (c *cleaner) pass() {
	failed := map[*Log]struct{}{}
	for c.ctx.Err() == nil {
		l := c.take(failed)
		if l == nil {
			return
		}
		if err := c.clean(l); err != nil {
			failed[l] = struct{}{}
		}
		c.mu.Lock()
		delete(c.busy, l)
		c.mu.Unlock()
	}
}

// take chooses the log with the largest dirty ratio of those that are due, nil if none is.
// (Kafka: LogCleanerManager.grabFilthiestCompactedLog.)
func (c *cleaner) take(not map[*Log]struct{}) *Log {
	logs := c.m.Logs()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(logs)
	var best *Log
	var ratio float64
	now := c.m.clk.Now()
	for _, l := range logs {
		_, skip := not[l]
		_, busy := c.busy[l]
		_, aside := c.aside[l]
		cfg := l.settings.Load()
		if skip || busy || aside || l.mayNotCompact() != nil {
			continue
		}
		plan, err := l.cleanPlan(now)
		if vfs.Scarce(err) {
			c.scarce(l, err)
			continue
		}
		if err != nil {
			c.setAside(l, err)
			continue
		}
		if plan.BadCheckpoint {
			l.resetCleaned(plan.FirstDirtyOffset)
		}
		if plan.Due(cfg.MinCleanableDirtyRatio) && (best == nil || plan.DirtyRatio() > ratio) {
			best, ratio = l, plan.DirtyRatio()
		}
	}
	if best != nil {
		c.busy[best] = struct{}{}
	}
	return best
}

// clean compacts one log and deals with what goes wrong.
func (c *cleaner) clean(l *Log) error {
	c.mu.Lock()
	cfg := c.cfg
	c.mu.Unlock()
	threads := max(cfg.Threads, 1)
	run := &cleaning{
		l: l, ctx: c.ctx, now: c.m.clk.Now(), pause: c.pause,
		memoryBytes: min(cfg.DedupeBufferBytes/int64(threads), math.MaxInt32),
		bufferBytes: min(max(cfg.IOBufferBytes/threads/2, minCleanerBufferBytes), maxCleanerBufferBytes),
		loadFactor:  cfg.IOBufferLoadFactor,
		secret:      c.m.cfg.NewUUID(),
	}
	err := run.run()
	switch {
	case err == nil:
		c.mu.Lock()
		delete(c.cramped, l)
		c.mu.Unlock()
		c.m.logger.Info("compacted log", "partition", l.tp.String(), "firstDirtyOffset", run.plan.FirstDirtyOffset,
			"endOffset", l.cleaned.Load(), "bytesBefore", run.before, "bytesAfter", run.written,
			"recordsRead", run.stats.RecordsRead, "recordsKept", run.stats.RecordsKept,
			"recordsWithoutKey", run.stats.RecordsWithoutKey, "duration", c.m.clk.Now().Sub(run.now))
	case errors.Is(err, errSuperseded), c.ctx.Err() != nil, l.usable() != nil:
		// Nothing is wrong with the log, or it was told already.
	case IsScarce(err), vfs.Scarce(err):
		c.mu.Lock()
		c.scarce(l, err)
		c.mu.Unlock()
	case errors.Is(err, errWriteCleaned):
		l.dir.fail(err)
	default:
		c.mu.Lock()
		c.setAside(l, err)
		c.mu.Unlock()
	}
	return err
}

// scarce tells, once for a time of want, that a log can't be compacted for want of room or descriptors; the next pass
// tries again. Requires: c.mu held.
func (c *cleaner) scarce(l *Log, err error) {
	if _, told := c.cramped[l]; told {
		return
	}
	c.cramped[l] = struct{}{}
	c.m.logger.Warn("no room or no descriptors to compact a log; it is tried again at each pass", "partition", l.tp.String(),
		"dir", l.dir.path, "error", err)
}

// pause implements cleaning.pause.
func (c *cleaner) pause(ctx context.Context, n int) error {
	if d := c.throttle.Take(int64(n), c.m.clk.Now()); d > 0 {
		return clock.Sleep(ctx, c.m.clk, d)
	}
	return ctx.Err()
}
