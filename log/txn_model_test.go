package commitlog

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"pgregory.net/rapid"
)

var (
	modelSteps = flag.Int("model.steps", 10_000, "how many steps TestTransactionModel makes")
	modelSeed  = flag.Uint64("model.seed", 0, "its seed; 0 takes the time")
	modelRun   = flag.Uint64("model.run", 0, "only this run of the seed; 0 is all")
)

// runModel opens a log, makes n steps on it, and closes it.
func runModel(d *driver, n int) error {
	if err := d.open(); err != nil {
		return err
	}
	if err := runSteps(d, n); err != nil {
		return err
	}
	return d.e.m.Close()
}

// runSteps makes n steps on a log that is open, and compares after some and the last.
func runSteps(d *driver, n int) error {
	for i := range n {
		if err := d.step(); err != nil {
			return err
		}
		if d.intn(6) == 0 || i == n-1 {
			if err := d.compareAll(); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestTransactionModelShrunk runs logs with transactions against a ledger; rapid makes failures small.
func TestTransactionModelShrunk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		intn := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }
		d := &driver{e: txnEnv(vfs.NewMem(), intn), intn: intn}
		defer func() {
			if d.e.m != nil {
				abandonAll(d.e)
			}
		}()
		if err := runModel(d, rapid.IntRange(1, 80).Draw(t, "steps")); err != nil {
			t.Fatalf("%v", d.tell(err))
		}
	})
}

// TestTransactionModel is the same with dice of its own, for as many steps as -model.steps says. It prints
// its seed; -model.seed and -model.run repeat one run.
func TestTransactionModel(t *testing.T) {
	t.Parallel()
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	done := map[string]int{}
	steps, refused := 0, 0
	for run := uint64(1); steps < *modelSteps; run++ {
		if *modelRun != 0 {
			run = *modelRun
		}
		rng := rand.New(rand.NewPCG(seed, run))
		d := &driver{e: txnEnv(vfs.NewMem(), rng.IntN), intn: rng.IntN}
		n := 20 + rng.IntN(180)
		if err := runModel(d, n); err != nil {
			t.Fatalf("-model.seed=%d -model.run=%d: %v", seed, run, d.tell(err))
		}
		steps, refused = steps+n, refused+d.refused
		for name, n := range d.done {
			done[name] += n
		}
		if *modelRun != 0 {
			return
		}
	}
	for _, s := range driverSteps {
		if done[s.name] == 0 {
			t.Errorf("no step was %q", s.name)
		}
	}
	t.Logf("%d steps, %d appends refused as they had to be", steps, refused)
	for _, name := range slices.Sorted(maps.Keys(done)) {
		t.Logf("%8d %s", done[name], name)
	}
}
