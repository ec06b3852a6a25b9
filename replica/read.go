package replica

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/vfs"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/replica/isr"
)

// noDeadline is the timeout of a wait without one.
const noDeadline = time.Duration(-1)

// Fetch reads each partition of the plan, in order, and fills in the results. It reports whether
// they are worth an answer now: enough bytes, an error, a divergence, nothing to wait for. Errors
// that were there before the plan ran don't hurry it, as in Kafka: a consumer of a deleted topic
// would turn in circles. A follower is told of them at once: it asks again after a pause of its own, so that
// a topic of which it has heard first isn't held up by a fetch that waits for others.
func (m *Manager) Fetch(plan *FetchPlan) (ready bool) {
	plan.readBytes, plan.Blocked = 0, false
	left := plan.MaxBytes
	minOneBatch := true
	readable := 0
	for i := range plan.Partitions {
		fp := &plan.Partitions[i]
		if fp.failed {
			fp.Err, fp.failed = nil, false // A former run's error; what it was about may be over.
		}
		fp.clear()
		if fp.Err != nil {
			ready = ready || plan.ReplicaID >= 0
			continue
		}
		readable++
		p, err := m.partition(fp.Topic, fp.Partition)
		if err == nil {
			err = p.read(plan, fp, min(int(fp.MaxBytes), left), minOneBatch)
		}
		if plan.Cached && errors.Is(err, vfs.ErrNotCached) {
			plan.Release()
			plan.Blocked = true
			return false
		}
		if err != nil {
			fp.clear()
			fp.Err, fp.failed = err, true
		}
		if fp.Err != nil || fp.HasDiverging || fp.PreferredReadReplica >= 0 {
			ready = true
		}
		n := 0
		if fp.Records != nil {
			n = fp.Records.Len()
			plan.readBytes += n
			minOneBatch = false
		}
		left = max(left-n, 0) // A negative limit of the request concerns the first partition only.
	}
	return ready || plan.readBytes >= plan.MinBytes || readable == 0 && !plan.Rest.any()
}

func (fp *FetchPartition) clear() {
	if fp.Records != nil {
		fp.Records.Release()
		fp.Records = nil
	}
	fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset = UnknownOffset, UnknownOffset, UnknownOffset
	fp.Aborted, fp.HasDiverging, fp.PreferredReadReplica, fp.source = nil, false, -1, nil
}

// Release gives up the records that the plan holds.
func (plan *FetchPlan) Release() {
	for i := range plan.Partitions {
		if fp := &plan.Partitions[i]; fp.Records != nil {
			fp.Records.Release()
			fp.Records = nil
		}
	}
}

// bound is what a plan reads up to.
func (plan *FetchPlan) bound() bound {
	switch {
	case plan.ReplicaID >= 0:
		return boundLogEnd
	case plan.Isolation == ReadCommitted:
		return boundLastStableOffset
	}
	return boundHighWatermark
}

