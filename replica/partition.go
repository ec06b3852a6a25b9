package replica

import (
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	commitlog "github.com/ottla/ottla/log"
	"github.com/ottla/ottla/replica/isr"
)

// notLeading is Partition.leading while this broker doesn't lead.
const notLeading = -1

// Partition is one partition's replica on this broker. Coordinators use the one they lead as
// their log (package coordinator/shard declares what they need of it).
type Partition struct {
	topic   string
	topicID image.ID
	index   int32
	nodeID  int32
	// host is what the partition asks of its manager.
	host host
	// isEligible is eligible, kept so that it isn't allocated with each move of the high watermark.
	isEligible isr.Eligible

	// current is nil, and failure set, if the log can't be used. failure is fixed at creation; current is another
	// log once the partition was moved between directories, which takes mu.
	current atomic.Pointer[commitlog.Log]
	failure error
	// refusedAt is where the log was to be made, if failure is set.
	refusedAt commitlog.Placement

	// minInsyncReplicas is the topic's min.insync.replicas.
	minInsyncReplicas atomic.Int32
	// leaderThrottled and followerThrottled say that this replica is named by the topic's throttles.
	leaderThrottled, followerThrottled atomic.Bool

	// mu guards state. It is held for reading across an append, so that leadership can't move
	// between the decision to append and the append.
	mu    sync.RWMutex
	state state

	// leading is the leader epoch while this broker leads, else notLeading; it follows state, and is
	// what waiters compare without mu.
	leading atomic.Int32
	// changes counts changes of state.
	changes atomic.Uint64

	// positions serializes moves of the high watermark.
	// Invariant: logStartOffset <= lastStableOffset <= highWatermark <= logEndOffset.
	positions sync.Mutex
	// uncommittedBytes is what was appended since the high watermark last moved; guarded by positions.
	uncommittedBytes int64
	// view is the followers while this broker leads some, else nil. The pointer is guarded by mu, what it
	// points at by positions.
	view *isr.State

	// readers wait for an upper bound to move, commits for the high watermark to pass an offset, deletes
	// for the low watermark to reach one.
	readers, commits, deletes waitList
	// resting are the fetch sessions that want to be told of the next news.
	resting restList
}

// state is what the cluster metadata says of a partition.
type state struct {
	leader         int32
	leaderEpoch    int32
	partitionEpoch int32
	replicas, isr  []int32
	// epochStart is the log end at which the leader epoch began, if this broker leads.
	epochStart int64
	deleted    bool
}

func newPartition(h host, nodeID int32, topic string, id image.ID, index int32) *Partition {
	p := &Partition{topic: topic, topicID: id, index: index, nodeID: nodeID, host: h}
	p.isEligible = p.eligible
	p.state = state{leader: image.NoLeader, leaderEpoch: -1, partitionEpoch: -1}
	p.leading.Store(notLeading)
	return p
}

// Topic is the topic's name, Index the partition's number, TopicID the topic's id.
func (p *Partition) Topic() string     { return p.topic }
func (p *Partition) Index() int32      { return p.index }
func (p *Partition) TopicID() image.ID { return p.topicID }

// log is the partition's log. It is the same one for as long as mu is held; without mu it may have been moved
// away, and then its positions are those that it was moved at, and anything else fails.
func (p *Partition) log() *commitlog.Log { return p.current.Load() }

// use makes a log the partition's. Requires: p.mu held, or p not shared.
func (p *Partition) use(l *commitlog.Log) {
	l.OnStartMoved(p.startMoved)
	p.current.Store(l)
}

// apply takes what the metadata says now. Older news than what is known is ignored.
func (p *Partition) apply(s *image.Partition) error {
	p.mu.Lock()
	old := p.state
	if old.deleted || s.PartitionEpoch < old.partitionEpoch || s.LeaderEpoch < old.leaderEpoch {
		p.mu.Unlock()
		return nil
	}
	p.state = state{leader: s.Leader, leaderEpoch: s.LeaderEpoch, partitionEpoch: s.PartitionEpoch,
		replicas: s.Replicas, isr: s.ISR, epochStart: old.epochStart}
	var err error
	leading := int32(notLeading)
	if s.Leader == p.nodeID && p.failure == nil {
		leading = s.LeaderEpoch
		if old.leader != p.nodeID || old.leaderEpoch != s.LeaderEpoch {
			// The epoch starts at the log end, before its first append (KIP-101).
			p.state.epochStart = p.log().LogEndOffset()
			err = p.log().AssignEpoch(s.LeaderEpoch, p.state.epochStart)
		}
		if err != nil {
			leading = notLeading
		}
	}
	p.view = p.newView(&old, leading)
	p.leading.Store(leading)
	p.changes.Add(1)
	if leading != notLeading {
		p.advance(0)
	}
	p.mu.Unlock()
	p.stateChanged()
	return err
}

