package vfs

import (
	"math/rand/v2"
	"slices"
)

// tornBlock is the unit in which a disk writes: of an un-synced range each block is old, new or
// zero after a crash.
const tornBlock = 512

// AfterCrash returns a new file system with what a power loss leaves of m: everything that was
// synced, and of the rest what rng says. A nil rng loses all of it.
//
//   - Each name that was created, renamed or removed since its directory's SyncDir is kept or
//     undone, each by itself.
//   - A file's un-synced bytes are, block by block, new, old or zero, and its un-synced length may
//     be anything in between.
//
// m is not changed; the copy shares nothing with it, and no lock is held in it.
func (m *Mem) AfterCrash(rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := crasher{rng: rng, done: map[*memNode]*memNode{}}
	after := &Mem{root: c.node(m.root), locks: map[string]bool{}, capacity: m.capacity}
	after.used = after.root.treeBytes()
	return after
}

// crasher copies a tree, losing things on the way.
type crasher struct {
	rng *rand.Rand
	// done keeps a node that two names reach one node.
	done map[*memNode]*memNode
}

// node copies a file or directory as it is after the crash.
func (c *crasher) node(n *memNode) *memNode {
	if d, ok := c.done[n]; ok {
		return d
	}
	out := &memNode{}
	c.done[n] = out
	if n.children == nil {
		out.data = c.bytes(n)
		out.synced = slices.Clone(out.data)
		out.reservedTo = n.reservedTo
		return out
	}
	names := c.names(n)
	out.children = make(map[string]*memNode, len(names))
	out.durable = make(map[string]*memNode, len(names))
	keys := make([]string, 0, len(names))
	for base := range names {
		keys = append(keys, base)
	}
	slices.Sort(keys)
	for _, base := range keys {
		child := c.node(names[base])
		out.children[base], out.durable[base] = child, child
	}
	return out
}

// names is the directory's content after the crash.
func (c *crasher) names(n *memNode) map[string]*memNode {
	names := make(map[string]*memNode, len(n.durable))
	for base, child := range n.durable {
		names[base] = child
	}
	for _, op := range n.ops {
		if c.rng == nil || c.rng.IntN(2) == 0 {
			continue
		}
		if op.remove != "" {
			delete(names, op.remove)
		}
		if op.add != "" {
			names[op.add] = op.node
		}
	}
	return names
}

// bytes is the file's content after the crash.
func (c *crasher) bytes(n *memNode) []byte {
	if c.rng == nil || n.dirtyFrom == n.dirtyTo {
		return slices.Clone(n.synced)
	}
	lo, hi := min(len(n.data), len(n.synced)), max(len(n.data), len(n.synced))
	size := lo
	if hi > lo {
		size += c.rng.IntN(hi - lo + 1)
	}
	out := make([]byte, size)
	copy(out, n.synced)
	for at := n.dirtyFrom; at < min(n.dirtyTo, size); {
		end := min((at/tornBlock+1)*tornBlock, n.dirtyTo, size)
		switch c.rng.IntN(4) {
		case 0: // Old: what was synced, or zero where nothing was.
		case 1:
			// A hole; only bytes that were never synced read as zero.
			clear(out[max(at, min(len(n.synced), end)):end])
		default:
			if at < len(n.data) {
				copy(out[at:end], n.data[at:])
			}
		}
		at = end
	}
	return out
}
