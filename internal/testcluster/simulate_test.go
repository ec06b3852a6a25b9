package testcluster

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the one seed to run; 0 runs -seeds of them")
	fromFlag  = flag.Uint64("from", 1, "the first of -seeds")
	seedsFlag = flag.Int("seeds", 100, "how many seeds to run")
	firstFlag = flag.Bool("first", false, "stop at the first seed that fails")
	levelFlag = flag.String("level", "INFO", "from which level on the nodes' log lines are kept")
	logFlag   = flag.String("log", "", "where to write the logs of failures, or of the one seed: the seed is appended; empty: only their ends are printed")
)

// runSeed runs a seed in a bubble.
func runSeed(t *testing.T, seed uint64) (r *Result) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(*levelFlag)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(*testing.T) { r = Run(Options{Seed: seed, LogLevel: level}) })
	return r
}

// keep writes a run's log where -log says.
func keep(t *testing.T, r *Result) {
	t.Helper()
	if *logFlag == "" {
		return
	}
	if err := os.WriteFile(fmt.Sprint(*logFlag, r.Seed), []byte(r.Log()), 0o644); err != nil {
		t.Error(err)
	}
}

// report prints a failure.
func report(t *testing.T, r *Result) {
	t.Helper()
	log := r.Log()
	keep(t, r)
	lines := strings.Split(log, "\n")
	const shown = 150
	t.Errorf("seed %d (run it again: go test ./internal/testcluster -run TestSimulate -seed %d -log FILE):\n%s\nthe end of what happened:\n%s",
		r.Seed, r.Seed, strings.Join(r.Violations, "\n"), strings.Join(lines[max(0, len(lines)-shown):], "\n"))
}

// TestSimulate runs whole clusters through trouble, a seed each.
func TestSimulate(t *testing.T) {
	if *seedFlag != 0 {
		r := runSeed(t, *seedFlag)
		t.Logf("seed %d: %d records acknowledged, %d read, %v simulated, faults: %v", r.Seed, r.Acked, r.Read, r.Took.Round(time.Second), r.Faults)
		if len(r.Violations) > 0 {
			report(t, r)
		} else {
			keep(t, r)
		}
		return
	}
	seeds := *seedsFlag
	if testing.Short() {
		seeds = min(seeds, 10)
	}
	began := time.Now()
	var next, acked, read, took atomic.Int64
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for w := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint("worker", w), func(t *testing.T) {
				t.Parallel()
				for {
					i := next.Add(1) - 1
					if i >= int64(seeds) {
						return
					}
					t.Run(fmt.Sprint("seed", *fromFlag+uint64(i)), func(t *testing.T) {
						r := runSeed(t, *fromFlag+uint64(i))
						acked.Add(int64(r.Acked))
						read.Add(int64(r.Read))
						took.Add(int64(r.Took))
						mu.Lock()
						for k, n := range r.Faults {
							counts[k] += n
						}
						mu.Unlock()
						if len(r.Violations) > 0 {
							if *firstFlag {
								next.Store(1 << 40)
							}
							report(t, r)
						}
					})
				}
			})
		}
	})
	var text []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		text = append(text, fmt.Sprintf("%d × %s", counts[k], k))
	}
	t.Logf("%d seeds in %v (%v simulated): %d records acknowledged, %d read; %s", seeds, time.Since(began).Round(time.Millisecond),
		time.Duration(took.Load()).Round(time.Second), acked.Load(), read.Load(), strings.Join(text, ", "))
	if acked.Load() < 20*int64(seeds) {
		t.Errorf("few records were acknowledged: the simulation tests little")
	}
}
