package replica

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	commitlog "github.com/ottla/ottla/log"
)

// acksAll is acks=all on the wire.
const acksAll = -1

// Produce appends each partition of the plan, in order, and fills in the results. It reports
// whether acks=all appends still wait for their replicas; AwaitProduce is then due.
func (m *Manager) Produce(plan *ProducePlan) (wait bool) {
	for i := range plan.Partitions {
		pp := &plan.Partitions[i]
		pp.FirstOffset, pp.LogAppendTimeMs, pp.LogStartOffset = UnknownOffset, -1, UnknownOffset
		pp.target = nil
		if pp.Err != nil {
			continue
		}
		if pp.found == nil {
			if pp.Err = pp.absent; pp.Err != nil {
				continue
			}
			if pp.found, pp.Err = m.partition(pp.Topic, pp.Partition); pp.Err != nil {
				continue
			}
		}
		pp.found.produce(pp, plan.Acks)
		wait = wait || pp.target != nil
	}
	return wait
}

// Find looks a partition of a plan up before the plan runs. topicID is that of the topic that is in the cluster metadata: a replica of
// another one, which had the name before, is about to go, and what is appended to it would be lost.
func (m *Manager) Find(pp *ProducePartition, topicID image.ID) {
	p := m.replica(pp.Topic, pp.Partition)
	switch {
	case p == nil || p.topicID != topicID:
		pp.absent = kerr.NotLeaderForPartition
	case p.failure != nil:
		pp.absent = p.failure
	default:
		pp.found = p
	}
}

// ProduceFlushes says whether an append of the plan may have to wait until it is on the disk. Requires: its partitions were looked up.
func (m *Manager) ProduceFlushes(plan *ProducePlan) bool {
	for i := range plan.Partitions {
		pp := &plan.Partitions[i]
		if pp.Err != nil {
			continue
		}
		if pp.found != nil && pp.found.log().FlushesAppends() {
			return true
		}
	}
	return false
}

// produce appends one partition's records as the leader.
func (p *Partition) produce(pp *ProducePartition, acks int16) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if pp.Err = p.checkLeader(NoLeaderEpoch); pp.Err != nil {
		return
	}
	if acks == acksAll {
		if pp.Err = p.checkReplicas(); pp.Err != nil {
			pp.LogStartOffset = p.log().LogStartOffset()
			return
		}
	}
	info, err := p.log().Append(pp.Records, commitlog.AppendOptions{
		LeaderEpoch: p.state.leaderEpoch, Origin: commitlog.OriginClient,
	})
	if err != nil {
		pp.Err = err
		if tellsLogStart(err) {
			pp.LogStartOffset = p.log().LogStartOffset()
		}
		return
	}
	if !info.Duplicate {
		p.advance(info.SizeBytes)
	}
	pp.FirstOffset, pp.LogAppendTimeMs, pp.LogStartOffset = info.FirstOffset, info.LogAppendTimeMs, info.LogStartOffset
	if acks == acksAll && p.log().HighWatermark() <= info.LastOffset {
		pp.target, pp.epoch, pp.lastOffset = p, p.state.leaderEpoch, info.LastOffset
	}
}

// tellsLogStart says whether a failed append is answered with the log start offset: in Kafka
// (ReplicaManager) these errors are expected ones and told bare, all others carry it.
func tellsLogStart(err error) bool {
	for _, bare := range []*kerr.Error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.CorruptMessage,
		kerr.KafkaStorageError, kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition} {
		if errors.Is(err, bare) {
			return false
		}
	}
	return true
}

