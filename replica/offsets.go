package replica

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	commitlog "github.com/ottla/ottla/log"
)

// noOffset answers a search that found nothing.
var noOffset = OffsetAnswer{Offset: UnknownOffset, TimestampMs: -1, LeaderEpoch: NoLeaderEpoch}

// ListOffset finds an offset by timestamp or by one of the special timestamps, as Kafka's
// Partition.fetchOffsetForTimestamp does.
func (m *Manager) ListOffset(topic string, partition int32, q OffsetQuery) (OffsetAnswer, error) {
	p, err := m.partition(topic, partition)
	if err != nil {
		return noOffset, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.checkEpoch(q.CurrentLeaderEpoch); err != nil {
		return noOffset, err
	}
	if p.leading.Load() == notLeading && (q.ReplicaID != DebuggingReplicaID || p.state.deleted) {
		return noOffset, kerr.NotLeaderForPartition
	}
	b := boundHighWatermark
	switch {
	case q.ReplicaID != ConsumerReplicaID:
		b = boundLogEnd
	case q.Isolation == ReadCommitted:
		b = boundLastStableOffset
	}
	last := p.upperBound(b)
	// A new leader's high watermark may lie below what was committed before: until it reaches the start
	// of the epoch, nothing is said of what may be beyond it (KIP-207).
	var beyond error
	if q.ReplicaID == ConsumerReplicaID && p.state.epochStart > p.log().HighWatermark() {
		beyond = kerr.OffsetNotAvailable
	}
	switch q.Timestamp {
	case LatestTimestamp:
		if beyond != nil {
			return noOffset, beyond
		}
		return OffsetAnswer{Offset: last, TimestampMs: -1, LeaderEpoch: p.state.leaderEpoch}, nil
	case EarliestTimestamp, EarliestLocalTimestamp:
		start := p.log().LogStartOffset()
		return OffsetAnswer{Offset: start, TimestampMs: -1, LeaderEpoch: p.epochAt(start)}, nil
	case LatestTieredTimestamp, EarliestPendingUploadTimestamp:
		return noOffset, nil // Nothing is tiered.
	}
	var found commitlog.TimestampOffset
	var ok bool
	if q.Timestamp == MaxTimestamp {
		found, ok, err = p.log().MaxTimestamp()
	} else {
		found, ok, err = p.log().OffsetForTimestamp(q.Timestamp)
	}
	if err != nil {
		return noOffset, err
	}
	if !ok || found.Offset >= last {
		return noOffset, beyond
	}
	return OffsetAnswer{Offset: found.Offset, TimestampMs: found.TimestampMs, LeaderEpoch: found.LeaderEpoch}, nil
}

// epochAt is the leader epoch of the first record at or after an offset, that of the partition at
// the log end.
func (p *Partition) epochAt(offset int64) int32 {
	if e := p.log().EpochForOffset(offset); e >= 0 {
		return e
	}
	return NoLeaderEpoch
}

// EpochEndOffset is where leaderEpoch ends in this partition (KIP-320): the largest epoch not above
// it, and its end; -1 and -1 if unknown.
func (m *Manager) EpochEndOffset(topic string, partition, currentLeaderEpoch, leaderEpoch int32) (EpochEnd, error) {
	unknown := EpochEnd{Epoch: NoLeaderEpoch, EndOffset: UnknownOffset}
	p, err := m.partition(topic, partition)
	if err != nil {
		return unknown, err
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.checkLeader(currentLeaderEpoch); err != nil {
		return unknown, err
	}
	end := p.log().EpochEndOffset(leaderEpoch)
	return EpochEnd{Epoch: end.LeaderEpoch, EndOffset: end.EndOffset}, nil
}

// ActiveProducers lists the producers that the partition remembers, by producer id.
func (m *Manager) ActiveProducers(topic string, partition int32) ([]ProducerState, error) {
	p, err := m.partition(topic, partition)
	if err != nil {
		return nil, err
	}
	if err := p.log().Offline(); err != nil {
		return nil, err
	}
	if p.leading.Load() == notLeading {
		return nil, kerr.NotLeaderForPartition
	}
	active := p.log().ActiveProducers()
	states := make([]ProducerState, len(active))
	for i, a := range active {
		states[i] = ProducerState(a)
	}
	return states, nil
}

// LogDirs describes the log directories and the replicas in them.
func (m *Manager) LogDirs() []LogDir {
	infos := m.cfg.Logs.Dirs()
	dirs := make([]LogDir, len(infos))
	for i, info := range infos {
		d := LogDir{Path: info.Path, TotalBytes: info.TotalBytes, UsableBytes: info.UsableBytes}
		if info.Err != nil {
			d.Err = storageError(info.Err)
		}
		for _, l := range info.Logs {
			d.Replicas = append(d.Replicas, LogDirReplica{
				Topic: l.Topic(), Partition: l.Partition(), SizeBytes: l.SizeBytes(),
				OffsetLag: max(l.HighWatermark()-l.LogEndOffset(), 0),
			})
		}
		for _, f := range info.Futures {
			lag := int64(UnknownOffset)
			if l, ok := m.cfg.Logs.Get(f.Topic(), f.Partition()); ok {
				lag = l.LogEndOffset() - f.LogEndOffset()
			}
			d.Replicas = append(d.Replicas, LogDirReplica{
				Topic: f.Topic(), Partition: f.Partition(), SizeBytes: f.SizeBytes(), OffsetLag: lag, IsFuture: true,
			})
		}
		slices.SortFunc(d.Replicas, func(a, b LogDirReplica) int {
			if c := strings.Compare(a.Topic, b.Topic); c != 0 {
				return c
			}
			return int(a.Partition) - int(b.Partition)
		})
		dirs[i] = d
	}
	return dirs
}
