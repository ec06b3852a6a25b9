package main

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/bench/internal/results"
)

func TestPlot(t *testing.T) {
	run := &results.Run{Figures: []results.Figure{
		{Scenario: "start", Name: "start ms", Ottla: []float64{1}, Kafka: []float64{2}}, // not drawn
		{Scenario: "produce", Name: "CPU us/request", Ottla: []float64{3}, Kafka: []float64{4}},
		{Scenario: "produce", Name: "MiB/s", Ottla: []float64{8}, Kafka: []float64{2}},
		{Scenario: "produce", Name: "p99 ms", Ottla: []float64{1}}, // no ratio
	}}
	svg := plot(run)
	for _, want := range []string{">produce<", ">0.75<", ">0.25<"} {
		if strings.Count(svg, want) != 1 {
			t.Errorf("%q isn't there once", want)
		}
	}
	if strings.Contains(svg, ">start<") {
		t.Error("a scenario without bars has a row")
	}
}

func TestResult(t *testing.T) {
	r := &report{}
	r.Add("b", "ottla", measurement{"y": 1, "x": 2})
	r.Add("a", "kafka", measurement{"x": 3})
	r.Add("b", "kafka", measurement{"x": 4})
	r.Add("b", "ottla", measurement{"x": 5})
	got := r.result().Figures
	if len(got) != 3 || got[0].Scenario != "b" || got[0].Name != "x" || len(got[0].Ottla) != 2 || got[0].Ottla[1] != 5 || got[0].Kafka[0] != 4 ||
		got[1].Name != "y" || got[2].Scenario != "a" {
		t.Errorf("got %+v", got)
	}
}