// reconfigure takes changed settings; a smaller min.insync.replicas may commit what waited.
func (p *Partition) reconfigure(s Settings) {
	p.log().UpdateConfig(s.Log)
	p.mu.RLock()
	defer p.mu.RUnlock()
	p.configure(s)
	if p.leading.Load() != notLeading {
		p.advance(0)
	}
}

// configure takes what the settings say to the replica, not to its log.
func (p *Partition) configure(s Settings) {
	p.minInsyncReplicas.Store(s.MinInsyncReplicas)
	p.leaderThrottled.Store(names(s.LeaderThrottled, p.index, p.nodeID))
	p.followerThrottled.Store(names(s.FollowerThrottled, p.index, p.nodeID))
}

// retire ends the partition: every waiter is woken, and later calls fail.
func (p *Partition) retire() {
	p.mu.Lock()
	p.state.deleted = true
	p.state.leader = image.NoLeader
	p.view = nil
	p.leading.Store(notLeading)
	p.changes.Add(1)
	p.mu.Unlock()
	p.stateChanged()
}

// checkLeader tells whether this broker leads, in the epoch that the client believes in.
// Requires: p.mu held.
func (p *Partition) checkLeader(currentLeaderEpoch int32) error {
	if err := p.checkEpoch(currentLeaderEpoch); err != nil {
		return err
	}
	if p.leading.Load() == notLeading {
		return kerr.NotLeaderForPartition
	}
	return nil
}

// checkEpoch tells whether the client believes in the leader epoch that is known here. Requires: p.mu held.
func (p *Partition) checkEpoch(currentLeaderEpoch int32) error {
	if p.failure != nil {
		return p.failure
	}
	if err := p.log().Offline(); err != nil {
		return err
	}
	if currentLeaderEpoch != NoLeaderEpoch {
		if currentLeaderEpoch < p.state.leaderEpoch {
			return kerr.FencedLeaderEpoch
		}
		if currentLeaderEpoch > p.state.leaderEpoch {
			return kerr.UnknownLeaderEpoch
		}
	}
	return nil
}

// checkReader tells whether a plan may read here: followers from their leader, consumers also from
// followers if their version knows of it (KIP-392). Requires: p.mu held.
func (p *Partition) checkReader(plan *FetchPlan, currentLeaderEpoch int32) error {
	if plan.FromFollowers && plan.ReplicaID < 0 && !p.state.deleted {
		return p.checkEpoch(currentLeaderEpoch)
	}
	if err := p.checkLeader(currentLeaderEpoch); err != nil {
		return err
	}
	if plan.ReplicaID >= 0 {
		return p.checkFollower(plan.ReplicaID, currentLeaderEpoch)
	}
	return nil
}

// checkReplicas refuses an acks=all append to an ISR that is too small. Like Kafka, a topic with
// fewer replicas than min.insync.replicas needs all of them only. Requires: p.mu held.
func (p *Partition) checkReplicas() error {
	if need := p.neededReplicas(); len(p.state.isr) < need {
		return kerror.New(kerr.NotEnoughReplicas, "The size of the current ISR is %d, and min.insync.replicas of %s-%d asks for %d",
			len(p.state.isr), p.topic, p.index, need)
	}
	return nil
}

// neededReplicas is how many in-sync replicas it takes to commit. Requires: p.mu held.
func (p *Partition) neededReplicas() int {
	return min(int(p.minInsyncReplicas.Load()), len(p.state.replicas))
}

// advance moves the high watermark as far as the in-sync replicas allow, after appendedBytes were
// written, and wakes who waited for it. Requires: p.mu held, this broker leads.
func (p *Partition) advance(appendedBytes int) {
	p.positions.Lock()
	p.uncommittedBytes += int64(appendedBytes)
	before := p.log().HighWatermark()
	stableBefore := p.log().LastStableOffset()
	after := before
	if to := p.committable(); to > before {
		after = p.log().SetHighWatermark(to)
	}
	stable := p.log().LastStableOffset()
	var committedBytes int64
	if after > before || after == p.log().LogEndOffset() {
		// The second case: a concurrent append moved the high watermark past ours too.
		committedBytes, p.uncommittedBytes = p.uncommittedBytes, 0
	}
	p.positions.Unlock()
	if after > before || stable > stableBefore || appendedBytes > 0 {
		p.wakeReaders(moved{
			highWatermark: after, lastStableOffset: stable, logEndOffset: p.log().LogEndOffset(),
			committedBytes: committedBytes, appendedBytes: int64(appendedBytes),
			// A transaction that ended frees bytes that nobody counted.
			stableJumped: stable != after || stableBefore != before,
		})
		p.wakeResting(appendedBytes > 0, after > before, stable > stableBefore)
	}
	if after > before {
		p.wakeCommits(after)
	}
}
