package controller

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestFollowersHearOfCommitsAtOnce creates topics through followers, which answer when they have them: without being told at once
// each would wait for raft's commit timeout. In the bubble nothing else takes time.
func TestFollowersHearOfCommitsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tc := static(t, 3)
		tc.start(1, 2, 3)
		tc.registerBroker(tc.nodes[1], 1)
		began := time.Now()
		for i := range 200 {
			tc.mustCreate(tc.nodes[int32(1+i%3)], fmt.Sprint("t", i))
		}
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("200 topics took %v", took)
		}
	})
}
