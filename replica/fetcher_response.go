package replica

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// handlePartition takes one partition's part of a response. An error is the partition's alone.
func (f *fetcher) handlePartition(topicID [16]byte, r *kmsg.FetchResponseTopicPartition) {
	f.mu.Lock()
	e := f.session.find(topicID, r.Partition)
	if e == nil || !e.told {
		f.mu.Unlock()
		return
	}
	fd, a := e.fd, e.a
	f.mu.Unlock()

	if fd.p.followerThrottled.Load() {
		f.m.followerThrottle.take(len(r.RecordBatches), f.m.now())
	}
	moved, err := f.take(fd, a, r)

	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case fd.gone:
	case err == nil:
		fd.failures = 0
		fd.lag = max(r.HighWatermark-fd.p.log().LogEndOffset(), 0)
		if moved {
			f.markDirty(fd)
		}
	case errors.Is(err, errNotFollowing):
		f.session.forget(fd) // The news of whom to follow is on its way.
	default:
		fd.failures++
		d := f.backoff(fd.failures)
		f.rest(fd, f.m.now().Add(d))
		logger := f.m.cfg.Logger.Warn
		if expected(err) {
			logger = f.m.cfg.Logger.Debug
		}
		logger("can't follow partition", "topic", fd.p.topic, "partition", fd.p.index, "leader", f.id.leader,
			"leader_epoch", fd.f.leaderEpoch, "fetch_offset", a.fetchOffset, "retry_in", d, "error", err)
	}
}

// expected are the errors of leaders and followers that have heard of different things yet.
func expected(err error) bool {
	for _, k := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch, kerr.FencedLeaderEpoch,
		kerr.UnknownTopicID, kerr.UnknownTopicOrPartition, kerr.InconsistentTopicID} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// take does what a partition's response calls for, and reports whether there is something else to ask
// then.
func (f *fetcher) take(fd *followed, a ask, r *kmsg.FetchResponseTopicPartition) (moved bool, err error) {
	switch err := kerr.ErrorForCode(r.ErrorCode); {
	case errors.Is(err, kerr.OffsetOutOfRange):
		return f.outOfRange(fd)
	case err != nil:
		return false, err
	case r.DivergingEpoch.Epoch >= 0:
		return true, fd.p.truncateDiverged(fd.f, EpochEnd{Epoch: r.DivergingEpoch.Epoch, EndOffset: r.DivergingEpoch.EndOffset})
	}
	return fd.p.appendFetched(fd.f, a, r)
}

// listOffsetsVersion has leader epochs.
const listOffsetsVersion = 7

// outOfRange asks the leader for its log's range and brings the follower's log into it.
func (f *fetcher) outOfRange(fd *followed) (moved bool, err error) {
	end, err := f.leaderOffset(fd, LatestTimestamp)
	if err != nil {
		return false, err
	}
	start, err := f.leaderOffset(fd, EarliestTimestamp)
	if err != nil {
		return false, err
	}
	before := fd.p.log().LogEndOffset()
	if err := fd.p.truncateOutOfRange(fd.f, start, end); err != nil {
		return false, err
	}
	if fd.p.log().LogEndOffset() == before {
		return false, kerr.OffsetOutOfRange // It is in range now; try again after a rest.
	}
	return true, nil
}

// leaderOffset asks the leader for the start or the end of its log.
func (f *fetcher) leaderOffset(fd *followed, timestamp int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = listOffsetsVersion, f.m.cfg.NodeID
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = fd.p.topic
	q := kmsg.NewListOffsetsRequestTopicPartition()
	q.Partition, q.Timestamp, q.CurrentLeaderEpoch = fd.p.index, timestamp, fd.f.leaderEpoch
	t.Partitions = append(t.Partitions, q)
	req.Topics = append(req.Topics, t)
	resp, err := f.m.cfg.Peers.ListOffsets(f.ctx, f.id.leader, f.id.index, req)
	if err != nil {
		return 0, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("the leader's answer to ListOffsets isn't about what was asked")
	}
	r := &resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
		return 0, err
	}
	return r.Offset, nil
}
