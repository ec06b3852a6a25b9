package shard

import (
	"sync"

	"github.com/ottla/ottla/coordinator/machine"
)

// mailbox holds what waits for the shard's loop, and whether the loop's goroutine runs. It is the
// only part of a shard that other goroutines touch.
type mailbox struct {
	sync.Mutex
	state  state
	events []event
	// requests counts the events that clients wait for; the others aren't bounded by MailboxSize, each
	// of their sources has a few at most.
	requests int
	// running is whether the loop's goroutine exists.
	running bool
	// timerDue says that the clock timer has fired.
	timerDue bool
	// committed is the highest offset that is known to be below the high watermark.
	committed int64
	// lost is set once, when the shard is to be dropped.
	lost error
}

type state int8

const (
	loading state = iota
	active
	dead
)

// event is one thing for the machine to handle: a request, or (load set) the first event of a shard.
type event struct {
	req  any
	done Done
	load bool
}

// Done is told the response to a request, or the error to answer it with. It must not block, and is
// called on the shard's loop or the submitter's goroutine.
type Done func(response any, err error)

// waiter is a reply that waits for the high watermark.
type waiter struct {
	reply machine.Reply
	done  Done
	// offset is the last one appended when the reply was made.
	offset int64
}
