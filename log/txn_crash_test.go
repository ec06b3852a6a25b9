package commitlog

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/vfs"
)

// crashSteps is how many steps a workload has before the crash, crashGoesOn how many after it.
const (
	crashSteps  = 60
	crashGoesOn = 12
)

var crashAll = flag.Bool("crash.all", false, "crash all workloads at every call, not one at every third")

// failingRun makes a workload over files that may fail, until it is done or something has failed. The same
// seed makes the same file system calls.
func failingRun(fs vfs.FS, seed uint64, steps int) (*driver, error) {
	rng := rand.New(rand.NewPCG(seed, 77))
	d := &driver{e: txnEnv(fs, rng.IntN), intn: rng.IntN, failing: true}
	err := d.open()
	for i := 0; err == nil && i < steps && !d.dead; i++ {
		err = d.step()
	}
	if d.e.m != nil {
		abandonAll(d.e)
	}
	return d, err
}

// goOn opens what a crash left of a workload, holds it against the ledger's promises, and goes on.
func goOn(fs vfs.FS, was *driver, seed uint64) (err error) {
	rng := rand.New(rand.NewPCG(seed, 78))
	d := &driver{e: newEnv(fs), intn: rng.IntN, crashed: true, led: was.led}
	d.led.batches = slices.Clone(was.led.batches)
	d.e.cfg, d.e.dedupe, d.e.clk = was.e.cfg, was.e.dedupe, clock.NewManual(was.e.clk.Now())
	defer func() {
		if d.e.m != nil {
			abandonAll(d.e)
		}
		if err != nil {
			err = fmt.Errorf("%w\n%s", d.tell(err), d.e.logs.String())
		}
	}()
	compact := d.e.cfg.Compact
	d.e.cfg.Compact = false // As at a real start: policies come with the cluster's metadata.
	if err := d.e.open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	d.e.cfg.Compact = compact
	if err := d.create(); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := d.led.settle(d.l); err != nil {
		return err
	}
	if d.led.emptied {
		return nil
	}
	if err := d.compareAll(); err != nil {
		return err
	}
	d.watermark(d.led.end)
	d.decided = d.led.end
	d.led.must, d.led.minStart, d.led.maxStart = 0, d.led.start, d.led.start
	if err := runSteps(d, crashGoesOn); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	if err := d.stop(); err != nil {
		return fmt.Errorf("after a clean stop: %w", err)
	}
	return d.e.m.Close()
}

// crashSeeds are the seeds of workloads: one that is deleted from, one that is compacted, and one of which both
// is true.
func crashSeeds(t *testing.T) []uint64 {
	t.Helper()
	found := map[string]uint64{}
	for seed := uint64(1); seed < 2000 && len(found) < 3; seed++ {
		rng := rand.New(rand.NewPCG(seed, 77))
		cfg := txnEnv(vfs.NewMem(), rng.IntN).cfg
		kind := fmt.Sprint(cfg.Compact, cfg.Delete)
		if found[kind] != 0 {
			continue
		}
		d, err := failingRun(vfs.NewMem(), seed, crashSteps)
		if err != nil || d.dead {
			t.Fatalf("seed %d, no failure injected: %v", seed, d.tell(err))
		}
		enough := d.led.must > 0 && d.led.start > 0 && d.l.cleaned.Load() > 0 == cfg.Compact
		for _, name := range []string{"roll", "flush", "retention", "delete records", "truncate", "checkpoint", "marker", "wait"} {
			enough = enough && d.done[name] > 0
		}
		if enough {
			found[kind] = seed
		}
	}
	if len(found) < 3 {
		t.Fatalf("no workloads do all that is wanted: %v", found)
	}
	return []uint64{found["false true"], found["true false"], found["true true"]}
}

// atEveryCall runs a workload for each of its file system calls.
func atEveryCall(t *testing.T, inject func(n int64) func(int64, vfs.Op, string) error, check func(mem *vfs.Mem, d *driver, n int64) error) {
	seeds, stride := crashSeeds(t), int64(1)
	if !*crashAll {
		seeds, stride = seeds[2:], 3
	}
	for _, seed := range seeds {
		fs := vfs.NewInject(vfs.NewMem(), vfs.FailFrom(1<<62))
		if _, err := failingRun(fs, seed, crashSteps); err != nil {
			t.Fatal(err)
		}
		t.Logf("workload %d: %d calls", seed, fs.Calls())
		for n := int64(1); n <= fs.Calls(); n += stride {
			mem := vfs.NewMem()
			d, err := failingRun(vfs.NewInject(mem, inject(n)), seed, crashSteps)
			if err == nil {
				err = check(mem, d, n)
			}
			if err != nil {
				t.Fatalf("workload %d, call %d: %v\n%s", seed, n, d.tell(err), d.e.logs.String())
			}
		}
	}
}

// TestCrashWithTransactions cuts the power at each file system call of workloads with transactions, loses some
// of what wasn't synced, and opens what is left: what was flushed is there, a prefix of what was written, with
// the producers, stable offsets and aborted transactions that follow from it.
func TestCrashWithTransactions(t *testing.T) {
	t.Parallel()
	atEveryCall(t, vfs.FailFrom, func(mem *vfs.Mem, d *driver, n int64) error {
		for seed := range uint64(3) {
			var rng *rand.Rand
			if seed > 0 {
				rng = rand.New(rand.NewPCG(seed, uint64(n)))
			}
			if err := goOn(mem.AfterCrash(rng), d, seed); err != nil {
				return fmt.Errorf("power cut, seed %d: %w", seed, err)
			}
		}
		return nil
	})
}

// TestErrorWithTransactions fails each call by itself; then comes a power cut, or a kill.
func TestErrorWithTransactions(t *testing.T) {
	t.Parallel()
	atEveryCall(t, vfs.FailNth, func(mem *vfs.Mem, d *driver, n int64) error {
		torn := goOn(mem.AfterCrash(rand.New(rand.NewPCG(9, uint64(n)))), d, 1)
		killed := goOn(mem, d, 2)
		if torn != nil {
			torn = fmt.Errorf("power cut: %w", torn)
		}
		return errors.Join(torn, killed)
	})
}