// AwaitProduce calls done once, on its own goroutine, when every append of the plan is
// replicated, failed, or timeout has passed; the results are final then. It reports false, and
// doesn't call done, if the plan was cancelled.
func (m *Manager) AwaitProduce(plan *ProducePlan, timeout time.Duration, done func()) bool {
	w := &plan.waiter
	w.entries = w.entries[:0]
	for i := range plan.Partitions {
		if pp := &plan.Partitions[i]; pp.target != nil {
			w.entries = append(w.entries, waitEntry{waiter: w, offset: pp.lastOffset, epoch: pp.epoch, index: i})
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
		plan.Partitions[e.index].target.awaitCommit(e)
	}
	return w.arm()
}

// settle takes the answers of the entries over into the plan.
func (plan *ProducePlan) settle() {
	for i := range plan.waiter.entries {
		e := &plan.waiter.entries[i]
		pp := &plan.Partitions[e.index]
		switch {
		case !e.done:
			pp.Err = kerr.RequestTimedOut
		case e.err != nil:
			pp.Err = e.err
		default:
			pp.Err = pp.target.checkCommitted()
		}
	}
}

// checkCommitted refuses to acknowledge what was replicated while the ISR was too small.
func (p *Partition) checkCommitted() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.checkReplicas() != nil {
		return kerr.NotEnoughReplicasAfterAppend
	}
	return nil
}

// CancelProduce ends waiting for good and is due at the end of every plan that waited. It reports
// false if nothing waits: done was called or is about to be.
func (m *Manager) CancelProduce(plan *ProducePlan) bool { return plan.waiter.cancel() }

// Append writes one record batch as the leader of leaderEpoch, for a coordinator, and returns the
// offsets of its first and last record. It takes batch and may patch it. Errors:
// NOT_LEADER_OR_FOLLOWER if the leader epoch has moved on, NOT_ENOUGH_REPLICAS if the ISR is too
// small, the device is full or too many files are open, and those of the log; after an error nothing of the batch is in
// the log.
func (p *Partition) Append(batch []byte, leaderEpoch int32) (first, last int64, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.checkLeader(NoLeaderEpoch); err != nil {
		return 0, 0, err
	}
	if p.state.leaderEpoch != leaderEpoch {
		return 0, 0, kerr.NotLeaderForPartition
	}
	if err := p.checkReplicas(); err != nil {
		return 0, 0, err
	}
	info, err := p.log().Append(batch, commitlog.AppendOptions{LeaderEpoch: leaderEpoch, Origin: commitlog.OriginCoordinator})
	if commitlog.IsScarce(err) {
		// KAFKA_STORAGE_ERROR would tell the coordinator that its log is lost.
		return 0, 0, kerror.Wrap(kerr.NotEnoughReplicas, errors.New(err.Error()))
	}
	if err != nil {
		return 0, 0, err
	}
	p.advance(info.SizeBytes)
	return info.FirstOffset, info.LastOffset, nil
}

// OnHighWatermark calls f once: with nil when the high watermark has passed offset, with an error
// when leadership of leaderEpoch is lost before. It calls f before it returns if that is known
// already, else on a goroutine of its own; f must not block.
func (p *Partition) OnHighWatermark(offset int64, leaderEpoch int32, f func(error)) {
	switch {
	case p.failure != nil:
		f(p.failure)
		return
	case p.leading.Load() != leaderEpoch:
		f(kerr.NotLeaderForPartition)
		return
	case p.log().HighWatermark() > offset:
		f(nil)
		return
	}
	w := &Waiter{}
	w.entries = []waitEntry{{waiter: w, offset: offset, epoch: leaderEpoch}}
	w.start(nil, noDeadline, 1, func(bool) { f(w.entries[0].err) })
	p.awaitCommit(&w.entries[0])
	w.arm()
}

// StartOffset is the first offset that can be read.
func (p *Partition) StartOffset() int64 { return p.log().LogStartOffset() }

// EndOffset is the offset that the next record gets.
func (p *Partition) EndOffset() int64 { return p.log().LogEndOffset() }

// HighWatermark is the exclusive bound of what is committed.
func (p *Partition) HighWatermark() int64 { return p.log().HighWatermark() }

// ISR is a copy of the in-sync replicas.
func (p *Partition) ISR() []int32 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.state.isr)
}
