package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSleep waits until the time has come, and no longer than its context.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), System{}, time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Sleep(ctx, System{}, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second+time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
