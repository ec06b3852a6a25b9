package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/ottla/ottla/bench/internal/chart"
	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/results"
)

// write prints the table and what has changed since the last committed run, and puts the table, the figures and a
// chart into the folder of results.
func (r *report) write() error {
	run := r.result()
	t := r.table()
	_, err := os.Stdout.WriteString(t + "\n" + since(r.folder, run))
	slug := strings.Join(strings.FieldsFunc(strings.ToLower(proc.CPUModel()), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}), "-")
	base := results.Base(r.folder, r.began, fmt.Sprintf("%dx-%s", runtime.NumCPU(), slug))
	return errors.Join(err, os.MkdirAll(r.folder, 0o755), os.WriteFile(base+".txt", []byte(t), 0o644), run.Write(base+".json"),
		os.WriteFile(base+".svg", []byte(plot(run)), 0o644))
}

// result puts the figures in the order of the table.
func (r *report) result() *results.Run {
	run := r.run
	run.LoadAverage, run.Notes, run.Figures = r.LoadAverage(), r.notes, r.Figures()
	return &run
}

// since tells what has changed since the newest run that is committed.
func since(folder string, now *results.Run) string {
	before, name, err := results.Newest(folder)
	switch {
	case err != nil:
		return fmt.Sprintf("# no comparison with a former run: %v\n", err)
	case before == nil:
		return "# no comparison: no former run is committed\n"
	}
	changes := results.Compare(before, now)
	worse := 0
	for _, c := range changes {
		if c.Verdict == results.Worse {
			worse++
		}
	}
	head := fmt.Sprintf("# ratios since %s (%s); spread is that of both runs together; ?: too few rounds to tell\n", name, before.Versions)
	if before.Machine != now.Machine || before.Quick != now.Quick || before.Scale != now.Scale {
		head += fmt.Sprintf("# NOT ALIKE: before on %s, quick %v, 1/%d of the work\n", before.Machine, before.Quick, before.Scale)
	}
	return head + results.Table(changes) + fmt.Sprintf("# %d of %d ratios got worse by more than the spread\n", worse, len(changes))
}

// plotted are the figures of the chart: the first one that a scenario has of each kind.
var plotted = []struct {
	name    string
	figures []string
}{
	{"broker CPU a request or record", []string{"CPU us/request", "CPU us/record"}},
	{"throughput, Kafka/Ottla", []string{"MiB/s"}},
	{"p99", []string{"p99 ms", "other client, p99 ms"}},
}

// plot draws the ratios of the scenarios so that less than 1 is better everywhere.
func plot(run *results.Run) string {
	by := make(map[[2]string]*results.Figure)
	var scenarios []string
	for i := range run.Figures {
		f := &run.Figures[i]
		by[[2]string{f.Scenario, f.Name}] = f
		if !slices.Contains(scenarios, f.Scenario) {
			scenarios = append(scenarios, f.Scenario)
		}
	}
	var series []string
	for _, p := range plotted {
		series = append(series, p.name)
	}
	var rows []chart.Row
	for _, s := range scenarios {
		row := chart.Row{Name: s}
		for i, p := range plotted {
			for _, name := range p.figures {
				f := by[[2]string{s, name}]
				if f == nil {
					continue
				}
				if v, ok := f.Ratio(); ok && v > 0 {
					if results.MoreIsBetter(name) {
						v = 1 / v
					}
					row.Bars = append(row.Bars, chart.Bar{Series: i, Value: v})
					break
				}
			}
		}
		if len(row.Bars) > 0 {
			rows = append(rows, row)
		}
	}
	return chart.SVG("Ottla/Kafka, "+run.Began.Format("2006-01-02 15:04 UTC")+": left of 1 is better for Ottla", series, rows)
}
