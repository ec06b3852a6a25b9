package replica

import (
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
)

// moved is how far a partition's positions have come, and by how many bytes.
type moved struct {
	highWatermark, lastStableOffset, logEndOffset int64
	committedBytes, appendedBytes                 int64
	stableJumped                                  bool
}

// upperBound is where readers of a bound must stop.
func (p *Partition) upperBound(b bound) int64 {
	switch b {
	case boundLastStableOffset:
		return p.log().LastStableOffset()
	case boundLogEnd:
		return p.log().LogEndOffset()
	}
	return p.log().HighWatermark()
}

// awaitData enters a fetch's place among the readers. What has moved since the read satisfies it at
// once: positions are published before the list is walked, so nothing falls between.
func (p *Partition) awaitData(e *waitEntry, changes uint64) {
	p.readers.mu.Lock()
	defer p.readers.mu.Unlock()
	p.readers.push(e)
	if p.changes.Load() != changes || p.upperBound(e.bound) > e.offset {
		e.waiter.satisfy(math.MaxInt32)
	}
}

// wakeReaders takes the new bytes off what each reader still needs.
func (p *Partition) wakeReaders(m moved) {
	p.readers.mu.Lock()
	defer p.readers.mu.Unlock()
	for e := p.readers.head; e != nil; e = e.next {
		to, bytes := m.highWatermark, m.committedBytes
		switch e.bound {
		case boundLastStableOffset:
			to = m.lastStableOffset
			if m.stableJumped {
				bytes = math.MaxInt32
			}
		case boundLogEnd:
			to, bytes = m.logEndOffset, m.appendedBytes
		}
		if to > e.offset || to == e.offset && bytes > 0 {
			e.offset = to
			e.waiter.satisfy(max(bytes, 1))
		}
	}
}

// awaitCommit enters an append's place among those that wait for the high watermark.
func (p *Partition) awaitCommit(e *waitEntry) {
	p.commits.mu.Lock()
	defer p.commits.mu.Unlock()
	switch {
	case p.leading.Load() != e.epoch:
		p.answer(e, kerr.NotLeaderForPartition)
	case p.log().HighWatermark() > e.offset:
		p.answer(e, nil)
	default:
		p.commits.insert(e)
	}
}

// wakeCommits answers the appends that the high watermark has passed.
func (p *Partition) wakeCommits(highWatermark int64) {
	p.commits.mu.Lock()
	defer p.commits.mu.Unlock()
	for e := p.commits.head; e != nil && e.offset < highWatermark; e = p.commits.head {
		p.commits.remove(e)
		p.answer(e, nil)
	}
}

// wakeAllReaders has every reader look again.
func (p *Partition) wakeAllReaders() {
	p.wakeAllResting(true)
	p.readers.mu.Lock()
	defer p.readers.mu.Unlock()
	for e := p.readers.head; e != nil; e = e.next {
		e.waiter.satisfy(math.MaxInt32)
	}
}

// stateChanged wakes every reader, and fails the appends of epochs that this broker no longer
// leads: they may be stored, and idempotence makes the retry safe.
func (p *Partition) stateChanged() {
	p.wakeAllReaders()

	epoch := p.leading.Load()
	p.commits.mu.Lock()
	for e := p.commits.head; e != nil; {
		next := e.next
		if e.epoch != epoch {
			p.commits.remove(e)
			p.answer(e, kerr.NotLeaderForPartition)
		}
		e = next
	}
	p.commits.mu.Unlock()

	p.mu.RLock()
	p.wakeDeletes()
	p.mu.RUnlock()
}

// answer settles an entry of commits or deletes. Requires: the list's mu held, e not linked.
func (p *Partition) answer(e *waitEntry, err error) {
	e.done, e.err = true, err
	e.waiter.satisfy(1)
}

// waiters counts who waits, for tests and metrics.
func (p *Partition) waiters() (readers, commits int) {
	p.readers.mu.Lock()
	readers = p.readers.len
	p.readers.mu.Unlock()
	p.commits.mu.Lock()
	commits = p.commits.len
	p.commits.mu.Unlock()
	return readers, commits
}
