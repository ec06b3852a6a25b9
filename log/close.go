package commitlog

import (
	"errors"
	"sync"
)

// Close stops the background work, flushes and closes all logs, writes the checkpoints and last the
// markers of a clean stop. A directory that is offline gets none of it. Calls on logs fail from then
// on; slices that were read stay valid.
func (m *Manager) Close() error {
	m.changing.Lock()
	defer m.changing.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.cleaner.stop()
	m.tasks.stop()
	m.flusher.stop()
	var errs []error
	for _, d := range m.dirs {
		errs = append(errs, m.closeDir(d))
	}
	m.closeDirs()
	m.calls.Wait()
	return errors.Join(errs...)
}

// closeDir closes the logs of a directory and says that it stopped cleanly.
func (m *Manager) closeDir(d *dir) error {
	work := make(chan *Log)
	var workers sync.WaitGroup
	for range max(diskWaiters, m.cfg.RecoveryThreadsPerDir) {
		workers.Go(func() {
			for l := range work {
				if err := l.shutDown(); err != nil && d.offline() == nil {
					d.fail(err)
				}
			}
		})
	}
	for _, l := range m.logsIn(d) {
		work <- l
	}
	close(work)
	workers.Wait()
	if err := d.offline(); err != nil {
		return err
	}
	write := func() error {
		if err := m.checkpointRecoveryPoints(d); err != nil {
			return err
		}
		if err := m.checkpointLogStarts(d); err != nil {
			return err
		}
		if err := m.checkpointHighWatermarks(d); err != nil {
			return err
		}
		return putCleanShutdown(m.fs, d.path, m.brokerEpoch.Load())
	}
	if err := write(); err != nil {
		d.fail(err)
		return d.offline()
	}
	return nil
}

// abandon closes everything as a crash would leave it.
func (m *Manager) abandon() {
	m.cleaner.stop()
	m.tasks.stop()
	for _, l := range m.Logs() {
		l.close()
	}
	m.closeDirs()
	m.calls.Wait()
}

// shutDown makes everything durable, with a snapshot of the producers at the end of the log, and
// closes the log.
func (l *Log) shutDown() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	defer l.close()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.finish(); err != nil {
		return err
	}
	return l.flushLocked()
}

// finish writes what only a clean stop writes.
func (l *Log) finish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.producers.SetMapEndOffset(l.logEndOffset.Load())
	if err := l.takeSnapshot(); err != nil {
		return err
	}
	return l.active().becomeInactive()
}

// close closes the files. Slices keep theirs open until they are released.
func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone.CompareAndSwap(nil, errClosed)
	for _, s := range *l.segments.Load() {
		s.discard()
	}
}
