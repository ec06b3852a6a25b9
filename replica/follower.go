package replica

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	commitlog "github.com/ottla/ottla/log"
)

// errNotFollowing is what a fetcher gets that works on old news: another leader or epoch is known, or the
// partition is gone.
var errNotFollowing = errors.New("the partition isn't followed in this leader epoch any more")

// errNoProgress is a divergence that a truncation didn't change.
var errNoProgress = errors.New("truncation to the leader's log had no effect")

// following is whom a fetcher follows, as it was told.
type following struct {
	leader, leaderEpoch int32
}

// role is whom to follow, or that this broker leads, and whether others follow it.
func (p *Partition) role() (f following, leads, followed bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	leads = p.leading.Load() != notLeading
	f = following{leader: p.state.leader, leaderEpoch: p.state.leaderEpoch}
	if !leads && f.leader == p.nodeID {
		f.leader = image.NoLeader // It should lead, and can't.
	}
	return f, leads, p.view != nil
}

// ask is what a fetcher asks the leader of a partition.
type ask struct {
	leaderEpoch, lastFetchedEpoch int32
	fetchOffset, logStartOffset   int64
}

// nextAsk is what to fetch next; false if f is old news.
func (p *Partition) nextAsk(f following) (ask, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.follows(f) {
		return ask{}, false
	}
	return ask{leaderEpoch: f.leaderEpoch, fetchOffset: p.log().LogEndOffset(), logStartOffset: p.log().LogStartOffset(),
		lastFetchedEpoch: p.log().LatestEpoch()}, true
}

// follows tells whether f is still true. Requires: p.mu held.
func (p *Partition) follows(f following) bool {
	s := &p.state
	return p.failure == nil && !s.deleted && s.leader == f.leader && s.leaderEpoch == f.leaderEpoch
}

// appendFetched appends what was fetched for a, which it borrows, and follows the leader's high watermark
// and log start. Leadership can't move between the check of f and the write: p.mu is held. It reports
// whether the log's end or start moved.
func (p *Partition) appendFetched(f following, a ask, r *kmsg.FetchResponseTopicPartition) (moved bool, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.follows(f) || p.log().LogEndOffset() != a.fetchOffset {
		return false, errNotFollowing
	}
	written := 0
	if len(r.RecordBatches) > 0 {
		info, err := p.log().Append(r.RecordBatches, commitlog.AppendOptions{LeaderEpoch: f.leaderEpoch, Origin: commitlog.OriginReplication})
		if err != nil {
			return false, err
		}
		written = info.SizeBytes
	}
	p.followTo(r.HighWatermark, written)
	if start := min(r.LogStartOffset, p.log().HighWatermark()); start > p.log().LogStartOffset() {
		if _, err := p.log().DeleteRecords(start); err != nil {
			return written > 0, err
		}
		return true, nil
	}
	return written > 0, nil
}

// followTo moves the high watermark to the leader's, as far as this log goes and never back: what was
// committed stays so. Requires: p.mu held, this broker follows.
func (p *Partition) followTo(leaderHighWatermark int64, appendedBytes int) {
	p.positions.Lock()
	p.uncommittedBytes += int64(appendedBytes)
	before, stableBefore := p.log().HighWatermark(), p.log().LastStableOffset()
	after := before
	if to := min(leaderHighWatermark, p.log().LogEndOffset()); to > before {
		after = p.log().SetHighWatermark(to)
	}
	stable := p.log().LastStableOffset()
	var committedBytes int64
	if after > before {
		committedBytes, p.uncommittedBytes = p.uncommittedBytes, 0
	}
	p.positions.Unlock()
	if after > before || stable > stableBefore {
		p.wakeReaders(moved{
			highWatermark: after, lastStableOffset: stable, logEndOffset: p.log().LogEndOffset(),
			committedBytes: committedBytes, appendedBytes: int64(appendedBytes), stableJumped: true,
		})
		p.wakeResting(false, after > before, stable > stableBefore)
	}
}

// truncateDiverged cuts what the leader doesn't have: it says that the epoch of this log's last records,
// or an earlier one, ends at leaderEnd there. Where this log knows of that epoch it is cut to the earlier
// of both ends; where it doesn't, to the end of the next smaller one, and the leader is asked again
// (KIP-279).
func (p *Partition) truncateDiverged(f following, leaderEnd EpochEnd) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.follows(f) {
		return errNotFollowing
	}
	to := leaderEnd.EndOffset
	if own := p.log().EpochEndOffset(leaderEnd.Epoch); own.LeaderEpoch >= 0 {
		if own.LeaderEpoch != leaderEnd.Epoch {
			to = own.EndOffset
		} else {
			to = min(to, own.EndOffset)
		}
	}
	end, epoch := p.log().LogEndOffset(), p.log().LatestEpoch()
	to = max(min(to, end), 0)
	if err := p.truncateTo(f, to); err != nil {
		return err
	}
	if p.log().LogEndOffset() == end && p.log().LatestEpoch() == epoch {
		return errNoProgress
	}
	return nil
}

// truncateOutOfRange brings a log whose end the leader doesn't have into its range: [leaderStart,
// leaderEnd]. A log that goes beyond the leader's is cut, which follows an unclean election; one that ends
// before the leader's begins starts anew there.
func (p *Partition) truncateOutOfRange(f following, leaderStart, leaderEnd int64) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.follows(f) {
		return errNotFollowing
	}
	switch end := p.log().LogEndOffset(); {
	case leaderEnd < end:
		return p.truncateTo(f, leaderEnd)
	case leaderStart > end:
		p.host.logger().Warn("the leader's log begins beyond this replica's end; starting anew", "topic", p.topic, "partition", p.index,
			"leader", f.leader, "leader_epoch", f.leaderEpoch, "log_end_offset", end, "leader_log_start_offset", leaderStart)
		err := p.log().TruncateFullyAndStartAt(leaderStart)
		p.truncated()
		return err
	}
	return nil
}

// truncateTo cuts the log. Below the high watermark that is an alarm: records that were committed go.
// Requires: p.mu held.
func (p *Partition) truncateTo(f following, to int64) error {
	log, below := p.host.logger().Info, p.log().HighWatermark()
	if to < below {
		log = p.host.logger().Error
		p.host.committedLost()
	}
	log("truncating to the leader's log", "topic", p.topic, "partition", p.index, "leader", f.leader, "leader_epoch", f.leaderEpoch,
		"offset", to, "log_end_offset", p.log().LogEndOffset(), "high_watermark", below, "below_high_watermark", to < below)
	err := p.log().TruncateTo(to)
	p.truncated()
	return err
}

// truncated wakes readers, whose bounds may have moved back. Requires: p.mu held.
func (p *Partition) truncated() {
	p.positions.Lock()
	p.uncommittedBytes = 0
	p.positions.Unlock()
	p.changes.Add(1)
	p.wakeAllReaders()
}
