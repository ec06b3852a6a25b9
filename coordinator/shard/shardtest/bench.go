package shardtest

import (
	"slices"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
)

// Bench runs a machine by hand as a shard would whose log commits at once: it appends, replays,
// keeps timers and collects replies. It isn't safe for concurrent use.
type Bench struct {
	Machine machine.Machine
	Now     time.Time
	// Records is the log.
	Records []machine.Record
	// Replies are the answers by call; Failed the errors of calls whose records could not be appended.
	Replies map[machine.Call]any
	Failed  map[machine.Call]error
	// Notes are the lines for the log so far.
	Notes []machine.Note
	// OnReply, if set, sees each reply as it is made.
	OnReply func(call machine.Call, response any)
	// FailAppends makes appends fail with this error while it is set.
	FailAppends error

	lastCall machine.Call
	timers   map[machine.TimerKey]time.Time
	order    []machine.TimerKey
}

// NewBench replays records into m and opens it.
func NewBench(m machine.Machine, now time.Time, records []machine.Record) (*Bench, error) {
	b := &Bench{
		Machine: m, Now: now, Records: slices.Clone(records),
		Replies: map[machine.Call]any{}, Failed: map[machine.Call]error{}, timers: map[machine.TimerKey]time.Time{},
	}
	for _, r := range records {
		if err := m.Replay(r); err != nil {
			return nil, err
		}
	}
	b.execute(0, m.Loaded(now))
	return b, nil
}

// Call hands a request to the machine and returns its call.
func (b *Bench) Call(req any) machine.Call {
	b.lastCall++
	b.execute(b.lastCall, b.Machine.Handle(b.Now, b.lastCall, req))
	return b.lastCall
}

// NextCall is the call that the next request will get.
func (b *Bench) NextCall() machine.Call { return b.lastCall + 1 }

// Post hands an event to the machine that nobody waits for.
func (b *Bench) Post(req any) { b.execute(0, b.Machine.Handle(b.Now, 0, req)) }

// Advance moves time by d and runs timers on the way, in order of their deadlines.
func (b *Bench) Advance(d time.Duration) {
	end := b.Now.Add(d)
	for {
		next := -1
		for i, key := range b.order {
			if at := b.timers[key]; !at.After(end) && (next < 0 || at.Before(b.timers[b.order[next]])) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		key := b.order[next]
		if at := b.timers[key]; at.After(b.Now) {
			b.Now = at
		}
		b.cancel(key)
		b.execute(0, b.Machine.Expire(b.Now, key))
	}
	b.Now = end
}

func (b *Bench) execute(call machine.Call, r machine.Result) {
	for {
		b.Notes = append(b.Notes, r.Notes...)
		if len(r.Records) == 0 {
			b.effects(r)
			return
		}
		if b.FailAppends != nil {
			b.Failed[call] = b.FailAppends
			for _, reply := range r.Replies {
				b.Failed[reply.Call] = b.FailAppends
			}
			if r.Else == nil {
				return
			}
			r = r.Else(b.Now, b.FailAppends)
			continue
		}
		b.Records = append(b.Records, r.Records...)
		for _, record := range r.Records {
			if err := b.Machine.Replay(record); err != nil {
				panic(err) // a machine must take its own records
			}
		}
		b.effects(r)
		if r.Then == nil {
			return
		}
		r = r.Then(b.Now)
	}
}

func (b *Bench) effects(r machine.Result) {
	for _, t := range r.Timers {
		b.cancel(t.Key)
		if !t.Cancel {
			b.timers[t.Key] = b.Now.Add(t.After)
			b.order = append(b.order, t.Key)
		}
	}
	for _, reply := range r.Replies {
		if _, again := b.Replies[reply.Call]; again {
			panic("shardtest: a call was replied to twice")
		}
		if b.Failed[reply.Call] != nil {
			continue
		}
		b.Replies[reply.Call] = reply.Response
		if b.OnReply != nil {
			b.OnReply(reply.Call, reply.Response)
		}
	}
}

func (b *Bench) cancel(key machine.TimerKey) {
	delete(b.timers, key)
	b.order = slices.DeleteFunc(b.order, func(k machine.TimerKey) bool { return k == key })
}
