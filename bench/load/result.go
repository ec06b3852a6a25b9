package load

import (
	"slices"
	"time"

	"github.com/ottla/ottla/bench/internal/stat"
)

// Result is what a load has done.
type Result struct {
	Requests int64
	Records  int64 // 0 where they aren't counted
	Bytes    int64 // of record batches
	Elapsed  time.Duration
	// latencies of single requests, from send to the whole answer; sorted.
	latencies []time.Duration
}

// Latency is a percentile of the requests' latencies.
func (r *Result) Latency(percentile float64) time.Duration {
	return stat.Percentile(r.latencies, percentile)
}

// MiBPerSecond is the throughput in record batches.
func (r *Result) MiBPerSecond() float64 { return float64(r.Bytes) / (1 << 20) / r.Elapsed.Seconds() }

// merge puts the results of connections that ran side by side together.
func merge(results []Result, elapsed time.Duration) Result {
	out := Result{Elapsed: elapsed}
	for _, r := range results {
		out.Requests += r.Requests
		out.Records += r.Records
		out.Bytes += r.Bytes
		out.latencies = append(out.latencies, r.latencies...)
	}
	slices.Sort(out.latencies)
	return out
}
