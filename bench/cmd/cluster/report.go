package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/stat"
)

// measurement is figures by their names.
type measurement map[string]float64

// report collects figures and writes the table.
type report struct {
	o     *options
	began time.Time
	order []string // scenarios, as they first came
	// figures are by scenario, figure and system, one value a round.
	figures map[string]map[string]map[string][]float64
	loads   []float64
	notes   []string
}

func newReport(o *options, began time.Time) *report {
	return &report{o: o, began: began, figures: map[string]map[string]map[string][]float64{}}
}

func (r *report) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s: %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// note adds a line under the table.
func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
	r.progress(format, args...)
}

func (r *report) add(scenario, system string, m measurement) {
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
		byFigure[name][system] = append(byFigure[name][system], v)
	}
	r.loads = append(r.loads, proc.LoadAverage())
}

// table renders medians and their ratio.
func (r *report) table() string {
	var b strings.Builder
	version, _ := exec.Command(r.o.ottla, "version").Output()
	fmt.Fprintf(&b, "# Three nodes of Ottla (A) and of Kafka (B), %s\n", r.began.UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(&b, "# machine: %d cores, %s; %s\n", runtime.NumCPU(), proc.CPUModel(), strings.TrimSpace(string(version)))
	if len(r.loads) > 0 {
		fmt.Fprintf(&b, "# load average: median %.1f, from %.1f to %.1f; took %.0f s\n", stat.Median(r.loads), slices.Min(r.loads), slices.Max(r.loads), time.Since(r.began).Seconds())
	}
	fmt.Fprintln(&b, "# Medians; the largest distance from them in parentheses. Ratio is A/B.")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfigure\tOttla\tKafka\tratio\trounds")
	for _, s := range r.order {
		names := make([]string, 0, len(r.figures[s]))
		for name := range r.figures[s] {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			x, y := r.figures[s][name]["ottla"], r.figures[s][name]["kafka"]
			ratio := "-"
			if len(x) > 0 && len(y) > 0 && stat.Median(y) > 0 {
				ratio = fmt.Sprintf("%.2f", stat.Median(x)/stat.Median(y))
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d/%d\n", s, name, cell(x), cell(y), ratio, len(x), len(y))
		}
	}
	_ = w.Flush() // A strings.Builder doesn't fail.
	for _, n := range r.notes {
		fmt.Fprintln(&b, "#", n)
	}
	return b.String()
}

// cell is the median, with the spread if there is more than one value.
func cell(v []float64) string {
	switch len(v) {
	case 0:
		return "-"
	case 1:
		return fmt.Sprintf("%.4g", v[0])
	}
	return fmt.Sprintf("%.4g (%.0f%%)", stat.Median(v), 100*stat.Spread(v))
}

// write prints the table and puts it into the folder of results.
func (r *report) write() error {
	t := r.table()
	_, err := os.Stdout.WriteString(t)
	name := r.began.UTC().Format("2006-01-02-1504") + "-cluster.txt"
	return errors.Join(err, os.MkdirAll(r.o.results, 0o755), os.WriteFile(filepath.Join(r.o.results, name), []byte(t), 0o644))
}
