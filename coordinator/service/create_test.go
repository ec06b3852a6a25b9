package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/controller/image"
)

// TestCreateGivesUpWithItsRequest has one request create the internal topic, for ever, and a second one wait for that: it
// ends with its request.
func TestCreateGivesUpWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, endFirst := context.WithCancel(t.Context())
		g := &Groups{creating: make(chan struct{}, 1), cfg: Config{Image: image.Empty, CreateTopic: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = g.Coordinator(first, "g")
		}()
		synctest.Wait()
		second, endSecond := context.WithCancel(t.Context())
		endSecond()
		if _, err := g.Coordinator(second, "g"); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want that of the request's context", err)
		}
		endFirst()
		<-done
	})
}
