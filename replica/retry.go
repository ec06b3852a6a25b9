package replica

import (
	"cmp"
	"slices"
	"sync"

	"github.com/ottla/ottla/controller/image"
	commitlog "github.com/ottla/ottla/log"
)

// retrier tries again to make the logs for which there was no room, or no descriptor.
type retrier struct {
	m       *Manager
	workers sync.WaitGroup

	mu sync.Mutex // guards what follows
	// wanted says that a try is to begin, running that a goroutine sees to it.
	wanted, running, stopped bool
}

// RetryLogs says that there is room again, or descriptors: partitions whose log couldn't be made for want of them are
// served as soon as it is. It doesn't wait for that.
func (m *Manager) RetryLogs() {
	r := &m.retries
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = true
	if !r.running && !r.stopped {
		r.running = true
		r.workers.Go(r.run)
	}
}

func (r *retrier) run() {
	for r.begin() {
		r.m.retryLogs()
	}
}

// begin takes a wish for a try; without one the goroutine ends.
func (r *retrier) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = r.wanted && !r.stopped
	r.wanted = false
	return r.running
}

func (r *retrier) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.workers.Wait()
}

// retryLogs is one try.
func (m *Manager) retryLogs() {
	m.applying.Lock()
	defer m.applying.Unlock()
	img := m.image.Load()
	refused := m.refused()
	for len(refused) > 0 {
		n := slices.IndexFunc(refused, func(p *Partition) bool { return p.topic != refused[0].topic })
		if n < 0 {
			n = len(refused)
		}
		m.retryTopic(img, refused[:n])
		refused = refused[n:]
	}
}

// refused are the partitions without a log for want of room or descriptors, sorted.
func (m *Manager) refused() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var out []*Partition
	for _, p := range m.partitions {
		if p.failure != nil && commitlog.IsScarce(p.failure) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(p, q *Partition) int {
		return cmp.Or(cmp.Compare(p.topic, q.topic), cmp.Compare(p.index, q.index))
	})
	return out
}

// retryTopic tries partitions of one topic. Requires: m.applying held.
func (m *Manager) retryTopic(img *image.Image, refused []*Partition) {
	t := img.Topic(refused[0].topic)
	var missing []commitlog.NewLog
	for _, p := range refused {
		if t == nil || p.topicID != t.ID {
			continue
		}
		if s := t.Partition(p.index); s != nil && holds(s, m.cfg.NodeID) {
			// Where it was to be made then: nobody else has made it meanwhile.
			missing = append(missing, commitlog.NewLog{Topic: p.topic, Partition: p.index, TopicID: p.topicID, At: p.refusedAt})
		}
	}
	if len(missing) == 0 {
		return
	}
	for _, p := range m.open(missing, m.cfg.Settings(img, t.Name)) {
		m.enter(t, p)
	}
}
