package handlers

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// silentController never answers.
type silentController struct{}

func (silentController) Handle(ctx context.Context, _ kmsg.Request) (kmsg.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestProducerIDsWaitTogether has three clients ask for a producer id while the controller is away: each is
// told so after its own time, not after that of all who came before.
func TestProducerIDsWaitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &producerIDs{controller: silentController{}, turn: make(chan struct{}, 1), last: -1, brokerEpoch: func() int64 { return 1 }}
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := p.next(); !errors.Is(err, kerr.RequestTimedOut) {
					t.Errorf("error is %v, want REQUEST_TIMED_OUT", err)
				}
			})
		}
		all.Wait()
		if took := time.Since(began); took != producerIDTimeout {
			t.Errorf("they waited for %v, want %v", took, producerIDTimeout)
		}
	})
}
