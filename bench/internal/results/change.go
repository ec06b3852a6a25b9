package results

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Verdict is what became of a ratio.
type Verdict string

// Verdicts. A change within the spread of both runs is none.
const (
	Same    Verdict = ""
	Better  Verdict = "better"
	Worse   Verdict = "WORSE"
	Unknown Verdict = "?" // too few rounds to tell
)

// Change is a ratio of Ottla to Kafka in two runs.
type Change struct {
	Scenario, Figure string
	Before, Now      float64
	// Spread is how far apart both may be by chance, as a share.
	Spread  float64
	Verdict Verdict
}

// Compare sets the ratios of two runs beside each other, in the order of now. What only one has is left out.
func Compare(before, now *Run) []Change {
	old := make(map[[2]string]*Figure)
	for i := range before.Figures {
		f := &before.Figures[i]
		old[[2]string{f.Scenario, f.Name}] = f
	}
	var out []Change
	for i := range now.Figures {
		f := &now.Figures[i]
		b := old[[2]string{f.Scenario, f.Name}]
		if b == nil || neutral(f.Name) {
			continue
		}
		x, ok := b.Ratio()
		y, ok2 := f.Ratio()
		if !ok || !ok2 || x == 0 {
			continue
		}
		c := Change{Scenario: f.Scenario, Figure: f.Name, Before: x, Now: y, Verdict: Unknown}
		s, ok := b.spread()
		s2, ok2 := f.spread()
		if ok && ok2 {
			c.Spread = s + s2
			c.Verdict = verdict(x, y, c.Spread, MoreIsBetter(f.Name))
		}
		out = append(out, c)
	}
	return out
}

// verdict judges a ratio that was x and is y.
func verdict(x, y, spread float64, moreIsBetter bool) Verdict {
	if moreIsBetter {
		x, y = y, x
	}
	switch {
	case y > x*(1+spread):
		return Worse
	case x > y*(1+spread):
		return Better
	}
	return Same
}

// Table renders changes.
func Table(changes []Change) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tfigure\tratio before\tnow\tspread\t")
	for _, c := range changes {
		spread := "-"
		if c.Verdict != Unknown {
			spread = fmt.Sprintf("%.0f%%", 100*c.Spread)
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%.2f\t%s\t%s\n", c.Scenario, c.Figure, c.Before, c.Now, spread, c.Verdict)
	}
	_ = w.Flush() // A strings.Builder doesn't fail.
	return b.String()
}
