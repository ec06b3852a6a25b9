// Package results keeps the figures of a comparison as JSON, and sets two of them beside each other.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ottla/ottla/bench/internal/stat"
)

// Kind marks the files of this package among others that may lie beside them.
const Kind = "ottla-kafka-comparison"

// Run is the figures of one run of the comparison.
type Run struct {
	Kind    string    `json:"kind"`
	Began   time.Time `json:"began"`
	Machine string    `json:"machine"`
	// Versions of Ottla, Kafka and Java, in one line.
	Versions string `json:"versions"`
	Quick    bool   `json:"quick"`
	// Scale is which fraction of the work was done: 3 is a third.
	Scale       int64    `json:"scale"`
	LoadAverage float64  `json:"loadAverage"` // median of the run
	Figures     []Figure `json:"figures"`
	Notes       []string `json:"notes,omitempty"`
}

// Figure is one figure of a scenario, one value a round and broker.
type Figure struct {
	Scenario string    `json:"scenario"`
	Name     string    `json:"figure"`
	Ottla    []float64 `json:"ottla"`
	Kafka    []float64 `json:"kafka"`
}

// Ratio is Ottla's median by Kafka's; false if there is none.
func (f *Figure) Ratio() (float64, bool) {
	kafka := stat.Median(f.Kafka)
	if len(f.Ottla) == 0 || kafka <= 0 {
		return 0, false
	}
	return stat.Median(f.Ottla) / kafka, true
}

// spread is how far the ratio may be off, as a share of it; false if that can't be told of single values.
func (f *Figure) spread() (float64, bool) {
	if len(f.Ottla) < 2 || len(f.Kafka) < 2 {
		return 0, false
	}
	return max(stat.Spread(f.Ottla), stat.Spread(f.Kafka)), true
}

// MoreIsBetter says whether a figure grows as a broker gets better.
func MoreIsBetter(figure string) bool { return figure == "MiB/s" }

// neutral says whether a figure only tells about others: a broker that is slower gets more records in a request.
func neutral(figure string) bool { return figure == "records/request" || figure == "sent, %" }

// Write writes a run to a file.
func (r *Run) Write(path string) error {
	r.Kind = Kind
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Read reads a run.
func Read(path string) (*Run, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parse(b)
}

// errOther says that a file isn't a run of the comparison.
var errOther = errors.New("not a run of the comparison")

func parse(b []byte) (*Run, error) {
	r := &Run{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	if r.Kind != Kind {
		return nil, errOther
	}
	return r, nil
}

// Newest is the newest run in a folder that git has, with its path as git has it; nil if there is none.
func Newest(dir string) (*Run, string, error) {
	out, err := exec.Command("git", "-C", dir, "ls-files", "--", "*.json").Output()
	if err != nil {
		return nil, "", fmt.Errorf("git ls-files: %w", err)
	}
	return newest(strings.Fields(string(out)), func(name string) ([]byte, error) {
		// What is committed counts, not what lies there.
		return exec.Command("git", "-C", dir, "show", "HEAD:./"+filepath.ToSlash(name)).Output()
	})
}

// newest takes the last of the names that is a run; they begin with their time.
func newest(names []string, read func(name string) ([]byte, error)) (*Run, string, error) {
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		b, err := read(name)
		if err != nil {
			continue // Added, but not committed yet.
		}
		r, err := parse(b)
		if errors.Is(err, errOther) {
			continue
		}
		return r, name, err
	}
	return nil, "", nil
}
