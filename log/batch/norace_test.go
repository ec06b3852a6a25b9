//go:build !race

package batch

// allowedAllocs is how many allocations a run of a path may have that takes from pools.
const allowedAllocs = 0
