package controller

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
)

// fsm is raft's state machine: it replays committed records and publishes the image that results.
// Raft calls Apply, Restore and Snapshot from one goroutine.
type fsm struct {
	c *Controller
	// state is the image as far as this node's log was replayed. While a node catches up with a quorum
	// it may have seen more than that from the active controller already. Written by raft's goroutine only.
	state atomic.Pointer[image.Image]
}

func newFSM(c *Controller) *fsm {
	f := &fsm{c: c}
	f.state.Store(image.Empty())
	return f
}

// errSuperseded is what an entry results in that was decided on an image which never came to be.
var errSuperseded = errors.New("the decision is of a former leadership")

// Apply implements raft.FSM. It returns the offset (int64) of the image after the entry. An entry
// that can't be applied stops the node, since all that follow would be wrong.
func (f *fsm) Apply(l *raft.Log) any {
	c := f.c
	select {
	case <-c.dead:
		return c.err
	default:
	}
	e, err := readEntry(l.Data)
	if err != nil {
		err = fmt.Errorf("raft entry %d: %w", l.Index, err)
		c.fail(err)
		return err
	}
	state := f.state.Load()
	base := state.Offset()
	if e.bound && (e.epoch != l.Term || e.offset != base) {
		return errSuperseded
	}
	next, delta, err := state.Apply(int32(l.Term), e.records)
	if err != nil {
		err = fmt.Errorf("raft entry %d: %w", l.Index, err)
		c.fail(err)
		return err
	}
	f.state.Store(next)
	c.feed.append(feedEntry{index: l.Index, base: base, last: next.Offset(), epoch: int32(l.Term), data: l.Data})
	c.advance(next, delta)
	c.commits.tell(l.Index, l.Term)
	return next.Offset()
}

// Snapshot implements raft.FSM; an image never changes, so there is nothing to copy.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	return &snapshot{image: f.state.Load()}, nil
}

// Restore implements raft.FSM.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }() // It was only read.
	next, err := readSnapshot(r)
	if err != nil {
		f.c.fail(err)
		return err
	}
	f.state.Store(next)
	f.c.feed.reset()
	f.c.advance(next, nil)
	return nil
}
