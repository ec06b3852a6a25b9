package shard

import (
	"context"
	"log/slog"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// run is the shard's loop: it handles what waits and ends when nothing does.
func (s *Shard) run() {
	for {
		s.box.Lock()
		if s.box.lost != nil {
			s.drop() // unlocks
			return
		}
		committed := s.box.committed
		timerDue := s.box.timerDue
		s.box.timerDue = false
		var next event
		if len(s.box.events) > 0 {
			next = s.box.events[0]
			s.box.events[0] = event{}
			s.box.events = s.box.events[1:]
			if next.done != nil {
				s.box.requests--
			}
		} else if !timerDue && !(len(s.parked) > 0 && s.parked[0].offset <= committed) {
			s.box.events = nil
			s.box.running = false
			s.box.Unlock()
			return
		}
		s.box.Unlock()

		s.release(committed)
		if timerDue {
			s.expire()
		}
		switch {
		case next.load:
			s.load()
		case next.req != nil:
			s.handle(next)
		}
		s.arm()
	}
}

// handle runs one request.
func (s *Shard) handle(e event) {
	var call machine.Call
	if e.done != nil {
		s.lastCall++
		call = s.lastCall
		s.calls[call] = e.done
	}
	now := s.cfg.Clock.Now()
	s.execute(now, call, s.machine.Handle(now, call, e.req))
}

// expire runs the machine's timers that have run out, and fails replies that waited too long.
func (s *Shard) expire() {
	s.armedFor = time.Time{}
	now := s.cfg.Clock.Now()
	for {
		key, ok := s.timers.pop(now)
		if !ok || s.isLost() {
			break
		}
		s.execute(now, 0, s.machine.Expire(now, key))
	}
	timedOut := 0
	for timedOut < len(s.parked) && !s.deadlines[timedOut].After(now) {
		timedOut++
	}
	for _, w := range s.parked[:timedOut] {
		w.done(nil, CoordinatorError(kerror.Wrap(kerr.RequestTimedOut, nil)))
	}
	s.unpark(timedOut)
}

// execute does what a machine wants done for one event. call is the request being handled, or 0.
func (s *Shard) execute(now time.Time, call machine.Call, r machine.Result) {
	for {
		s.note(r.Notes)
		if len(r.Records) == 0 {
			s.effects(now, r)
			return
		}
		err := s.append(now, r.Records, r.Split)
		if s.isLost() {
			return // whoever waits is answered as the shard is dropped
		}
		if err == nil {
			s.effects(now, r)
			if r.Then == nil {
				return
			}
			r = r.Then(now)
			continue
		}
		s.cfg.Logger.Warn("Could not append to the coordinator's log.", "topic", s.cfg.Topic, "partition", s.partition, "error", err)
		err = CoordinatorError(err)
		s.fail(call, err)
		for _, reply := range r.Replies {
			s.fail(reply.Call, err)
		}
		if r.Else == nil {
			return
		}
		r = r.Else(now, err)
	}
}

// effects lets a result's timers and replies take effect.
func (s *Shard) effects(now time.Time, r machine.Result) {
	for _, t := range r.Timers {
		s.timers.apply(t, now)
	}
	if len(r.Replies) == 0 {
		return
	}
	s.box.Lock()
	committed := s.box.committed
	s.box.Unlock()
	s.release(committed)
	for _, reply := range r.Replies {
		done := s.take(reply.Call)
		if done == nil {
			continue
		}
		if s.lastAppended <= committed {
			done(reply.Response, nil)
			continue
		}
		s.parked = append(s.parked, waiter{reply: reply, done: done, offset: s.lastAppended})
		s.deadlines = append(s.deadlines, now.Add(s.cfg.WriteTimeout))
	}
}

// append writes records to the log and applies them. If they are split, an error says that the
// last of the batches and what would have come after it are missing.
func (s *Shard) append(now time.Time, records []machine.Record, split bool) error {
	for len(records) > 0 {
		n := len(records)
		if split {
			n = 1
			size := len(records[0].Key) + len(records[0].Value)
			for n < len(records) && size < s.cfg.MaxBatchBytes {
				size += len(records[n].Key) + len(records[n].Value) + recordOverheadBytes
				n++
			}
		}
		encoded, err := s.encode(now, records[:n])
		if err != nil {
			return err
		}
		_, last, err := s.log.Append(encoded, s.epoch)
		if err != nil {
			if isLost(err) {
				s.Resign(err)
			}
			return err
		}
		s.lastAppended = last
		for _, r := range records[:n] {
			if err := s.machine.Replay(r); err != nil {
				s.cfg.Logger.Error("The coordinator refused its own record; dropping the shard.", "topic", s.cfg.Topic, "partition", s.partition, "error", err)
				s.Resign(err)
				return err
			}
		}
		s.log.OnHighWatermark(last, s.epoch, func(err error) { s.onHighWatermark(last, err) })
		records = records[n:]
	}
	return nil
}

// recordOverheadBytes is more than a record takes beside its key and value.
const recordOverheadBytes = 32

func (s *Shard) encode(now time.Time, records []machine.Record) ([]byte, error) {
	o := batch.DefaultOptions()
	o.LeaderEpoch = s.epoch
	o.Codec = s.cfg.Codec
	o.BaseSequence = 0 // as Kafka's coordinators write it, though without a producer id
	b := s.cfg.Codecs.NewBuilder(nil, o)
	for _, r := range records {
		b.Append(now.UnixMilli(), r.Key, r.Value)
	}
	return b.Build()
}

// release answers the parked replies that offset committed covers.
func (s *Shard) release(committed int64) {
	n := 0
	for n < len(s.parked) && s.parked[n].offset <= committed {
		s.parked[n].done(s.parked[n].reply.Response, nil)
		n++
	}
	s.unpark(n)
}

// unpark forgets the first n parked replies.
func (s *Shard) unpark(n int) {
	if n == len(s.parked) {
		s.parked, s.deadlines = nil, nil
		return
	}
	s.parked, s.deadlines = s.parked[n:], s.deadlines[n:]
}

// take removes a call that is about to be answered; nil if it is unknown.
func (s *Shard) take(call machine.Call) Done {
	done := s.calls[call]
	delete(s.calls, call)
	return done
}

// fail answers a call with an error if it still waits.
func (s *Shard) fail(call machine.Call, err error) {
	if done := s.take(call); done != nil {
		done(nil, err)
	}
}

// arm sets the clock timer to the earliest deadline. A timer that fires too early, because its
// deadline was moved since, is cheaper than moving it with every heartbeat.
func (s *Shard) arm() {
	at, ok := s.timers.next()
	if len(s.deadlines) > 0 && (!ok || s.deadlines[0].Before(at)) {
		at, ok = s.deadlines[0], true
	}
	if !ok || (!s.armedFor.IsZero() && !at.Before(s.armedFor)) {
		return
	}
	s.armedFor = at
	d := max(at.Sub(s.cfg.Clock.Now()), 0)
	if s.clockTimer == nil {
		s.clockTimer = s.cfg.Clock.AfterFunc(d, s.onTimer)
	} else {
		s.clockTimer.Reset(d)
	}
}

func (s *Shard) isLost() bool {
	s.box.Lock()
	defer s.box.Unlock()
	return s.box.lost != nil
}

// drop ends the shard. Requires: box locked; unlocks it.
func (s *Shard) drop() {
	events, reason := s.box.events, s.box.lost
	s.box.state, s.box.events, s.box.requests = dead, nil, 0
	s.box.Unlock()
	if s.clockTimer != nil {
		s.clockTimer.Stop()
	}
	err := errNotCoordinator(reason)
	for _, w := range s.parked {
		w.done(nil, err)
	}
	for call := machine.Call(1); call <= s.lastCall && len(s.calls) > 0; call++ {
		s.fail(call, err)
	}
	for _, e := range events {
		if e.done != nil {
			e.done(nil, err)
		}
	}
	s.parked, s.deadlines, s.calls, s.timers, s.machine = nil, nil, nil, timers{}, nil
	s.cfg.Logger.Info("Coordinator shard resigned.", "topic", s.cfg.Topic, "partition", s.partition, "leaderEpoch", s.epoch, "reason", reason)
	close(s.idle)
}

func (s *Shard) note(notes []machine.Note) {
	for _, n := range notes {
		if s.cfg.Logger.Enabled(context.Background(), n.Level) {
			s.cfg.Logger.Log(context.Background(), n.Level, n.Message, append(n.Args, slog.Int("partition", int(s.partition)))...)
		}
	}
}
