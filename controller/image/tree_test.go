package image

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTreeAgainstMap plays random changes on a tree and a map: contents and order must agree, the
// tree stay balanced, and older trees stay as they were.
func TestTreeAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, model := newTree[int, int](cmp.Compare[int]), map[int]int{}
		before, modelBefore := tr, map[int]int{}
		for i, k := range rapid.SliceOfN(rapid.IntRange(0, 60), 0, 200).Draw(t, "keys") {
			if rapid.Bool().Draw(t, "remove") {
				tr = tr.without(k)
				delete(model, k)
			} else {
				tr = tr.with(k, i)
				model[k] = i
			}
			if i == 50 {
				before, modelBefore = tr, maps.Clone(model)
			}
			checkBalance(t, tr.root)
		}
		compareWithMap(t, tr, model)
		compareWithMap(t, before, modelBefore)
	})
}

func compareWithMap(t *rapid.T, tr tree[int, int], model map[int]int) {
	keys := slices.Sorted(maps.Keys(model))
	var got []int
	for k, v := range tr.all(nil) {
		if model[k] != v {
			t.Fatalf("key %d has %d, want %d", k, v, model[k])
		}
		got = append(got, k)
	}
	if !slices.Equal(got, keys) || tr.len() != len(keys) {
		t.Fatalf("keys %v, len %d, want %v", got, tr.len(), keys)
	}
	from := 30
	i, _ := slices.BinarySearch(keys, from)
	if n := len(slices.Collect(tr.values(&from))); n != len(keys)-i {
		t.Fatalf("%d values from %d on, want %d", n, from, len(keys)-i)
	}
}

func checkBalance(t *rapid.T, n *treeNode[int, int]) {
	if n == nil {
		return
	}
	if d := n.left.depth() - n.right.depth(); d < -1 || d > 1 || n.height != 1+max(n.left.depth(), n.right.depth()) {
		t.Fatalf("unbalanced: %d, %d", n.left.depth(), n.right.depth())
	}
	checkBalance(t, n.left)
	checkBalance(t, n.right)
}
