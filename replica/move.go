package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/clock"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/clean"
)

const (
	// moveBuffer is the piece in which a move copies, in bytes.
	moveBuffer = 256 << 10
	// moveRetry is how long a move waits that failed, at first and at most.
	moveRetry, maxMoveRetry = time.Second, time.Minute
)

// AlterLogDir asks for a partition's log to be moved to another log dir, as it is named in log.dirs, and returns
// once the move has begun (KIP-113). A partition that is there already isn't moved, and a move to elsewhere is
// given up. A partition that isn't known is made there when it comes. Errors: LOG_DIR_NOT_FOUND,
// KAFKA_STORAGE_ERROR, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER. (Kafka:
// ReplicaManager.alterReplicaLogDirs.)
func (m *Manager) AlterLogDir(topic string, partition int32, dir string) error {
	moving, err := m.cfg.Logs.MoveTo(topic, partition, dir)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		p, err := m.partition(topic, partition)
		if err == nil {
			err = p.log().Offline()
		}
		return cmpOr(err, kerr.UnknownTopicOrPartition)
	}
	if err != nil {
		return err
	}
	p, err := m.partition(topic, partition)
	if err != nil {
		return err
	}
	if moving {
		m.moves.add(p)
	} else if s := m.image.Load().Partition(topic, partition); s != nil {
		m.checkDirectory(p, s) // A move that was given up may have been announced.
	}
	return nil
}

func cmpOr(err error, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// SetMoveRate bounds what all moves together copy, in bytes per second
// (replica.alter.log.dirs.io.max.bytes.per.second); zero or less is no bound.
func (m *Manager) SetMoveRate(bytesPerSecond float64) { m.moves.throttle.SetRate(bytesPerSecond) }

// mover moves partitions between directories: each by one goroutine, several at a time, none while nothing is to
// be moved. What is copied where is package commitlog's; here is when, how fast, and who is told.
type mover struct {
	m        *Manager
	threads  int
	throttle clean.Throttle
	ctx      context.Context
	cancel   context.CancelFunc
	workers  sync.WaitGroup

	mu sync.Mutex // guards what follows
	// waiting are the partitions to be moved, in order; busy those that are being moved, true if they are asked
	// to be looked at again.
	waiting []*Partition
	busy    map[*Partition]bool
	started bool
	stopped bool
}

func (v *mover) init(m *Manager) {
	v.m, v.busy = m, make(map[*Partition]bool)
	v.ctx, v.cancel = context.WithCancel(context.Background())
}

// start lets moves begin, those of an earlier run first.
func (v *mover) start() {
	v.threads = v.m.cfg.MoveThreads
	if v.threads <= 0 {
		v.threads = len(v.m.cfg.Logs.Dirs())
	}
	v.mu.Lock()
	v.started = true
	v.mu.Unlock()
	for _, l := range v.m.cfg.Logs.Moving() {
		if p, err := v.m.partition(l.Topic(), l.Partition()); err == nil {
			v.add(p)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wake()
}

// stop ends all moves where they are and waits for their goroutines.
func (v *mover) stop() {
	v.mu.Lock()
	v.stopped = true
	v.waiting = nil
	v.mu.Unlock()
	v.cancel()
	v.workers.Wait()
}

// add moves a partition whose log has a future.
func (v *mover) add(p *Partition) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.busy[p]; ok {
		v.busy[p] = true
		return
	}
	if !slices.Contains(v.waiting, p) {
		v.waiting = append(v.waiting, p)
	}
	v.wake()
}

// wake starts as many goroutines as there is work for. Requires: v.mu held.
func (v *mover) wake() {
	for v.started && !v.stopped && len(v.waiting) > 0 && len(v.busy) < v.threads {
		p := v.waiting[0]
		v.waiting = slices.Delete(v.waiting, 0, 1)
		v.busy[p] = false
		v.workers.Go(func() { v.work(p) })
	}
}

// work moves a partition, and again if it was asked for meanwhile.
func (v *mover) work(p *Partition) {
	for {
		v.move(p)
		v.mu.Lock()
		if !v.busy[p] || v.stopped {
			delete(v.busy, p)
			v.wake()
			v.mu.Unlock()
			return
		}
		v.busy[p] = false
		v.mu.Unlock()
	}
}

// move copies until the future log has all, and puts it in its place.
func (v *mover) move(p *Partition) {
	buf := make([]byte, moveBuffer)
	retry := moveRetry
	for v.ctx.Err() == nil {
		l := p.log()
		n, atEnd, err := l.CopyToFuture(buf)
		if err == nil && atEnd {
			err = v.finish(p, l)
			if err == nil {
				return
			}
		}
		if err != nil {
			if v.over(p, l, err) || clock.Sleep(v.ctx, v.m.cfg.Clock, retry) != nil {
				return
			}
			retry = min(2*retry, maxMoveRetry)
			continue
		}
		retry = moveRetry
		for d := v.throttle.Take(int64(n), v.m.cfg.Clock.Now()); d > 0 && l.Future() != nil; d = v.throttle.Take(0, v.m.cfg.Clock.Now()) {
			if clock.Sleep(v.ctx, v.m.cfg.Clock, d) != nil {
				return
			}
		}
	}
}

// over says that an error ends the move: it was given up, the partition was deleted, or a directory failed.
func (v *mover) over(p *Partition, l *commitlog.Log, err error) bool {
	f := l.Future()
	if f == nil || v.ctx.Err() != nil {
		return true
	}
	if f.Offline() != nil {
		v.m.cfg.Logs.AbandonMove(l)
	} else if l.Offline() == nil {
		v.m.cfg.Logger.Warn("can't move log, trying again later", "topic", p.topic, "partition", p.index, "error", err)
		return false
	}
	v.m.cfg.Logger.Error("can't move log", "topic", p.topic, "partition", p.index, "error", err)
	return true
}

// finish announces the future log's directory and puts the log in its place. The announcement comes first, as in
// Kafka: from the change on the partition shares the fate of the new directory. A crash between them is mended by
// the announcements of the next start.
func (v *mover) finish(p *Partition, l *commitlog.Log) error {
	f := l.Future()
	if f == nil {
		return nil
	}
	if err := f.Flush(); err != nil {
		return err
	}
	if assign := v.m.cfg.AssignDirs; assign != nil {
		if err := assign(v.ctx, []DirAssignment{{TopicID: p.topicID, Partition: p.index, Directory: f.DirectoryID()}}); err != nil {
			return err
		}
	}
	if err := p.swapLog(l, v.m.cfg.Logs.FinishMove); err != nil {
		return err
	}
	if s := v.m.image.Load().Partition(p.topic, p.index); s != nil {
		v.m.checkDirectory(p, s)
	}
	return v.m.cfg.Logs.ForgetMoved(l)
}

// swapLog takes another log for the one that l was; nothing is appended or read meanwhile.
func (p *Partition) swapLog(l *commitlog.Log, finish func(*commitlog.Log) (*commitlog.Log, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next, err := finish(l)
	if next != nil {
		p.use(next)
	}
	return err
}
