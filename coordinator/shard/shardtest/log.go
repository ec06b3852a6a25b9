// Package shardtest helps to test machines and shards: a log in memory whose high watermark and
// failures the test decides, and a bench that runs a machine by hand on a clock of its own.
package shardtest

import (
	"slices"
	"sync"

	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Log implements shard.Log in memory.
type Log struct {
	mu      sync.Mutex
	batches [][]byte
	end     int64
	epoch   int32
	// hold keeps the high watermark where it is.
	hold          bool
	highWatermark int64
	waiting       []waiter
	failures      []error
	readErr       error
	// readHold, if set, makes Read wait until it is closed.
	readHold chan struct{}
}

type waiter struct {
	offset int64
	f      func(error)
}

// NewLog returns an empty log led in leaderEpoch, whose high watermark follows its end.
func NewLog(leaderEpoch int32) *Log { return &Log{epoch: leaderEpoch} }

// Append implements shard.Log.
func (l *Log) Append(b []byte, leaderEpoch int32) (first, last int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failures) > 0 {
		err, l.failures = l.failures[0], l.failures[1:]
		if err != nil {
			return -1, -1, err
		}
	}
	if leaderEpoch != l.epoch {
		return -1, -1, kerr.NotLeaderForPartition
	}
	one, rest, err := batch.Parse(b)
	if err != nil {
		return -1, -1, err
	}
	if len(rest) > 0 {
		panic("shardtest: more than one batch in an append")
	}
	one.SetBaseOffset(l.end)
	l.batches = append(l.batches, one.Bytes())
	l.end = one.NextOffset()
	if !l.hold {
		l.highWatermark = l.end
	}
	return one.BaseOffset, one.LastOffset(), nil
}

// Read implements shard.Log.
func (l *Log) Read(offset int64, maxBytes int) ([]byte, error) {
	l.mu.Lock()
	if hold := l.readHold; hold != nil {
		l.mu.Unlock()
		<-hold
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	if l.readErr != nil {
		return nil, l.readErr
	}
	var out []byte
	for _, b := range l.batches {
		one, _, err := batch.Parse(b)
		if err != nil {
			return nil, err
		}
		if one.NextOffset() <= offset {
			continue
		}
		if len(out) > 0 && len(out)+len(b) > maxBytes {
			break
		}
		out = append(out, b...)
	}
	return out, nil
}

// StartOffset implements shard.Log.
func (l *Log) StartOffset() int64 { return 0 }

// EndOffset implements shard.Log.
func (l *Log) EndOffset() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// OnHighWatermark implements shard.Log.
func (l *Log) OnHighWatermark(offset int64, leaderEpoch int32, f func(error)) {
	l.mu.Lock()
	if leaderEpoch != l.epoch {
		l.mu.Unlock()
		f(kerr.NotLeaderForPartition)
		return
	}
	if l.highWatermark > offset {
		l.mu.Unlock()
		f(nil)
		return
	}
	l.waiting = append(l.waiting, waiter{offset, f})
	l.mu.Unlock()
}

// HoldHighWatermark keeps the high watermark where it is until ReleaseHighWatermark.
func (l *Log) HoldHighWatermark() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = true
}

// ReleaseHighWatermark moves the high watermark to the end and lets it follow.
func (l *Log) ReleaseHighWatermark() {
	l.mu.Lock()
	l.hold = false
	l.highWatermark = l.end
	ready := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range ready {
		w.f(nil)
	}
}

// Fail makes the next appends fail in turn; nil lets one succeed.
func (l *Log) Fail(errs ...error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, errs...)
}

// FailReads makes every Read fail.
func (l *Log) FailReads(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readErr = err
}

// HoldReads makes reads wait, so that a load goes on until release is called.
func (l *Log) HoldReads() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hold := make(chan struct{})
	l.readHold = hold
	return func() { close(hold) }
}

// Lead starts a new leader epoch: appends of older ones fail, and so does what waits for the high watermark.
func (l *Log) Lead(leaderEpoch int32) {
	l.mu.Lock()
	l.epoch = leaderEpoch
	lost := l.waiting
	l.waiting = nil
	l.highWatermark = l.end
	l.mu.Unlock()
	for _, w := range lost {
		w.f(kerr.NotLeaderForPartition)
	}
}

// Batches is a copy of all that was appended.
func (l *Log) Batches() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.batches...)
}
