package handlers

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
)

// TestInlineFetches tells which fetches an event loop may run.
func TestInlineFetches(t *testing.T) {
	h := &Dispatcher{}
	for key := range int16(100) {
		for version := range int16(19) {
			if got, want := h.Inline(key, version), key == kmsg.Fetch.Int16() && version >= 10; got != want {
				t.Errorf("api %d version %d: %t", key, version, got)
			}
		}
	}
	for _, c := range []struct {
		replica    int32
		partitions int
		want       bool
	}{{-1, 0, true}, {-1, maxInlinePartitions, true}, {-1, maxInlinePartitions + 1, false}, {-2, 1, true}, {2, 1, false}, {0, 1, false}} {
		f := fetch{plan: replica.FetchPlan{ReplicaID: c.replica, Partitions: make([]replica.FetchPartition, c.partitions)}}
		if got := f.mayInline(); got != c.want {
			t.Errorf("%d partitions for replica %d: %t", c.partitions, c.replica, got)
		}
	}
}
