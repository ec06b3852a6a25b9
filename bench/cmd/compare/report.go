package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/results"
	"github.com/ottla/ottla/bench/internal/stat"
)

// report collects figures and writes the table.
type report struct {
	folder string
	head   []string
	notes  []string
	order  []string // scenarios, as they first came
	// figures are by scenario, figure and broker, one value a round.
	figures map[string]map[string]map[string][]float64
	loads   []float64 // load averages, one a measurement
	began   time.Time
	run     results.Run // its figures come when it is written
}

func newReport(o options, began time.Time) *report {
	kafka := "unknown"
	if m, _ := filepath.Glob(filepath.Join(o.libs, "kafka-clients-*.jar")); len(m) > 0 {
		kafka = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(m[0]), "kafka-clients-"), ".jar")
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	machine := fmt.Sprintf("%d cores, %s, Linux %s", runtime.NumCPU(), proc.CPUModel(), strings.TrimSpace(string(kernel)))
	versions := firstLine(o.ottla, "version") + " (" + runtime.Version() + "), Kafka " + kafka + ", " + firstLine(o.java, "-version")
	return &report{folder: o.results, began: began, figures: map[string]map[string]map[string][]float64{}, head: []string{
		"Ottla (A) beside Kafka (B), " + began.UTC().Format("2006-01-02 15:04 UTC"),
		"machine: " + machine,
		"versions: " + versions,
		fmt.Sprintf("rounds: %d, A B A B; 1/%d of the work; quick: %v", o.rounds, o.scale, o.quick),
	}, run: results.Run{Began: began.UTC(), Machine: machine, Versions: versions, Quick: o.quick, Scale: o.scale}}
}

func firstLine(command string, args ...string) string {
	out, _ := exec.Command(command, args...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// note adds a line under the table, and shows it at once.
func (r *report) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, s)
	r.notes = append(r.notes, s)
}

// single adds a figure that is taken once.
func (r *report) single(name, broker string, v float64) {
	r.add("once", broker, measurement{name: v})
}

// add takes the figures of one round.
func (r *report) add(scenario, broker string, m measurement) {
	byFigure := r.figures[scenario]
	if byFigure == nil {
		byFigure = map[string]map[string][]float64{}
		r.figures[scenario] = byFigure
		r.order = append(r.order, scenario)
	}
	for name, v := range m {
		if byFigure[name] == nil {
			byFigure[name] = map[string][]float64{}
		}
		byFigure[name][broker] = append(byFigure[name][broker], v)
	}
	r.loads = append(r.loads, proc.LoadAverage())
}

// table renders medians, their spread, and the ratio A/B.
func (r *report) table() string {
	var b strings.Builder
	for _, h := range r.head {
		fmt.Fprintln(&b, "#", h)
	}
	if len(r.loads) > 0 {
		fmt.Fprintf(&b, "# load average: median %.1f, from %.1f to %.1f; took %.0f s\n", stat.Median(r.loads), slices.Min(r.loads), slices.Max(r.loads), time.Since(r.began).Seconds())
	}
	fmt.Fprintln(&b, "# ± is the largest distance from the median. Ratio is A/B: above 1 is better for MiB/s, below 1 for everything else (records/request and sent say what others are worth). rounds: of Ottla/of Kafka.")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfigure\tOttla\t±\tKafka\t±\tratio\trounds")
	for _, s := range r.order {
		for _, name := range slices.Sorted(maps.Keys(r.figures[s])) {
			x, y := r.figures[s][name]["ottla"], r.figures[s][name]["kafka"]
			ratio := "-"
			if len(x) > 0 && len(y) > 0 && stat.Median(y) > 0 {
				ratio = fmt.Sprintf("%.2f", stat.Median(x)/stat.Median(y))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d/%d\n", s, name, median(x), spread(x), median(y), spread(y), ratio, len(x), len(y))
		}
	}
	_ = w.Flush() // A strings.Builder doesn't fail.
	for _, n := range r.notes {
		fmt.Fprintln(&b, "#", n)
	}
	return b.String()
}

func median(v []float64) string {
	if len(v) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g", stat.Median(v))
}

func spread(v []float64) string {
	if len(v) < 2 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*stat.Spread(v))
}
