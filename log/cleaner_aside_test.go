package commitlog

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestBadPartitionIsSetAside damages a record of one of three compacted partitions: that one is set aside, with
// file and position, the others are compacted as before. A restart tries it again.
func TestBadPartitionIsSetAside(t *testing.T) {
	e := compactedEnv(vfs.NewMem())
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	logs, hs := make([]*Log, 3), make([]keyed, 3)
	rng := rand.New(rand.NewPCG(4, 4))
	fill := func(batches int) {
		t.Helper()
		for p := range logs {
			var err error
			if logs[p], err = e.m.Create("t", int32(p), e.topicID, e.cfg); err != nil {
				t.Fatal(err)
			}
			hs[p].sequence = lastSequence(logs[p]) + 1
			for range batches {
				hs[p].append(e, logs[p], 3, rng)
			}
		}
	}
	fill(9)
	bad := (*logs[1].segments.Load())[1]
	at := bad.size.Load() - 3
	flip(t, e.fs, bad.log.Path(), at, 1)
	pass := func() {
		t.Helper()
		e.m.cleaner.pass()
		for _, p := range []int{0, 2} {
			if plan, err := logs[p].cleanPlan(e.clk.Now()); err != nil || plan.Due(0) || logs[p].cleaned.Load() <= 0 {
				t.Errorf("partition %d isn't compacted: %+v, %v", p, plan, err)
			}
			if err := hs[p].check(logs[p]); err != nil {
				t.Error(err)
			}
		}
	}
	aside := func() {
		t.Helper()
		us := e.m.Uncleanable()
		if len(us) != 1 || us[0].Partition != 1 || us[0].Dir != "/data" || us[0].Bytes != logs[1].SizeBytes() || !us[0].Since.Equal(e.clk.Now()) {
			t.Fatalf("set aside are %+v", us)
		}
		var corrupt *CorruptError
		if !errors.As(us[0].Err, &corrupt) || corrupt.Path != bad.log.Path() || corrupt.Position > at || corrupt.Position+200 < at {
			t.Errorf("the reason is %v; the damage is in %s at %d", us[0].Err, bad.log.Path(), at)
		}
	}
	pass()
	aside()
	if n := strings.Count(e.logs.String(), "setting a partition aside"); n != 1 || !strings.Contains(e.logs.String(), "uncleanable=1") {
		t.Errorf("%d lines say so:\n%s", n, e.logs.String())
	}
	fill(6)
	pass() // The others go on, and it isn't tried again.
	if n := strings.Count(e.logs.String(), "setting a partition aside"); n != 1 {
		t.Errorf("%d lines say so", n)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	fill(0)
	pass()
	aside()
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, e.fs, bad.log.Path(), at, 1)
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	fill(0)
	for _, l := range logs {
		l.SetHighWatermark(l.LogEndOffset())
	}
	pass()
	if us := e.m.Uncleanable(); len(us) != 0 || logs[1].cleaned.Load() <= 0 {
		t.Errorf("set aside are %+v; partition 1 is compacted up to %d", us, logs[1].cleaned.Load())
	}
	if err := hs[1].check(logs[1]); err != nil {
		t.Error(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
