package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"pgregory.net/rapid"
)

// TestPlacementGoals places partitions on random clusters: replicas differ, leaders are active, racks are shared
// only when there are too few, and a rack's fenced brokers come after its active ones. In one rack without fenced
// brokers, all lead equally often.
func TestPlacementGoals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		racks := 1 + rng.IntN(4)
		m := image.Empty()
		n, active := 1+rng.IntN(9), 0
		byRack := map[string][]int32{}
		for id := range int32(n) {
			rack := fmt.Sprint("r", rng.IntN(racks))
			r := &metadata.RegisterBrokerRecord{BrokerID: id, BrokerEpoch: int64(id), Rack: &rack, Fenced: rng.IntN(4) == 0 && active > 0}
			if !r.Fenced {
				active++
			}
			byRack[rack] = append(byRack[rack], id)
			var err error
			if m, _, err = m.Apply(1, []metadata.Record{r}); err != nil {
				t.Fatal(err)
			}
		}
		p := newPlacer(m, rng)
		factor := 1 + rng.IntN(n)
		if err := p.check(factor); err != nil {
			t.Fatal(err)
		}
		leaders := map[int32]int{}
		for range 3 * active {
			replicas := p.place(factor)
			if !isActive(m.Broker(replicas[0])) {
				t.Fatalf("%v is led by a fenced broker", replicas)
			}
			leaders[replicas[0]]++
			if sorted := slices.Compact(slices.Sorted(slices.Values(replicas))); len(sorted) != factor {
				t.Fatalf("%v for factor %d", replicas, factor)
			}
			used := 0
			for rack, ids := range byRack {
				idle := slices.ContainsFunc(ids, func(id int32) bool { return !m.Broker(id).Fenced && !slices.Contains(replicas, id) })
				here := slices.DeleteFunc(slices.Clone(replicas), func(id int32) bool { return !slices.Contains(ids, id) })
				if len(here) > 0 {
					used++
				}
				if idle && slices.ContainsFunc(here, func(id int32) bool { return m.Broker(id).Fenced }) {
					t.Fatalf("%v: a fenced broker of rack %s came before an active one of %v", replicas, rack, ids)
				}
			}
			if want := min(factor, len(byRack)); used != want {
				t.Fatalf("%v uses %d racks of %v, want %d", replicas, used, byRack, want)
			}
		}
		if len(byRack) == 1 && active == n {
			for id, times := range leaders {
				if times != 3 {
					t.Fatalf("broker %d leads %d of %d partitions of %d brokers", id, times, 3*active, n)
				}
			}
		}
	})
}
