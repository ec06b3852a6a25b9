package clock

import (
	"context"
	"time"
)

// Sleep waits for d or the end of ctx, and returns ctx's error.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	woken := make(chan struct{})
	timer := c.AfterFunc(d, func() { close(woken) })
	defer timer.Stop()
	select {
	case <-woken:
	case <-ctx.Done():
	}
	return ctx.Err()
}
