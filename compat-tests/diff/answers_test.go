package diff_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/ottla/ottla/compat-tests/diff/cases"
	"github.com/ottla/ottla/compat-tests/harness"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const goldenDir = "../golden"

var (
	only   = flag.String("case", "", "regular expression: play only the cases whose names match")
	atOnce = flag.Int("at-once", 16, "cases that are played at the same time")
)

// TestAnswers plays every case against the broker under test and compares its answers with those that were
// recorded from Kafka.
func TestAnswers(t *testing.T) {
	properties, err := os.ReadFile("oracle.properties")
	if err != nil {
		t.Fatal(err)
	}
	address, stop, err := harness.Target(t.Context(), t.TempDir(), string(properties))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Errorf("stopping the broker: %v", err)
		}
	}()
	chosen := chosenCases(t)
	differing := map[string]int{}
	for i, got := range diff.Play(t.Context(), address, chosen, *atOnce) {
		t.Run(chosen[i].Name, func(t *testing.T) {
			want, err := diff.ReadGolden(goldenDir, chosen[i].Name)
			if err != nil {
				t.Fatal(err)
			}
			differences := diff.Compare(want, got, diff.Deliberates())
			for _, d := range differences {
				t.Error(d)
			}
			if len(differences) > 0 {
				api, _, _ := strings.Cut(chosen[i].Name, "/")
				differing[api]++
			}
		})
	}
	for api, n := range differing {
		t.Logf("%-32s %3d cases differ", api, n)
	}
}

func chosenCases(t *testing.T) []diff.Case {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(cases.All(), func(c diff.Case) bool { return !pattern.MatchString(c.Name) })
}

// TestGoldensMatchCases keeps golden files and cases together, and names unique.
func TestGoldensMatchCases(t *testing.T) {
	recorded, err := diff.GoldenCases(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, c := range cases.All() {
		if slices.Contains(named, c.Name) {
			t.Errorf("two cases are called %s", c.Name)
		}
		named = append(named, c.Name)
		if !slices.Contains(recorded, c.Name) {
			t.Errorf("case %s has no golden file", c.Name)
		}
	}
	for _, name := range recorded {
		if !slices.Contains(named, name) {
			t.Errorf("golden file of no case: %s", name)
		}
	}
}

// TestGoldensHaveAnswers makes sure that no script went wrong when it was recorded.
func TestGoldensHaveAnswers(t *testing.T) {
	recorded, err := diff.GoldenCases(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range recorded {
		g, err := diff.ReadGolden(goldenDir, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Steps) == 0 {
			t.Errorf("%s has no steps", name)
		}
		for _, s := range g.Steps {
			for _, l := range s.Lines {
				for _, f := range l.Fields {
					if f.Name == "Failed" || f.Name == "Undecodable" {
						t.Errorf("%s, %s: %s %s", name, s.Title, f.Name, f.Value)
					}
				}
			}
		}
		if text := g.Text(); strings.Contains(text, "/home/") || strings.Contains(text, "/root/") {
			t.Errorf("%s holds a path of the machine it was recorded on", name)
		}
	}
}

// TestEveryVersionIsPlayed checks the cases against what Kafka said it serves: each version of each API that
// isn't left for later has a case.
func TestEveryVersionIsPlayed(t *testing.T) {
	g, err := diff.ReadGolden(goldenDir, "api_versions/versions-04")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range cases.All() {
		names = append(names, c.Name)
	}
	apis := 0
	for _, l := range g.Steps[0].Lines {
		if !strings.HasPrefix(l.Path, "ApiKeys[") {
			continue
		}
		key, least, most := numberOf(t, l, "ApiKey"), numberOf(t, l, "MinVersion"), numberOf(t, l, "MaxVersion")
		if isDeliberate(l.Path) {
			continue
		}
		if key == int16(kmsg.Produce) {
			least = 3 // Below it, Kafka advertises what it then refuses.
		}
		apis++
		for v := least; v <= most; v++ {
			name := fmt.Sprintf("%s/versions-%02d", cases.FileName(kmsg.NameForKey(key)), v)
			if !slices.Contains(names, name) {
				t.Errorf("no case %s", name)
			}
		}
	}
	if apis != 38 {
		t.Errorf("%d APIs are compared, want 38", apis)
	}
}

func isDeliberate(path string) bool {
	return slices.ContainsFunc(diff.Deliberates(), func(d diff.Deliberate) bool { return d.Path == path })
}

func numberOf(t *testing.T, l diff.Line, field string) int16 {
	t.Helper()
	for _, f := range l.Fields {
		if f.Name == field {
			n, err := strconv.ParseInt(f.Value, 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			return int16(n)
		}
	}
	t.Fatalf("%s has no %s", l.Path, field)
	return 0
}
