package commitlog

import (
	"sync"
	"sync/atomic"
	"time"
)

// startTasks starts the periodic work.
func (m *Manager) startTasks() {
	every := func(interval time.Duration, f func()) {
		first := interval
		if d := m.cfg.InitialTaskDelay; d > 0 {
			first = min(first, d)
		}
		m.tasks.every(first, interval, f)
	}
	every(roomInterval, func() {
		m.watchDescriptors()
		m.watchRoom()
	})
	every(m.cfg.RetentionCheckInterval, m.checkRetention)
	every(m.cfg.FlushCheckInterval, m.flushDue)
	every(m.cfg.RecoveryPointInterval, m.advanceRecoveryPoints)
	every(m.cfg.StartOffsetInterval, func() { m.checkpoint(m.checkpointLogStarts) })
	every(m.cfg.HighWatermarkInterval, func() { m.checkpoint(m.checkpointHighWatermarks) })
	every(m.cfg.ProducerIDExpirationCheckInterval, func() {
		for _, l := range m.Logs() {
			l.expireProducers()
		}
	})
}

// checkRetention deletes old segments of all logs.
func (m *Manager) checkRetention() {
	m.checkRetentionOf(m.Logs())
}

func (m *Manager) checkRetentionOf(logs []*Log) {
	for _, l := range logs {
		if _, err := l.deleteOldSegments(); err != nil && l.usable() == nil && !IsScarce(err) {
			m.logger.Error("retention failed", "partition", l.tp.String(), "error", err)
		}
	}
}

// advanceRecoveryPoints writes the checkpoint, and has what flush.messages made durable without its indexes flushed for
// the next one: so recovery reads the appends of two intervals at most, and of one segment.
func (m *Manager) advanceRecoveryPoints() {
	m.checkpoint(m.checkpointRecoveryPoints)
	for _, l := range m.logsThat(func(l *Log) bool { return l.recoveryPoint.Load() < l.recordsDurable.Load() }) {
		m.flushSoon(l)
	}
}

// flushDue flushes the logs whose flush.ms has passed.
func (m *Manager) flushDue() {
	nowMs := m.clk.Now().UnixMilli()
	for _, l := range m.logsThat(func(l *Log) bool { return l.dir.offline() == nil && l.flushDue(nowMs) }) {
		m.flush(l)
	}
}

// flush flushes a log. An error has taken the directory offline, or the flush is owed; both were logged.
func (m *Manager) flush(l *Log) { _ = l.Flush() }

// checkpoint writes one checkpoint of every live directory. One that there is no room or no descriptor for stays as it
// was until the next time.
func (m *Manager) checkpoint(write func(*dir) error) {
	for _, d := range m.liveDirs() {
		if err := write(d); err != nil {
			_ = d.trouble(err) // It was logged.
		}
	}
}

// flusher is the goroutine that flushes logs whose segment was rolled. Logs wait in a set, so its
// length is bounded by their number.
type flusher struct {
	mu      sync.Mutex // guards what follows
	wake    *sync.Cond
	waiting map[*Log]struct{}
	// flushing says that a log is being flushed.
	flushing bool
	stopped  bool
	done     chan struct{}
	// all says that all logs are to be flushed. It is set without the lock, for those who append.
	all atomic.Bool
}

func (f *flusher) start(m *Manager) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wake = sync.NewCond(&f.mu)
	f.waiting = map[*Log]struct{}{}
	f.done = make(chan struct{})
	go f.run(m)
}

// add asks for a flush of l.
func (f *flusher) add(l *Log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting != nil && !f.stopped {
		f.waiting[l] = struct{}{}
		f.wake.Broadcast()
	}
}

// flushAll asks for a flush of all logs, in order that their files may close.
func (f *flusher) flushAll() {
	if f.all.Swap(true) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wake != nil {
		f.wake.Broadcast()
	}
}

// addAll lets all logs wait that have something to flush. Requires: f.mu held.
func (f *flusher) addAll(m *Manager) {
	if !f.all.Swap(false) {
		return
	}
	for _, l := range m.logsThat(func(l *Log) bool { return l.recoveryPoint.Load() < l.logEndOffset.Load() }) {
		f.waiting[l] = struct{}{}
	}
}

func (f *flusher) run(m *Manager) {
	defer close(f.done)
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		f.addAll(m)
		for len(f.waiting) == 0 && !f.stopped {
			f.wake.Wait()
			f.addAll(m)
		}
		if f.stopped {
			return
		}
		for l := range f.waiting {
			delete(f.waiting, l)
			f.flushing = true
			f.mu.Unlock()
			m.flush(l)
			f.mu.Lock()
			f.flushing = false
		}
		f.wake.Broadcast()
	}
}

// stop ends the goroutine; what waits is left to the caller.
func (f *flusher) stop() {
	f.mu.Lock()
	if f.waiting == nil {
		f.mu.Unlock()
		return
	}
	f.stopped = true
	f.wake.Broadcast()
	f.mu.Unlock()
	<-f.done
}
