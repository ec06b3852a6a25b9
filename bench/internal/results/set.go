package results

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ottla/ottla/bench/internal/proc"
	"github.com/ottla/ottla/bench/internal/stat"
)

// Set collects figures round by round. Its zero value is empty.
type Set struct {
	order []string // scenarios, as they first came
	// figures are by scenario and name.
	figures map[string]map[string]*Figure
	loads   []float64 // load averages, one a measurement
}

// Add takes the figures of one round of a broker, "ottla" or "kafka".
func (s *Set) Add(scenario, broker string, values map[string]float64) {
	if s.figures == nil {
		s.figures = map[string]map[string]*Figure{}
	}
	of := s.figures[scenario]
	if of == nil {
		of = map[string]*Figure{}
		s.figures[scenario] = of
		s.order = append(s.order, scenario)
	}
	for name, v := range values {
		f := of[name]
		if f == nil {
			f = &Figure{Scenario: scenario, Name: name}
			of[name] = f
		}
		switch broker {
		case "ottla":
			f.Ottla = append(f.Ottla, v)
		case "kafka":
			f.Kafka = append(f.Kafka, v)
		default:
			panic("results: no broker is called " + broker)
		}
	}
	s.loads = append(s.loads, proc.LoadAverage())
}

// Figures are all of them, scenarios as they first came and figures by their names.
func (s *Set) Figures() []Figure {
	var all []Figure
	for _, scenario := range s.order {
		of := s.figures[scenario]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			all = append(all, *of[name])
		}
	}
	return all
}

// LoadAverage is the median over the measurements.
func (s *Set) LoadAverage() float64 { return stat.Median(s.loads) }

// LoadLine tells of the load averages, and of the time since began; empty without measurements.
func (s *Set) LoadLine(began time.Time) string {
	if len(s.loads) == 0 {
		return ""
	}
	return fmt.Sprintf("# load average: median %.1f, from %.1f to %.1f; took %.0f s\n", s.LoadAverage(), slices.Min(s.loads), slices.Max(s.loads), time.Since(began).Seconds())
}

// RatioCell is a figure's ratio for a table.
func (f *Figure) RatioCell() string {
	if r, ok := f.Ratio(); ok {
		return fmt.Sprintf("%.2f", r)
	}
	return "-"
}
