//go:build race

package batch

// allowedAllocs is how many allocations a run of a path may have that takes from pools. The race detector empties pools at random:
// what counts then is that nothing is allocated for each record.
const allowedAllocs = 50
