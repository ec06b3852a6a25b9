package handlers

import (
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// TestPlaces tells what runs where other connections wait for it.
func TestPlaces(t *testing.T) {
	h := newDispatcher(&Deps{Random: rand.New(rand.NewPCG(1, 2)).Uint64}, apis())
	places := map[int16]wire.Place{kmsg.Produce.Int16(): wire.OnStandIn, kmsg.Fetch.Int16(): wire.OnLoop}
	for key := range int16(100) {
		if got, want := h.Place(key), places[key]; got != want {
			t.Errorf("api %d: %d, want %d", key, got, want)
		}
	}
	for _, c := range []struct {
		replica    int32
		partitions int
		version    int16
		want       bool
	}{
		{-1, 0, 10, true}, {-1, maxInlinePartitions, 18, true}, {-1, maxInlinePartitions + 1, 18, false},
		{-2, 1, 18, true}, {2, 1, 18, false}, {0, 1, 18, false}, {-1, 1, 9, false},
	} {
		f := fetch{r: &wire.Request{Header: wire.Header{Version: c.version}}, plan: replica.FetchPlan{ReplicaID: c.replica, Partitions: make([]replica.FetchPartition, c.partitions)}}
		if got := f.mayInline(); got != c.want {
			t.Errorf("%d partitions for replica %d: %t", c.partitions, c.replica, got)
		}
	}
}
