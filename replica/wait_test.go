package replica

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestFetchWaits parks a fetch of two partitions and wakes it in every way there is; afterwards
// nothing is left in the lists of either.
func TestFetchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", 1, self, 2)
		r.change("a", 1, self, self)
		r.create("b", 1, self)
		woken := make(chan bool, 1)
		park := func(plan *FetchPlan) {
			t.Helper()
			if r.m.Fetch(plan) {
				t.Fatal("the fetch is ready at once")
			}
			plan.Release()
			if !r.m.AwaitFetch(plan, time.Second, func(expired bool) { woken <- expired }) {
				t.Fatal("didn't wait")
			}
		}
		asleep := func() bool {
			synctest.Wait()
			return len(woken) == 0
		}

		plan := fetchPlan(1, "a", "b")
		park(plan)
		if !asleep() {
			t.Fatal("woken by nothing")
		}
		r.produce("b", 1, "v")
		if expired := <-woken; expired || !r.m.Fetch(plan) || plan.Partitions[1].Records == nil {
			t.Errorf("append: expired %t", expired)
		}
		plan.Release()
		r.wantNoWaiters("a", "b")

		plan = fetchPlan(1000, "a", "b")
		park(plan)
		for range 20 {
			r.produce("a", 1, "v")
			if !asleep() {
				break
			}
		}
		one := plan.readBytes
		if expired := <-woken; expired || !r.m.Fetch(plan) || plan.readBytes >= 1000+one {
			t.Errorf("min bytes: expired %t with %d bytes", expired, plan.readBytes)
		}
		plan.Release()
		r.wantNoWaiters("a", "b")

		at := time.Now()
		plan = fetchPlan(1<<19, "a", "b")
		park(plan)
		if expired := <-woken; !expired || time.Since(at) != time.Second {
			t.Errorf("deadline: expired %t after %v", expired, time.Since(at))
		}
		r.wantNoWaiters("a", "b")

		plan = fetchPlan(1<<19, "a", "b")
		park(plan)
		if !r.m.CancelFetch(plan) || r.m.CancelFetch(plan) {
			t.Error("cancel must report true once")
		}
		if r.m.AwaitFetch(plan, time.Second, nil) {
			t.Error("a cancelled plan waits again")
		}
		r.wantNoWaiters("a", "b")

		plan = fetchPlan(1<<19, "a", "b")
		park(plan)
		r.change("a", 1, 2, 2)
		<-woken
		if !r.m.Fetch(plan) || plan.Partitions[0].Err == nil || plan.Partitions[1].Err != nil {
			t.Errorf("leadership lost: %v", plan.Partitions[0].Err)
		}
		plan.Release()
		r.wantNoWaiters("a", "b")
	})
}

// TestNothingFallsBetweenReadAndWait appends between the read and the wait: the wait ends at once.
func TestNothingFallsBetweenReadAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create("a", 1, self)
		plan := fetchPlan(1, "a")
		if r.m.Fetch(plan) {
			t.Fatal("ready")
		}
		r.produce("a", 1, "v")
		at := time.Now()
		woken := make(chan bool)
		r.m.AwaitFetch(plan, time.Minute, func(expired bool) { woken <- expired })
		if <-woken || time.Since(at) != 0 {
			t.Errorf("woken after %v", time.Since(at))
		}
		r.m.CancelFetch(plan)
	})
}

// TestWaitersUnderLoad runs consumers that read to the end over long polls, some of which die,
// beside producers. Every consumer that lives sees every record, and no waiter is left.
func TestWaitersUnderLoad(t *testing.T) {
	r := newRig(t)
	topics := []string{"a", "b", "c"}
	for _, name := range topics {
		r.create(name, 1, self)
	}
	const perProducer, consumers = 60, 12
	var wg sync.WaitGroup
	for _, name := range topics {
		wg.Go(func() {
			for range perProducer {
				if plan, _ := r.produce(name, -1, "v"); plan.Partitions[0].Err != nil {
					t.Error(plan.Partitions[0].Err)
				}
			}
		})
	}
	var died atomic.Int32
	for i := range consumers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			offsets := make([]int64, len(topics))
			for offsets[0]+offsets[1]+offsets[2] < perProducer*int64(len(topics)) {
				plan := fetchPlan(1, topics...)
				for j := range plan.Partitions {
					plan.Partitions[j].FetchOffset = offsets[j]
				}
				for !r.m.Fetch(plan) {
					woken := make(chan bool, 1)
					if !r.m.AwaitFetch(plan, 5*time.Second, func(expired bool) { woken <- expired }) {
						t.Error("didn't wait")
						return
					}
					if rng.IntN(8) == 0 && r.m.CancelFetch(plan) {
						died.Add(1)
						return
					}
					if <-woken {
						t.Error("a consumer waited 5 s for records that were there")
						return
					}
				}
				r.m.CancelFetch(plan)
				for j := range plan.Partitions {
					offsets[j] = plan.Partitions[j].HighWatermark
				}
				plan.Release()
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d consumers died", died.Load(), consumers)
	r.wantNoWaiters(topics...)
}
