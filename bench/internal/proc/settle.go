package proc

import (
	"context"
	"time"
)

const (
	// settleStep is how long a process is watched at a time.
	settleStep = 500 * time.Millisecond
	// settledShare is the share of a core that a process may use that has settled, 1/settledShare: Kafka
	// is never idle.
	settledShare = 8
)

// Settle waits until a process has little to do, such as after files were made or deleted; at most limit.
func Settle(ctx context.Context, pid int, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		before, err := Read(pid)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleStep):
		}
		after, err := Read(pid)
		if err != nil {
			return err
		}
		if after.Sub(before).CPU < settleStep/settledShare {
			return nil
		}
	}
	return nil
}
