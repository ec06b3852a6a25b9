package controller

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"
	"github.com/ottla/ottla/controller/image"
)

// fsm is raft's state machine: it replays committed records and publishes the image that results.
// Raft calls Apply, Restore and Snapshot from one goroutine.
type fsm struct {
	controller *Controller
}

// Apply implements raft.FSM. It returns the offset (int64) of the image after the entry. An entry
// that can't be applied stops the node, since all that follow would be wrong.
func (f *fsm) Apply(entry *raft.Log) any {
	c := f.controller
	select {
	case <-c.dead:
		return c.err
	default:
	}
	records, err := readEntry(entry.Data)
	if err != nil {
		err = fmt.Errorf("raft entry %d: %w", entry.Index, err)
		c.fail(err)
		return err
	}
	next, delta, err := c.Image().Apply(int32(entry.Term), records)
	if err != nil {
		err = fmt.Errorf("raft entry %d: %w", entry.Index, err)
		c.fail(err)
		return err
	}
	c.image.Store(next)
	c.publisher.publish(delta)
	return next.Offset()
}

// Snapshot implements raft.FSM; an image never changes, so there is nothing to copy.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	return &snapshot{image: f.controller.Image()}, nil
}

// Restore implements raft.FSM.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }() // It was only read.
	next, err := readSnapshot(r)
	if err != nil {
		f.controller.fail(err)
		return err
	}
	old := f.controller.Image()
	f.controller.image.Store(next)
	f.controller.publisher.publish(image.Diff(old, next))
	return nil
}