// read fills in one partition of a plan.
func (p *Partition) read(plan *FetchPlan, fp *FetchPartition, maxBytes int, minOneBatch bool) error {
	if fp.TopicID != [16]byte{} && fp.TopicID != p.topicID {
		return kerr.InconsistentTopicID
	}
	if !plan.Cached {
		p.mu.RLock()
	} else if !p.mu.TryRLock() { // A change of leadership waits for appends that hold it for reading.
		return vfs.ErrNotCached
	}
	defer p.mu.RUnlock()
	if err := p.checkReader(plan, fp.CurrentLeaderEpoch); err != nil {
		return err
	}
	bound := plan.bound()
	fp.source, fp.changes = p, p.changes.Load()
	// The bound is read before the log is, so that what comes in between wakes the waiter.
	fp.seen = p.upperBound(bound)
	fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset = p.log().HighWatermark(), p.log().LastStableOffset(), p.log().LogStartOffset()
	if fp.PreferredReadReplica = p.preferredReplica(plan, fp.FetchOffset); fp.PreferredReadReplica >= 0 {
		return nil
	}
	if fp.LastFetchedEpoch >= 0 {
		end := p.log().EpochEndOffset(fp.LastFetchedEpoch)
		if end.LeaderEpoch < 0 || end.EndOffset < 0 {
			return kerr.OffsetOutOfRange
		}
		if end.LeaderEpoch < fp.LastFetchedEpoch || end.EndOffset < fp.FetchOffset {
			fp.HasDiverging, fp.Diverging = true, EpochEnd{Epoch: end.LeaderEpoch, EndOffset: end.EndOffset}
			return nil
		}
	}
	if maxBytes < 0 && fp.FetchOffset >= fp.LogStartOffset && fp.FetchOffset < fp.seen {
		// Kafka trips over a negative limit where there is something to read.
		return kerr.UnknownServerError
	}
	upper := fp.seen
	if p.withheld(plan) {
		upper = min(upper, fp.FetchOffset)
	}
	info, err := p.log().Read(commitlog.ReadOptions{
		Offset: fp.FetchOffset, MaxBytes: maxBytes, MinOneBatch: minOneBatch,
		UpperBound: upper, Aborted: bound == boundLastStableOffset, Cached: plan.Cached,
	})
	if err != nil {
		return err
	}
	if info.Records != nil {
		fp.Records = info.Records
		if plan.ReplicaID >= 0 && p.leaderThrottled.Load() {
			p.host.copied(info.Records.Len())
		}
	}
	if plan.ReplicaID >= 0 && !plan.waited {
		if err := p.followerFetched(plan.ReplicaID, isr.Fetch{Offset: fp.FetchOffset, LogStartOffset: fp.FollowerLogStartOffset,
			LeaderEnd: fp.seen, BrokerEpoch: plan.ReplicaEpoch, At: p.host.now()}); err != nil {
			return err
		}
		fp.HighWatermark, fp.LastStableOffset = p.log().HighWatermark(), p.log().LastStableOffset()
	}
	if bound == boundLastStableOffset {
		fp.Aborted = make([]AbortedTransaction, len(info.Aborted))
		for i, a := range info.Aborted {
			fp.Aborted[i] = AbortedTransaction(a)
		}
	}
	return nil
}

// AwaitFetch calls wake once, on its own goroutine, when the plan is worth running again, or
// timeout has passed since the plan first waited (expired). The plan must hold no records while it
// waits. It reports false, and doesn't call wake, if the plan was cancelled.
func (m *Manager) AwaitFetch(plan *FetchPlan, timeout time.Duration, wake func(expired bool)) bool {
	plan.waited = true
	w := &plan.waiter
	if cap(w.entries) < len(plan.Partitions) {
		w.entries = make([]waitEntry, 0, len(plan.Partitions))
	}
	w.entries = w.entries[:0]
	bound := plan.bound()
	for i := range plan.Partitions {
		w.entries = append(w.entries, waitEntry{waiter: w, offset: plan.Partitions[i].seen, bound: bound, index: i})
	}
	if !w.start(m.cfg.Clock, max(timeout, 0), int64(max(plan.MinBytes-plan.readBytes, 1)), wake) {
		return false
	}
	for i := range w.entries {
		if fp := &plan.Partitions[i]; fp.source != nil {
			fp.source.awaitData(&w.entries[i], fp.changes)
		}
	}
	plan.Rest.await(w)
	return w.arm()
}

// CancelFetch ends waiting for good and is due at the end of every plan that waited. It reports
// false if nothing waits: wake was called or is about to be.
func (m *Manager) CancelFetch(plan *FetchPlan) bool {
	plan.Rest.leave(&plan.waiter)
	return plan.waiter.cancel()
}

// Read returns whole record batches from the one that holds offset on, as stored, at most maxBytes
// except for a larger first one. It reads up to the log end: a leader owns what is above the high
// watermark. It is for coordinators, which load their state this way.
func (p *Partition) Read(offset int64, maxBytes int) ([]byte, error) {
	if p.failure != nil {
		return nil, p.failure
	}
	p.mu.RLock() // The log isn't moved away meanwhile.
	defer p.mu.RUnlock()
	info, err := p.log().Read(commitlog.ReadOptions{Offset: offset, MaxBytes: maxBytes, MinOneBatch: true, UpperBound: p.log().LogEndOffset()})
	if err != nil || info.Records == nil {
		return nil, err
	}
	defer info.Records.Release()
	buf := make([]byte, info.Records.Len())
	n, err := info.Records.ReadAt(buf, info.Records.Position())
	if n == len(buf) {
		err = nil
	} else if errors.Is(err, io.EOF) || err == nil {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return wholeBatches(buf), nil
}

// wholeBatches cuts off a last batch that isn't complete.
func wholeBatches(b []byte) []byte {
	end := 0
	for len(b)-end >= batch.LogOverhead {
		size := batch.LogOverhead + int(int32(binary.BigEndian.Uint32(b[end+8:])))
		if size <= batch.LogOverhead || size > len(b)-end {
			break
		}
		end += size
	}
	return b[:end]
}
