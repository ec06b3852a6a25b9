package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/results"
	"github.com/ottla/ottla/bench/internal/stat"
)

// measurement is figures by their names.
type measurement map[string]float64

// report collects figures and writes the table.
type report struct {
	results.Set
	o     *options
	began time.Time
	notes []string
}

func newReport(o *options, began time.Time) *report { return &report{o: o, began: began} }

func (r *report) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s: %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// note adds a line under the table.
func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
	r.progress(format, args...)
}

// table renders medians and their ratio.
func (r *report) table() string {
	var b strings.Builder
	version, _ := exec.Command(r.o.ottla, "version").Output()
	fmt.Fprintf(&b, "# Three nodes of Ottla (A) and of Kafka (B), %s\n", r.began.UTC().Format("2006-01-02 15:04 UTC"))
	fmt.Fprintf(&b, "# machine: %d cores, %s; %s\n", runtime.NumCPU(), proc.CPUModel(), strings.TrimSpace(string(version)))
	b.WriteString(r.LoadLine(r.began))
	fmt.Fprintln(&b, "# Medians; the largest distance from them in parentheses. Ratio is A/B.")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfigure\tOttla\tKafka\tratio\trounds")
	for _, f := range r.Figures() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d/%d\n", f.Scenario, f.Name, cell(f.Ottla), cell(f.Kafka), f.RatioCell(), len(f.Ottla), len(f.Kafka))
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
func (r *report) write() error { return results.Print(r.o.results, r.began, "cluster", r.table()) }
