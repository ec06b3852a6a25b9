package testcluster

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/vfs"
)

// cluster is nodes and the network between them.
type cluster struct {
	seed    uint64
	events  *events
	network *network
	nodes   []*node

	mu         sync.Mutex
	violations []string
}

func newCluster(seed uint64, nodes int, level slog.Level) *cluster {
	c := &cluster{seed: seed, events: newEvents(level), network: newNetwork(seed)}
	for i := range nodes {
		c.nodes = append(c.nodes, &node{cluster: c, id: int32(i + 1), name: fmt.Sprintf("n%d", i+1), disk: vfs.NewMem(), raft: newRaftDisk()})
	}
	return c
}

// violate notes that something that must hold doesn't.
func (c *cluster) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.events.add("VIOLATION", "%s", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violations = append(c.violations, text)
}

// failed tells whether something was violated.
func (c *cluster) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.violations) > 0
}

// await polls until f is true, for at most within.
func await(within time.Duration, f func() bool) bool {
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		if f() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// inSync tells whether a node sees itself in every ISR that it should be in; what the node knows of itself
// includes its present registration.
func (n *node) inSync() bool {
	if !n.serving() {
		return false
	}
	return isrLacks(n.server.Image(), n.id) == ""
}

// isrLacks names a partition whose ISR lacks a replica, of one broker or (0) of any; empty if there is none.
func isrLacks(img *image.Image, broker int32) string {
	for t := range img.Topics() {
		for i, p := range t.Partitions() {
			for _, id := range p.Replicas {
				if (broker == 0 || id == broker) && !slices.Contains(p.ISR, id) {
					return fmt.Sprintf("%s-%d: leader %d, epoch %d, replicas %v, ISR %v, ELR %v, offset %d", t.Name, i, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, p.ELR, img.Offset())
				}
			}
		}
	}
	return ""
}

// offsets are those of the nodes' images, for messages.
func (c *cluster) offsets() (list []string) {
	for _, n := range c.nodes {
		if n.serving() {
			list = append(list, fmt.Sprintf("%s has metadata up to %d of epoch %d", n.name, n.server.Image().Offset(), n.server.Image().Epoch()))
		}
	}
	return list
}

// lacks tells what keeps the cluster from being whole: a node that isn't up, fenced, or out of an ISR.
func (c *cluster) lacks() string {
	for _, n := range c.nodes {
		if !n.serving() {
			return n.name + " doesn't serve"
		}
		img := n.server.Image()
		for _, m := range c.nodes {
			if b := img.Broker(m.id); b == nil || b.Fenced || b.InControlledShutdown {
				return fmt.Sprintf("%s is fenced, says %s", m.name, n.name)
			}
		}
		if lack := isrLacks(img, 0); lack != "" {
			return fmt.Sprintf("%s says %s", n.name, lack)
		}
	}
	return ""
}
