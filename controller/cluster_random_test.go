package controller

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// epochs notes which node was the active controller in which term.
type epochs struct {
	mu   sync.Mutex
	node map[uint64]int32
}

func (e *epochs) look(t *testing.T, tc *testCluster) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range tc.active() {
		term, ok := n.c.active.get()
		if !ok {
			continue
		}
		if other, seen := e.node[term]; seen && other != n.id {
			t.Errorf("nodes %d and %d are both active in term %d", other, n.id, term)
		}
		e.node[term] = n.id
	}
}

// TestRandomPartitions lets clients create topics through all nodes while the network breaks in random ways, and nodes stop, start
// and lose their disks. What was acknowledged is there in the end, no term has two active controllers, and all nodes have
// one image.
func TestRandomPartitions(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomPartitions(t, seed) })
		})
	}
}

func randomPartitions(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 77))
	tc := static(t, 3)
	b := tc.broker(4, tc.nodes[1])
	tc.start(1, 2, 3, 4)
	tc.registerBroker(b, 4)
	seen := &epochs{node: map[uint64]int32{}}

	var mu sync.Mutex
	acknowledged := map[string]bool{}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for _, n := range []*testNode{b, b, tc.nodes[1], tc.nodes[2], tc.nodes[3]} {
		id := rng.Uint32()
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(300 * time.Millisecond):
				}
				c := tc.net.controller(n)
				if c == nil {
					continue
				}
				name := fmt.Sprintf("t-%d-%d", id, i)
				err := (&testNode{c: c}).create(name, 3*time.Second)
				mu.Lock()
				if err == nil {
					acknowledged[name] = true
				}
				mu.Unlock()
			}
		})
	}
	for range 15 {
		switch rng.IntN(5) {
		case 0:
			tc.net.isolate(int32(1 + rng.IntN(4)))
		case 1:
			if active := tc.active(); len(active) > 0 {
				tc.net.isolate(active[0].id)
			}
		case 2:
			id := int32(1 + rng.IntN(4))
			tc.stop(id)
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
			seen.look(t, tc)
			tc.net.heal()
			tc.start(id)
		case 3:
			// One disk at a time, and only of a voter that nobody needs for a majority.
			tc.net.heal()
			tc.same()
			id := int32(1 + rng.IntN(3))
			tc.stop(id)
			tc.wipe(id)
			tc.start(id)
			tc.eventually("the voter is back", func() bool { return tc.nodes[id].c.raft.Load().votes(tc.nodes[id].c.self.serverID()) })
			tc.same()
		default:
			tc.net.heal()
		}
		for range rng.IntN(60) {
			time.Sleep(50 * time.Millisecond)
			seen.look(t, tc)
		}
		if rng.IntN(2) == 0 {
			tc.net.heal()
		}
	}
	close(stop)
	clients.Wait()
	tc.net.heal()
	tc.same()
	m := tc.nodes[1].c.Image()
	if len(acknowledged) < 20 {
		t.Errorf("only %d topics were acknowledged", len(acknowledged))
	}
	for name := range acknowledged {
		if m.Topic(name) == nil {
			t.Errorf("topic %s was acknowledged and is lost", name)
		}
	}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("%d topics acknowledged, %d leaderships", len(acknowledged), len(seen.node))
}
