// Package machine is the contract between the coordinators' pure state machines and the driver
// that runs them (coordinator/shard). A machine holds state and nothing else: no goroutine, timer,
// lock, logger or file. Its durable state changes in Replay only, so that a machine rebuilt from
// its log equals the one that wrote it; what dies with its leadership (parked calls, members that
// are still joining) it may change whenever it is called.
//
// All methods of a machine are called from one goroutine at a time.
package machine

import (
	"log/slog"
	"time"
)

// Machine is a replicated state machine over one partition of an internal topic.
type Machine interface {
	// Replay applies one record, while loading and after each append alike. It borrows the record.
	// An error stops the load of the shard, or resigns a live one: state and log have parted.
	Replay(r Record) error
	// Loaded is called once, after the last record of the log was replayed and before the first Handle.
	Loaded(now time.Time) Result
	// Handle decides what a request does. It borrows req until the call is replied to. The call may be
	// replied to in this result or in that of any later event.
	Handle(now time.Time, call Call, req any) Result
	// Expire is called when a timer that the machine set has run out.
	Expire(now time.Time, key TimerKey) Result
}

// Record is a key and a value of an internal topic; a nil value is a tombstone.
type Record struct{ Key, Value []byte }

// Call names a request that waits for its reply; 0 is a request that nobody waits for.
type Call uint64

// Reply is the answer to a call. It leaves when everything that was appended before it is committed.
type Reply struct {
	Call     Call
	Response any
}

// TimerKey names a timer; setting a timer that is set moves it.
type TimerKey struct{ Kind, Name, Sub string }

// Timer sets a timer, or cancels it.
type Timer struct {
	Key    TimerKey
	After  time.Duration
	Cancel bool
}

// Note is a line for the log.
type Note struct {
	Level   slog.Level
	Message string
	Args    []any
}

// Result is what a machine wants done for one event. The driver appends Records as one batch and
// replays them, then runs Then; only when that is done do Timers and Replies take effect. If the
// append fails nothing of the batch is in the log: Replies are dropped, their calls and the one
// being handled are answered with the error, and Else runs instead of Then.
type Result struct {
	Records []Record
	Replies []Reply
	Timers  []Timer
	Notes   []Note

	// Split allows Records to go into several batches if they are too large for one: each of them is
	// right on its own, as tombstones of expired offsets are.
	Split bool

	// Then continues the event once Records are applied; its result is run in the same way. Only
	// looked at if there are Records.
	Then func(now time.Time) Result
	// Else is what is left to do if Records could not be appended; err carries the coordinator's error.
	Else func(now time.Time, err error) Result
}

// Reply adds a reply; replying to nobody (call 0) does nothing.
func (r *Result) Reply(call Call, response any) {
	if call != 0 {
		r.Replies = append(r.Replies, Reply{call, response})
	}
}

// Append adds records to the batch.
func (r *Result) Append(records ...Record) { r.Records = append(r.Records, records...) }

// SetTimer sets or moves a timer to after from now.
func (r *Result) SetTimer(key TimerKey, after time.Duration) {
	r.Timers = append(r.Timers, Timer{Key: key, After: after})
}

// CancelTimer cancels a timer; cancelling one that isn't set does nothing.
func (r *Result) CancelTimer(key TimerKey) {
	r.Timers = append(r.Timers, Timer{Key: key, Cancel: true})
}

// Info adds a line for the log.
func (r *Result) Info(message string, args ...any) {
	r.Notes = append(r.Notes, Note{slog.LevelInfo, message, args})
}

// Warn adds a warning for the log.
func (r *Result) Warn(message string, args ...any) {
	r.Notes = append(r.Notes, Note{slog.LevelWarn, message, args})
}
