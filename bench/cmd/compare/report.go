package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/results"
	"github.com/ottla/ottla/bench/internal/stat"
)

// report collects figures and writes the table.
type report struct {
	results.Set
	folder string
	head   []string
	notes  []string
	began  time.Time
	run    results.Run // its figures come when it is written
}

func newReport(o options, began time.Time) *report {
	machine, versions := proc.Machine(), node.Versions(o.ottla, o.java, o.libs)
	return &report{folder: o.results, began: began, head: []string{
		"Ottla (A) beside Kafka (B), " + began.UTC().Format("2006-01-02 15:04 UTC"),
		"machine: " + machine,
		"versions: " + versions,
		fmt.Sprintf("rounds: %d, A B A B; 1/%d of the work; quick: %v", o.rounds, o.scale, o.quick),
	}, run: results.Run{Began: began.UTC(), Machine: machine, Versions: versions, Quick: o.quick, Scale: o.scale}}
}

// note adds a line under the table, and shows it at once.
func (r *report) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, s)
	r.notes = append(r.notes, s)
}

// single adds a figure that is taken once.
func (r *report) single(name, broker string, v float64) {
	r.Add("once", broker, measurement{name: v})
}

// table renders medians, their spread, and the ratio A/B.
func (r *report) table() string {
	var b strings.Builder
	for _, h := range r.head {
		fmt.Fprintln(&b, "#", h)
	}
	b.WriteString(r.LoadLine(r.began))
	fmt.Fprintln(&b, "# ± is the largest distance from the median. Ratio is A/B: above 1 is better for MiB/s, below 1 for everything else (records/request and sent say what others are worth). rounds: of Ottla/of Kafka.")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfigure\tOttla\t±\tKafka\t±\tratio\trounds")
	for _, f := range r.Figures() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d/%d\n", f.Scenario, f.Name, median(f.Ottla), spread(f.Ottla), median(f.Kafka), spread(f.Kafka), f.RatioCell(),
			len(f.Ottla), len(f.Kafka))
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
