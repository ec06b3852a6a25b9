package server

import "context"

// turn is a lock for what takes long, such as connecting: who waits for it gives up when its context ends.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take takes the lock; its error is that of ctx.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait takes the lock however long that takes.
func (t turn) wait() { t <- struct{}{} }

// give gives it back.
func (t turn) give() { <-t }
