package image

import "iter"

// tree is a persistent ordered map: with and without return a new tree that shares all but the
// path to the change (an AVL tree with path copying). Make one with newTree.
type tree[K, V any] struct {
	root    *treeNode[K, V]
	compare func(a, b K) int
}

type treeNode[K, V any] struct {
	key         K
	value       V
	left, right *treeNode[K, V]
	// height is 1 for a leaf.
	// Invariant: the heights of left and right differ by at most 1.
	height int8
	// size counts the nodes from here down.
	size int
}

func newTree[K, V any](compare func(a, b K) int) tree[K, V] { return tree[K, V]{compare: compare} }

func (t tree[K, V]) len() int { return t.root.count() }

func (t tree[K, V]) get(key K) (value V, ok bool) {
	for n := t.root; n != nil; {
		switch c := t.compare(key, n.key); {
		case c < 0:
			n = n.left
		case c > 0:
			n = n.right
		default:
			return n.value, true
		}
	}
	return value, false
}

// with returns a tree in which key has value.
func (t tree[K, V]) with(key K, value V) tree[K, V] {
	t.root = t.insert(t.root, key, value)
	return t
}

// without returns a tree that lacks key.
func (t tree[K, V]) without(key K) tree[K, V] {
	if _, ok := t.get(key); ok {
		t.root = t.remove(t.root, key)
	}
	return t
}

// all yields entries in order of their keys, from the first key that isn't before *from.
func (t tree[K, V]) all(from *K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.walk(t.root, from, yield) }
}

// values is all without the keys.
func (t tree[K, V]) values(from *K) iter.Seq[V] {
	return func(yield func(V) bool) {
		t.walk(t.root, from, func(_ K, v V) bool { return yield(v) })
	}
}

func (t tree[K, V]) walk(n *treeNode[K, V], from *K, yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	if from == nil || t.compare(n.key, *from) >= 0 {
		if !t.walk(n.left, from, yield) || !yield(n.key, n.value) {
			return false
		}
	}
	return t.walk(n.right, from, yield)
}

func (t tree[K, V]) insert(n *treeNode[K, V], key K, value V) *treeNode[K, V] {
	if n == nil {
		return &treeNode[K, V]{key: key, value: value, height: 1, size: 1}
	}
	m := *n
	switch c := t.compare(key, n.key); {
	case c < 0:
		m.left = t.insert(n.left, key, value)
	case c > 0:
		m.right = t.insert(n.right, key, value)
	default:
		m.key, m.value = key, value
		return &m
	}
	return m.balanced()
}

// remove requires that key is in the tree.
func (t tree[K, V]) remove(n *treeNode[K, V], key K) *treeNode[K, V] {
	m := *n
	switch c := t.compare(key, n.key); {
	case c < 0:
		m.left = t.remove(n.left, key)
	case c > 0:
		m.right = t.remove(n.right, key)
	case n.left == nil:
		return n.right
	case n.right == nil:
		return n.left
	default:
		next := n.right
		for next.left != nil {
			next = next.left
		}
		m.key, m.value = next.key, next.value
		m.right = t.remove(n.right, next.key)
	}
	return m.balanced()
}

func (n *treeNode[K, V]) count() int {
	if n == nil {
		return 0
	}
	return n.size
}

func (n *treeNode[K, V]) depth() int8 {
	if n == nil {
		return 0
	}
	return n.height
}

// balanced returns the sub-tree of a fresh node, whose children's heights differ by at most 2, with
// the invariant restored. It takes the node.
func (n treeNode[K, V]) balanced() *treeNode[K, V] {
	switch diff := n.left.depth() - n.right.depth(); {
	case diff > 1:
		l := *n.left
		if l.left.depth() < l.right.depth() {
			l = *l.rotatedLeft()
		}
		n.left = &l
		return n.rotatedRight()
	case diff < -1:
		r := *n.right
		if r.right.depth() < r.left.depth() {
			r = *r.rotatedRight()
		}
		n.right = &r
		return n.rotatedLeft()
	}
	n.measure()
	return &n
}

func (n treeNode[K, V]) rotatedRight() *treeNode[K, V] {
	up := *n.left
	n.left = up.right
	n.measure()
	up.right = &n
	up.measure()
	return &up
}

func (n treeNode[K, V]) rotatedLeft() *treeNode[K, V] {
	up := *n.right
	n.right = up.left
	n.measure()
	up.left = &n
	up.measure()
	return &up
}

func (n *treeNode[K, V]) measure() {
	n.height = 1 + max(n.left.depth(), n.right.depth())
	n.size = 1 + n.left.count() + n.right.count()
}
