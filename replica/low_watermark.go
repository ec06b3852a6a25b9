package replica

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
)

// DeletePlan is the list of deletions of one DeleteRecords, with their results. One goroutine uses it at a
// time.
type DeletePlan struct {
	Partitions []DeletePartition

	waiter Waiter
}

// DeletePartition is one deletion of a plan.
type DeletePartition struct {
	Topic     string
	Partition int32
	// Offset is what becomes the log start, HighWatermarkOffset for the high watermark.
	Offset int64
	// Err, when set before the plan runs, makes the plan skip this partition and keep the error.
	Err error

	// LowWatermark is the smallest log start of the live replicas; UnknownOffset where Err says so.
	LowWatermark int64

	// target is the partition whose low watermark is still to reach offset, in leader epoch epoch.
	target *Partition
	offset int64
	epoch  int32
}

// Delete moves log start offsets up, as the plan says and as leader, and fills in the results. It reports
// whether live followers are yet to follow; AwaitDelete is then due. (KIP-107)
func (m *Manager) Delete(plan *DeletePlan) (wait bool) {
	for i := range plan.Partitions {
		dp := &plan.Partitions[i]
		dp.LowWatermark, dp.target = UnknownOffset, nil
		if dp.Err != nil {
			continue
		}
		p, err := m.partition(dp.Topic, dp.Partition)
		if err == nil {
			err = p.delete(dp)
		}
		dp.Err = err
		wait = wait || dp.target != nil
	}
	return wait
}

func (p *Partition) delete(dp *DeletePartition) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.checkLeader(NoLeaderEpoch); err != nil {
		return err
	}
	if !p.log().Config().Delete {
		return kerror.New(kerr.PolicyViolation, "Records of partition %s-%d can not be deleted due to the configured policy", p.topic, p.index)
	}
	offset := dp.Offset
	if offset == HighWatermarkOffset {
		offset = p.log().HighWatermark()
	}
	if offset < 0 {
		return kerr.OffsetOutOfRange
	}
	if _, err := p.log().DeleteRecords(offset); err != nil {
		return err
	}
	dp.LowWatermark = p.lowWatermark()
	if dp.LowWatermark < offset {
		dp.target, dp.offset, dp.epoch = p, offset, p.state.leaderEpoch
	}
	return nil
}

// lowWatermark is below what no live replica has records. Requires: p.mu held, this broker leads.
func (p *Partition) lowWatermark() int64 {
	start := p.log().LogStartOffset()
	if p.view == nil {
		return start
	}
	p.positions.Lock()
	defer p.positions.Unlock()
	return p.view.LowWatermark(start, p.alive)
}

// AwaitDelete calls done once, on its own goroutine, when the followers have followed every deletion of
// the plan, one failed, or timeout has passed; the results are final then. It reports false, and doesn't
// call done, if the plan was cancelled.
func (m *Manager) AwaitDelete(plan *DeletePlan, timeout time.Duration, done func()) bool {
	w := &plan.waiter
	w.entries = w.entries[:0]
	for i := range plan.Partitions {
		if dp := &plan.Partitions[i]; dp.target != nil {
			w.entries = append(w.entries, waitEntry{waiter: w, offset: dp.offset, epoch: dp.epoch, index: i})
		}
	}
	started := w.start(m.cfg.Clock, max(timeout, 0), int64(len(w.entries)), func(bool) {
		plan.settle()
		done()
	})
	if !started {
		return false
	}
	for i := range w.entries {
		e := &w.entries[i]
		plan.Partitions[e.index].target.awaitDelete(e)
	}
	return w.arm()
}

// settle takes the answers of the entries over into the plan.
func (plan *DeletePlan) settle() {
	for i := range plan.waiter.entries {
		e := &plan.waiter.entries[i]
		dp := &plan.Partitions[e.index]
		switch {
		case !e.done:
			dp.Err = kerr.RequestTimedOut
		case e.err != nil:
			dp.Err, dp.LowWatermark = e.err, UnknownOffset
		default:
			dp.LowWatermark = e.offset
		}
	}
}

// CancelDelete ends waiting for good and is due at the end of every plan that waited. It reports false if
// nothing waits: done was called or is about to be.
func (m *Manager) CancelDelete(plan *DeletePlan) bool { return plan.waiter.cancel() }

// awaitDelete enters a deletion's place among those that wait for the low watermark.
func (p *Partition) awaitDelete(e *waitEntry) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	p.deletes.mu.Lock()
	p.deletes.insert(e)
	p.deletes.mu.Unlock()
	p.wakeDeletes()
}

// wakeDeletes answers the deletions that the low watermark has reached, or whose leadership is over.
// Requires: p.mu held.
func (p *Partition) wakeDeletes() {
	p.deletes.mu.Lock()
	idle := p.deletes.head == nil
	p.deletes.mu.Unlock()
	if idle {
		return
	}
	epoch, low := p.leading.Load(), int64(UnknownOffset)
	if epoch != notLeading {
		low = p.lowWatermark()
	}
	p.deletes.mu.Lock()
	defer p.deletes.mu.Unlock()
	for e := p.deletes.head; e != nil; {
		next := e.next
		switch {
		case e.epoch != epoch:
			p.deletes.remove(e)
			p.answer(e, kerr.NotLeaderForPartition)
		case low >= e.offset:
			p.deletes.remove(e)
			e.offset = low
			p.answer(e, nil)
		}
		e = next
	}
}
