package testcluster

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var mutantsFlag = flag.Bool("mutants", false, "show that each planted bug is found within 500 seeds")

// mutant is a planted bug: an edit of the product's source. It is made in a copy that only the test's compiler
// sees (go build -overlay), so that the product has no switch for it; an edit whose text isn't found exactly
// once fails the test, so that it keeps up with the source.
type mutant struct {
	name, file, old, new string
}

var mutants = []mutant{
	{"the high watermark is one too early", "replica/leader.go",
		"return p.view.Committable(p.log().LogEndOffset(), p.host.now(), p.host.lagTimeMax(), p.isEligible)",
		"return min(p.view.Committable(p.log().LogEndOffset(), p.host.now(), p.host.lagTimeMax(), p.isEligible)+1, p.log().LogEndOffset())"},
	{"changes of the ISR aren't fenced", "controller/decide/alter_partition.go",
		`	case rp.LeaderEpoch < p.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	case leader != p.Leader:
		return kerr.InvalidRequest
	case rp.PartitionEpoch < p.PartitionEpoch:
		return kerr.InvalidUpdateVersion
`, ""},
	{"a follower doesn't truncate what diverges", "replica/follower.go",
		"lastFetchedEpoch: p.log().LatestEpoch()}, true", "lastFetchedEpoch: -1}, true"},
	{"a follower that should truncate goes on", "replica/follower.go",
		"err := p.log().TruncateTo(to)", "err := error(nil)"},
	{"acks=all is acknowledged by fewer than min.insync.replicas", "replica/partition.go",
		"return min(int(p.minInsyncReplicas.Load()), len(p.state.replicas))", "return min(1, len(p.state.replicas))"},
	{"acks=all doesn't wait", "replica/append.go",
		"if acks == acksAll && p.log().HighWatermark() <= info.LastOffset {", "if acks == acksAll && false {"},
	{"a broker that crashed stays in the ISR", "controller/decide/register_broker.go",
		"stoppedCleanly := req.Version >= 3 && req.PreviousBrokerEpoch == formerEpoch", "stoppedCleanly := formerEpoch == formerEpoch"},
}

// TestMutants shows that the simulation finds planted bugs, and by which seed.
func TestMutants(t *testing.T) {
	if !*mutantsFlag {
		t.Skip("takes minutes: make mutants")
	}
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) { m.run(t) })
	}
}

var foundAt = regexp.MustCompile(`seed (\d+) \(run it again.*\n\s*(.*)`)

func (m *mutant) run(t *testing.T) {
	binary := m.build(t)
	out, err := exec.Command(binary, "-test.run", "^TestSimulate$", "-test.timeout", "30m", "-seeds", "500", "-first", "-log", *logFlag).CombinedOutput()
	found := foundAt.FindSubmatch(out)
	switch {
	case found != nil:
		t.Logf("found by seed %s: %s", found[1], found[2])
	case err == nil:
		t.Error("500 seeds found nothing")
	default:
		t.Errorf("%v\n%s", err, out[max(0, len(out)-4000):])
	}
}

// build compiles the simulation with the bug planted.
func (m *mutant) build(t *testing.T) string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, filepath.FromSlash(m.file))
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s has the text to be replaced %d times, once is wanted: %s", m.file, n, m.old)
	}
	dir := t.TempDir()
	changed, overlay, binary := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./internal/testcluster")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}
