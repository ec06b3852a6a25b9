package replica

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/replica/isr"
)

const (
	// isrChangeDelay is how long a change waits for others, to travel in one request.
	isrChangeDelay = 2 * time.Millisecond
	// isrChangeRetry is when a request that failed is repeated, as in Kafka (AlterPartitionManager).
	isrChangeRetry = 50 * time.Millisecond
)

// isrChanges carries the partitions' changes of ISR to the controller: one request at a time with all that
// have gathered. It runs while there are any.
type isrChanges struct {
	m      *Manager
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// waiting are the partitions whose views have a change to send, each once, as in waits; guarded by mu, as what
	// follows.
	waiting []*Partition
	waits   map[*Partition]struct{}
	// scheduled says that the timer is set or run is running.
	scheduled bool
	timer     clock.Timer
	closed    bool
	idle      sync.Cond
}

func newISRChanges(m *Manager) *isrChanges {
	c := &isrChanges{m: m, waits: make(map[*Partition]struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.idle.L = &c.mu
	return c
}

// add has p's pending change sent soon.
func (c *isrChanges) add(p *Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.m.cfg.ISRChanges == nil {
		return
	}
	c.push(p)
	if !c.scheduled {
		c.schedule(isrChangeDelay)
	}
}

// push has p stand in waiting. Requires: c.mu held.
func (c *isrChanges) push(p *Partition) {
	if _, ok := c.waits[p]; !ok {
		c.waits[p] = struct{}{}
		c.waiting = append(c.waiting, p)
	}
}

// schedule has run called after d. Requires: c.mu held.
func (c *isrChanges) schedule(d time.Duration) {
	c.scheduled = true
	c.timer = c.m.cfg.Clock.AfterFunc(d, c.run)
}

// run sends what waits, and again while there is more.
func (c *isrChanges) run() {
	for {
		c.mu.Lock()
		if c.closed || len(c.waiting) == 0 {
			c.scheduled = false
			c.idle.Broadcast()
			c.mu.Unlock()
			return
		}
		batch := c.waiting
		c.waiting = nil
		clear(c.waits)
		c.mu.Unlock()

		again := c.send(batch)
		if len(again) == 0 {
			continue
		}
		c.mu.Lock()
		for _, p := range again {
			c.push(p)
		}
		if !c.closed {
			c.schedule(isrChangeRetry)
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// close ends sending and waits for its end.
func (c *isrChanges) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
	if c.timer != nil && c.timer.Stop() {
		c.scheduled = false
	}
	for c.scheduled {
		c.idle.Wait()
	}
}

// sentChange is a change as it was sent.
type sentChange struct {
	p                           *Partition
	change                      *isr.Change
	leaderEpoch, partitionEpoch int32
}

// send asks the controller for the partitions' changes, and returns the partitions to try again with.
func (c *isrChanges) send(batch []*Partition) (again []*Partition) {
	epoch := c.m.brokerEpoch.Load()
	if epoch == noBrokerEpoch {
		return batch
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = req.MaxVersion()
	req.BrokerID, req.BrokerEpoch = c.m.cfg.NodeID, epoch
	sent := make(map[isrKey]sentChange, len(batch))
	topics := make(map[[16]byte]int)
	for _, p := range batch {
		s, out, ok := p.isrRequest(epoch)
		if !ok {
			continue // Settled meanwhile.
		}
		sent[isrKey{p.topicID, p.index}] = s
		at, known := topics[p.topicID]
		if !known {
			at = len(req.Topics)
			topics[p.topicID] = at
			t := kmsg.NewAlterPartitionRequestTopic()
			t.TopicID = p.topicID
			req.Topics = append(req.Topics, t)
		}
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, out)
	}
	if len(sent) == 0 {
		return nil
	}
	resp, err := c.m.cfg.ISRChanges.AlterPartition(c.ctx, req)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		if c.ctx.Err() == nil {
			c.m.cfg.Logger.Warn("can't change in-sync replicas, trying again", "partitions", len(sent), "error", err)
		}
		return partitionsOf(batch, sent)
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			answer := &t.Partitions[j]
			key := isrKey{t.TopidID, answer.Partition} // As kmsg spells it.
			s, ok := sent[key]
			if ok && !c.m.isrAnswered(s, answer) {
				delete(sent, key)
			}
		}
	}
	return partitionsOf(batch, sent) // Also what the answer leaves out.
}

type isrKey struct {
	topicID   [16]byte
	partition int32
}

// partitionsOf are those of batch, in its order, that are in left.
func partitionsOf(batch []*Partition, left map[isrKey]sentChange) []*Partition {
	var out []*Partition
	for _, p := range batch {
		if _, ok := left[isrKey{p.topicID, p.index}]; ok {
			out = append(out, p)
		}
	}
	return out
}

// isrRequest is the pending change as it is to be sent; false if there is none.
func (p *Partition) isrRequest(selfEpoch int64) (sentChange, kmsg.AlterPartitionRequestTopicPartition, bool) {
	out := kmsg.NewAlterPartitionRequestTopicPartition()
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.view == nil {
		return sentChange{}, out, false
	}
	p.positions.Lock()
	defer p.positions.Unlock()
	change := p.view.Pending()
	if change == nil {
		return sentChange{}, out, false
	}
	out.Partition, out.LeaderEpoch, out.PartitionEpoch = p.index, p.state.leaderEpoch, p.state.partitionEpoch
	for _, id := range change.ISR {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID = id
		if id == p.nodeID {
			member.BrokerEpoch = selfEpoch
		} else if f := p.view.Follower(id); f != nil {
			member.BrokerEpoch = f.BrokerEpoch
		}
		out.NewEpochISR = append(out.NewEpochISR, member)
	}
	return sentChange{p: p, change: change, leaderEpoch: p.state.leaderEpoch, partitionEpoch: p.state.partitionEpoch}, out, true
}

// isrAnswered takes the controller's answer to one change, and reports whether to send it again. (Kafka:
// Partition.submitAlterPartition.)
func (m *Manager) isrAnswered(s sentChange, answer *kmsg.AlterPartitionResponseTopicPartition) (again bool) {
	p := s.p
	code := kerr.ErrorForCode(answer.ErrorCode)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.view == nil || p.leading.Load() != s.leaderEpoch {
		return false
	}
	p.positions.Lock()
	if p.view.Pending() != s.change {
		p.positions.Unlock()
		return false // News by an image came first.
	}
	switch answer.ErrorCode {
	case 0:
		if answer.LeaderEpoch != s.leaderEpoch || answer.PartitionEpoch < p.state.partitionEpoch {
			break // An image will tell more.
		}
		p.state.isr, p.state.partitionEpoch = answer.ISR, answer.PartitionEpoch
		p.view.CommitISR(answer.ISR)
		m.stats.changed(s.change)
	case kerr.OperationNotAttempted.Code, kerr.IneligibleReplica.Code, kerr.InvalidRequest.Code:
		// Refused for certain. A follower that still qualifies asks again with its next fetch.
		p.view.Abandon()
		m.stats.failedISRUpdates.Add(1)
	case kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code, kerr.FencedLeaderEpoch.Code,
		kerr.InvalidUpdateVersion.Code, kerr.NewLeaderElected.Code:
		// Decided on old news. The change stays pending, and so counts, until an image settles it: it
		// may be committed by an earlier try.
		m.stats.failedISRUpdates.Add(1)
	default:
		again = true
	}
	p.positions.Unlock()
	if code != nil {
		m.cfg.Logger.Info("change of in-sync replicas was refused", "topic", p.topic, "partition", p.index,
			"isr", s.change.ISR, "leader_epoch", s.leaderEpoch, "partition_epoch", s.partitionEpoch, "again", again, "error", code)
		return again
	}
	m.cfg.Logger.Info("in-sync replicas changed", "topic", p.topic, "partition", p.index, "isr", p.state.isr,
		"partition_epoch", p.state.partitionEpoch)
	p.advance(0)
	return false
}
