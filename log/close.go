package commitlog

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/vfs"
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

// closeDir closes the logs of a directory and says that it stopped cleanly. Where there is no room or no descriptor for
// all that is to be written it leaves no such mark: the next start recovers.
func (m *Manager) closeDir(d *dir) error {
	work := make(chan *Log)
	var workers sync.WaitGroup
	var scarce atomic.Pointer[error]
	for range max(diskWaiters, m.cfg.RecoveryThreadsPerDir) {
		workers.Go(func() {
			for l := range work {
				if err := l.shutDown(); err != nil && d.offline() == nil {
					err = d.trouble(err)
					scarce.Store(&err)
				}
			}
		})
	}
	for _, l := range append(m.futuresIn(d), m.logsIn(d)...) {
		work <- l
	}
	close(work)
	workers.Wait()
	if err := d.offline(); err != nil {
		return err
	}
	err := m.writeCheckpoints(d)
	if p := scarce.Load(); p != nil && err == nil {
		err = *p
	}
	if err == nil && m.unrecovered(d) {
		m.logger.Warn("leaving no mark of a clean stop: partitions were set aside that aren't recovered yet", "dir", d.path)
		return nil
	}
	if err == nil {
		err = putCleanShutdown(m.fs, d.path, m.brokerEpoch.Load())
	}
	if err == nil {
		return nil
	}
	if err = d.trouble(err); IsScarce(err) {
		m.logger.Warn("couldn't stop a log directory cleanly for want of room or descriptors; the next start recovers it",
			"dir", d.path, "error", err)
		return fmt.Errorf("stop log directory %s: %w", d.path, err)
	}
	return d.offline()
}

// writeCheckpoints writes those checkpoints that every directory has.
func (m *Manager) writeCheckpoints(d *dir) error {
	for _, write := range []func(*dir) error{m.checkpointRecoveryPoints, m.checkpointLogStarts, m.checkpointHighWatermarks} {
		if err := write(d); err != nil {
			return err
		}
	}
	return nil
}

// abandon closes everything as a crash would leave it.
func (m *Manager) abandon() {
	m.cleaner.stop()
	m.tasks.stop()
	for _, l := range slices.Concat(m.Logs(), m.futuresIn(nil), m.extra) {
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
	if err := l.flushLocked(); err != nil {
		return err
	}
	return l.whyOwed()
}

// whyOwed is owes as whoever asked for a flush sees it.
func (l *Log) whyOwed() error {
	if err := l.owes(); err != nil {
		return l.dir.trouble(fmt.Errorf("indexes or leader epochs of %s: %w", l.tp, err))
	}
	return nil
}

// finish writes what only a clean stop writes.
func (l *Log) finish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.producers.SetMapEndOffset(l.logEndOffset.Load())
	// Without a snapshot the next start reads what an older one leaves.
	if err := l.takeSnapshot(); err != nil && !vfs.Scarce(err) {
		return err
	}
	return l.active().becomeInactive()
}

// close closes the files. Slices keep theirs open until they are released.
func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone.CompareAndSwap(nil, errClosed)
	l.discard()
}
