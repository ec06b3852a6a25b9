package replica

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/clock"
)

// maxAssign bounds the partitions of one message to the controller (Kafka: AssignmentsManager).
const maxAssign = 2250

// DirAssignment says which log directory holds a partition of this broker.
type DirAssignment struct {
	TopicID   image.ID
	Partition int32
	Directory [16]byte
}

// assigner tells the controller where partitions lie, where the metadata says something else or nothing: of a
// partition that was made, moved, or whose log a start found elsewhere. (KIP-858.)
type assigner struct {
	m       *Manager
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup

	mu sync.Mutex // guards what follows
	// pending are the partitions to tell of; running says that a goroutine does.
	pending map[*Partition]struct{}
	running bool
	started bool
	stopped bool
}

func (a *assigner) init(m *Manager) {
	a.m, a.pending = m, make(map[*Partition]struct{})
	a.ctx, a.cancel = context.WithCancel(context.Background())
}

func (a *assigner) start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = true
	a.wake()
}

func (a *assigner) stop() {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.cancel()
	a.workers.Wait()
}

// checkDirectory has the controller told if the metadata is wrong about where a partition lies. One that is being
// moved may be said to lie where it is moved to.
func (m *Manager) checkDirectory(p *Partition, s *image.Partition) {
	if l := p.log(); m.cfg.AssignDirs == nil || l == nil || l.Future() != nil || s.Directory(m.cfg.NodeID) == l.DirectoryID() {
		return
	}
	m.assigns.mu.Lock()
	defer m.assigns.mu.Unlock()
	m.assigns.pending[p] = struct{}{}
	m.assigns.wake()
}

// wake starts the goroutine if there is something to do. Requires: a.mu held.
func (a *assigner) wake() {
	if a.started && !a.stopped && !a.running && len(a.pending) > 0 {
		a.running = true
		a.workers.Go(a.run)
	}
}

func (a *assigner) run() {
	retry := moveRetry
	for {
		a.mu.Lock()
		if a.stopped || len(a.pending) == 0 {
			a.running = false
			a.mu.Unlock()
			return
		}
		partitions := make([]*Partition, 0, len(a.pending))
		for p := range a.pending {
			partitions = append(partitions, p)
		}
		slices.SortFunc(partitions, func(p, q *Partition) int {
			return cmp.Or(cmp.Compare(p.topic, q.topic), cmp.Compare(p.index, q.index))
		})
		partitions = partitions[:min(len(partitions), maxAssign)]
		for _, p := range partitions {
			delete(a.pending, p)
		}
		a.mu.Unlock()

		list := make([]DirAssignment, 0, len(partitions))
		for _, p := range partitions {
			if l := p.log(); l.Future() == nil {
				list = append(list, DirAssignment{TopicID: p.topicID, Partition: p.index, Directory: l.DirectoryID()})
			}
		}
		if len(list) == 0 {
			continue
		}
		if err := a.m.cfg.AssignDirs(a.ctx, list); err != nil && a.ctx.Err() == nil {
			a.m.cfg.Logger.Warn("can't tell the controller where partitions lie, trying again later", "partitions", len(list), "error", err)
			a.mu.Lock()
			for _, p := range partitions {
				a.pending[p] = struct{}{}
			}
			a.mu.Unlock()
			if clock.Sleep(a.ctx, a.m.cfg.Clock, retry) == nil {
				retry = min(2*retry, maxMoveRetry)
			}
		}
	}
}
