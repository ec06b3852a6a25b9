package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ottla/ottla/bench/internal/results"
	"github.com/ottla/ottla/bench/internal/stat"
)

// report collects the rows.
type report struct {
	head []string
	rows []row
}

type row struct {
	broker, group string
	size          int
	runs          []sample
}

func (r *report) add(broker, group string, size int, runs []sample) {
	r.rows = append(r.rows, row{broker, group, size, runs})
	c := column(runs, func(s sample) float64 { return s.cpuMicros })
	fmt.Fprintf(os.Stderr, "%s, %s: %d: %.1f us/request\n", broker, group, size, stat.Median(c))
}

func column(runs []sample, of func(sample) float64) []float64 {
	out := make([]float64, len(runs))
	for i, s := range runs {
		out[i] = of(s)
	}
	return out
}

// allowed is how much more a request may cost than at the first size.
const allowed = 4.0 / 3

// table renders medians, and the growth since the first size of a group.
func (r *report) table() string {
	var b strings.Builder
	for _, h := range r.head {
		fmt.Fprintln(&b, "#", h)
	}
	fmt.Fprintln(&b, "# Medians; ± is the largest distance from the median. Growth is CPU time by that of the first size of the group; above 1.33 it is marked.")
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "broker\tgroup\tsize\tCPU us/request\t±\tgrowth\t\trequests/s\tp99 ms\tRSS MiB\tload average")
	var first float64
	for i, row := range r.rows {
		get := func(of func(sample) float64) float64 { return stat.Median(column(row.runs, of)) }
		cpu := column(row.runs, func(s sample) float64 { return s.cpuMicros })
		if i == 0 || r.rows[i-1].group != row.group || r.rows[i-1].broker != row.broker {
			first = stat.Median(cpu)
		}
		growth, mark := "-", ""
		if first > 0 {
			g := stat.Median(cpu) / first
			growth = fmt.Sprintf("%.2f", g)
			if g > allowed {
				mark = "!"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%.1f\t%.0f%%\t%s\t%s\t%.0f\t%.2f\t%.0f\t%.1f\n", row.broker, row.group, row.size, stat.Median(cpu), 100*stat.Spread(cpu), growth, mark,
			get(func(s sample) float64 { return s.perSecond }), get(func(s sample) float64 { return s.p99Ms }),
			get(func(s sample) float64 { return s.rssMiB }), get(func(s sample) float64 { return s.load }))
	}
	_ = w.Flush() // A strings.Builder doesn't fail.
	return b.String()
}

// write prints the table and puts it into the folder of results.
func (r *report) write(folder string, began time.Time) error {
	return results.Print(folder, began, "growth", r.table())
}
