package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/clock"
)

// TestConnectGivesUpWithItsContext has one request dial a controller that doesn't answer, and a second one wait for
// that: it ends with its own context, not with the other's.
func TestConnectGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForwarder(clock.System{}, 1, time.Minute, func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, new(atomic.Pointer[tls.Config]))
		slow := make(chan struct{})
		go func() {
			defer close(slow)
			_, _ = f.lines.to(t.Context(), lineKey{"c:1", lineOwn}, "c:1")
		}()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.lines.to(ctx, lineKey{"c:1", lineOwn}, "c:1"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %v: %v, want a deadline exceeded after 1s", time.Since(began), err)
		}
		<-slow
		if err := f.close(); err != nil {
			t.Error(err)
		}
	})
}
