package results

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	want := &Run{Kind: Kind, Began: time.Unix(5, 0).UTC(), Machine: "m", Versions: "v", Quick: true, Scale: 4, LoadAverage: 1.5,
		Figures: []Figure{{"s", "f", []float64{1, 2}, nil}}, Notes: []string{"n"}}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestNewest(t *testing.T) {
	files := map[string]string{
		"2026-01-01.json":       `{"kind":"` + Kind + `","machine":"old"}`,
		"2026-02-01.json":       `{"kind":"` + Kind + `","machine":"new"}`,
		"2026-03-01-other.json": `{"kind":"other"}`,
	}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, errors.New("not committed")
	}
	r, name, err := newest([]string{"2026-02-01.json", "2026-04-01.json", "2026-01-01.json", "2026-03-01-other.json"}, read)
	if err != nil || name != "2026-02-01.json" || r.Machine != "new" {
		t.Fatalf("got %v, %q, %v", r, name, err)
	}
	if r, _, err := newest(nil, read); r != nil || err != nil {
		t.Errorf("of none: %v, %v", r, err)
	}
	files["2026-05-01.json"] = "{"
	if _, _, err := newest([]string{"2026-05-01.json"}, read); err == nil {
		t.Error("a broken file was taken")
	}
}

// TestNewestInGit: what is committed counts, not what lies in the folder.
func TestNewestInGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git isn't installed")
	}
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-C", root, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	dir := filepath.Join(root, "results")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, machine string) {
		t.Helper()
		if err := (&Run{Machine: machine}).Write(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Newest(dir); err == nil {
		t.Error("a folder outside of any repository has a newest run")
	}
	git("init", "-q")
	if r, _, err := Newest(dir); r != nil || err != nil {
		t.Errorf("an empty repository: %v, %v", r, err)
	}
	write("2026-01-01.json", "committed")
	git("add", "-A")
	git("commit", "-qm", "results")
	write("2026-01-01.json", "changed")
	write("2026-02-01.json", "added")
	git("add", "results/2026-02-01.json")
	write("2026-03-01.json", "lies there")
	if r, name, err := Newest(dir); err != nil || r == nil || name != "2026-01-01.json" || r.Machine != "committed" {
		t.Errorf("got %+v, %q, %v", r, name, err)
	}
}

func TestCompare(t *testing.T) {
	fig := func(scenario, name string, ottla, kafka []float64) Figure {
		return Figure{scenario, name, ottla, kafka}
	}
	v := func(x ...float64) []float64 { return x }
	before := &Run{Figures: []Figure{
		fig("a", "CPU us/request", v(10, 11, 9), v(100, 100, 100)), // 0.10, 10 %
		fig("a", "MiB/s", v(200, 200), v(100, 100)),
		fig("b", "p99 ms", v(1, 1), v(2, 2)),
		fig("b", "single", v(1), v(2)),
		fig("b", "without kafka", v(1, 1), nil),
		fig("b", "records/request", v(1, 1), v(2, 2)),
		fig("b", "gone", v(1, 1), v(1, 1)),
	}}
	now := &Run{Figures: []Figure{
		fig("a", "CPU us/request", v(13, 14.3, 13), v(100, 100, 100)), // 0.13, 10 %: worse than 20 %
		fig("a", "MiB/s", v(150, 150), v(100, 100)),                   // less is worse
		fig("b", "p99 ms", v(0.5, 0.5), v(2, 2)),
		fig("b", "single", v(9), v(2)),
		fig("b", "without kafka", v(1, 1), v(1, 1)),
		fig("b", "records/request", v(2, 2), v(2, 2)),
		fig("b", "new", v(1, 1), v(1, 1)),
	}}
	var got []string
	for _, c := range Compare(before, now) {
		got = append(got, c.Scenario+" "+c.Figure+": "+string(c.Verdict))
	}
	want := []string{"a CPU us/request: WORSE", "a MiB/s: WORSE", "b p99 ms: better", "b single: ?"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range Compare(before, before) {
		if c.Verdict == Worse || c.Verdict == Better {
			t.Errorf("a run is %s than itself: %+v", c.Verdict, c)
		}
	}
	// Within the spread of both, 10 % and 10 %, nothing is said.
	now.Figures = []Figure{fig("a", "CPU us/request", v(11.9, 11.9, 10.8), v(100, 110, 100))}
	if c := Compare(before, now); len(c) != 1 || c[0].Verdict != Same {
		t.Errorf("got %+v", c)
	}
	if table := Table(Compare(before, now)); !strings.Contains(table, "0.10") || !strings.Contains(table, "0.12") {
		t.Errorf("the table has not both ratios:\n%s", table)
	}
}
