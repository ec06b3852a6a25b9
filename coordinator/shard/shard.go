package shard

import (
	"errors"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/clock"
)

// Shard runs one machine over one partition for one leader epoch.
type Shard struct {
	cfg       *Config
	partition int32
	epoch     int32
	log       Log
	machine   machine.Machine
	// loadSlots is shared by the shards of a Directory.
	loadSlots chan struct{}
	// idle is closed when a dropped shard's loop has ended.
	idle chan struct{}

	box mailbox

	// The rest belongs to the loop.

	// calls are the requests that the machine hasn't replied to.
	calls    map[machine.Call]Done
	lastCall machine.Call
	// parked are replies that wait for the high watermark, in order of their offsets and deadlines.
	parked    []waiter
	deadlines []time.Time
	// lastAppended is the last offset that this shard wrote or loaded.
	lastAppended int64
	timers       timers
	clockTimer   clock.Timer
	// armedFor is the deadline of clockTimer, zero if it isn't set.
	armedFor time.Time
}

// New returns a shard that starts to load at once. loadSlots bounds concurrent loads.
func New(cfg *Config, partition, leaderEpoch int32, log Log, m machine.Machine, loadSlots chan struct{}) *Shard {
	s := &Shard{
		cfg: cfg, partition: partition, epoch: leaderEpoch, log: log, machine: m, loadSlots: loadSlots,
		idle: make(chan struct{}), calls: map[machine.Call]Done{}, lastAppended: -1,
	}
	s.box.committed = -1
	s.box.events = []event{{load: true}}
	s.box.running = true
	go s.run()
	return s
}

// LeaderEpoch is the leader epoch that the shard lives for.
func (s *Shard) LeaderEpoch() int32 { return s.epoch }

// Submit queues a request; done is called once. It never blocks.
func (s *Shard) Submit(req any, done Done) {
	s.box.Lock()
	var refused error
	switch {
	case s.box.lost != nil || s.box.state == dead:
		refused = errNotCoordinator(s.box.lost)
	case s.box.state == loading:
		refused = errLoading()
	case s.box.requests >= s.cfg.MailboxSize:
		refused = errBusy()
	default:
		s.box.requests++
		s.box.events = append(s.box.events, event{req: req, done: done})
		s.wakeLocked()
	}
	s.box.Unlock()
	if refused != nil {
		done(nil, refused)
	}
}

// Post queues an event that nobody waits for; while the shard loads it waits for the end of the load.
func (s *Shard) Post(req any) {
	s.box.Lock()
	defer s.box.Unlock()
	if s.box.lost == nil && s.box.state != dead {
		s.box.events = append(s.box.events, event{req: req})
		s.wakeLocked()
	}
}

// Resign drops the shard: everything that waits, and all that comes, is answered NOT_COORDINATOR.
func (s *Shard) Resign(reason error) {
	s.box.Lock()
	defer s.box.Unlock()
	s.loseLocked(reason)
}

// Wait returns when a resigned shard has ended.
func (s *Shard) Wait() { <-s.idle }

// loseLocked marks the shard for being dropped. Requires: box locked.
func (s *Shard) loseLocked(reason error) {
	if s.box.lost == nil {
		if reason == nil {
			reason = errors.New("resigned")
		}
		s.box.lost = reason
		if s.box.state != dead {
			s.wakeLocked()
		}
	}
}

// wakeLocked makes sure that the loop runs. Requires: box locked, state not dead.
func (s *Shard) wakeLocked() {
	if !s.box.running {
		s.box.running = true
		go s.run()
	}
}

// onHighWatermark is called by the log when offset is committed, or leadership lost.
func (s *Shard) onHighWatermark(offset int64, err error) {
	s.box.Lock()
	defer s.box.Unlock()
	if s.box.state == dead {
		return
	}
	if err != nil {
		s.loseLocked(err)
		return
	}
	if offset > s.box.committed {
		s.box.committed = offset
		s.wakeLocked()
	}
}

// onTimer is called by the clock.
func (s *Shard) onTimer() {
	s.box.Lock()
	defer s.box.Unlock()
	if s.box.state != dead {
		s.box.timerDue = true
		s.wakeLocked()
	}
}
