package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// fault is a way to break the cluster; it is whole again when run returns.
type fault struct {
	name string
	run  func(ctx context.Context, c *cluster, r *rand.Rand) error
}

// between is a random time of between a and b.
func between(r *rand.Rand, a, b time.Duration) time.Duration {
	return a + time.Duration(r.Int64N(int64(b-a)))
}

// wait passes time while the cluster is broken; it ends early with ctx.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// chosen is a node that a question names, or a random one where it has no answer.
func chosen(r *rand.Rand, c *cluster, id int32) *node {
	if id < 1 {
		id = 1 + r.Int32N(int32(len(c.nodes)))
	}
	return c.node(id)
}

// restartAfter ends a node by a signal and starts it again after a while.
func restartAfter(ctx context.Context, n *node, s syscall.Signal, while time.Duration, meanwhile func() error) error {
	if err := n.end(s); err != nil {
		return err
	}
	wait(ctx, while)
	if meanwhile != nil {
		if err := meanwhile(); err != nil {
			return err
		}
	}
	return n.start()
}

// faults lists them all.
func faults() []fault {
	anyNode := func(c *cluster, r *rand.Rand) *node { return chosen(r, c, -1) }
	return []fault{
		{"kill", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			return restartAfter(ctx, anyNode(c, r), syscall.SIGKILL, between(r, time.Second, 8*time.Second), nil)
		}},
		{"kill-leader", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			// Longer than broker.session.timeout.ms: another replica must take over.
			return restartAfter(ctx, chosen(r, c, c.leader(ctx, 0)), syscall.SIGKILL, between(r, 12*time.Second, 15*time.Second), nil)
		}},
		{"kill-controller", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			return restartAfter(ctx, chosen(r, c, c.activeController(ctx)), syscall.SIGKILL, between(r, 12*time.Second, 15*time.Second), nil)
		}},
		{"stop", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			return restartAfter(ctx, anyNode(c, r), syscall.SIGTERM, between(r, time.Second, 8*time.Second), nil)
		}},
		{"pause", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			n := anyNode(c, r)
			if err := n.pause(); err != nil {
				return err
			}
			wait(ctx, between(r, time.Second, 20*time.Second))
			return n.resume()
		}},
		{"cable", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			n := anyNode(c, r)
			if err := c.network.unplug(n.id); err != nil {
				return err
			}
			wait(ctx, between(r, time.Second, 20*time.Second))
			return c.network.plug(n.id)
		}},
		{"one-way", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			// What one node sends to another is lost; the answers to the other's messages too.
			from := 1 + r.IntN(len(c.nodes))
			to := 1 + (from-1+1+r.IntN(len(c.nodes)-1))%len(c.nodes)
			if err := c.network.deafen(from, to); err != nil {
				return err
			}
			wait(ctx, between(r, time.Second, 20*time.Second))
			return c.network.hear(from, to)
		}},
		{"leader-alone", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			// Clients still reach it: what it acknowledges now must survive.
			return isolate(ctx, c, r, chosen(r, c, c.leader(ctx, 0)))
		}},
		{"controller-alone", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			return isolate(ctx, c, r, chosen(r, c, c.activeController(ctx)))
		}},
		{"disk-lost", func(ctx context.Context, c *cluster, r *rand.Rand) error {
			n := anyNode(c, r)
			return restartAfter(ctx, n, syscall.SIGKILL, between(r, time.Second, 8*time.Second), n.loseDisk)
		}},
	}
}

// isolate cuts a node off from the others but not from clients.
func isolate(ctx context.Context, c *cluster, r *rand.Rand, n *node) error {
	for _, o := range c.nodes {
		if o != n {
			if err := c.network.deafen(n.id, o.id); err != nil {
				return err
			}
			if err := c.network.deafen(o.id, n.id); err != nil {
				return err
			}
		}
	}
	wait(ctx, between(r, time.Second, 20*time.Second))
	return c.network.heal()
}

// repair makes sure that nothing stays broken, whatever a fault has done.
func (c *cluster) repair() error {
	if err := c.network.heal(); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if n.paused {
			if err := n.resume(); err != nil {
				return err
			}
		}
		if n.cmd != nil && !n.running() {
			return fmt.Errorf("node %d has ended by itself, see its node.log", n.id)
		}
		if n.cmd == nil {
			if err := n.start(); err != nil {
				return err
			}
		}
	}
	return nil
}
