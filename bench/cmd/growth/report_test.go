package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	r := &report{}
	add := func(broker, group string, size int, cpu ...float64) {
		var runs []sample
		for _, c := range cpu {
			runs = append(runs, sample{cpuMicros: c})
		}
		r.rows = append(r.rows, row{broker, group, size, runs})
	}
	add("ottla", "partitions", 1, 10, 12, 8)
	add("ottla", "partitions", 10, 13)
	add("ottla", "partitions", 100, 14)
	add("ottla", "connections", 1, 20)
	add("kafka", "connections", 1, 40)
	add("kafka", "connections", 9, 20)
	var got []string
	for line := range strings.Lines(r.table()) {
		if f := strings.Fields(line); len(f) > 5 && f[0] != "#" && f[0] != "broker" {
			mark := ""
			if f[6] == "!" {
				mark = "!"
			}
			got = append(got, strings.Join(f[:6], " ")+mark)
		}
	}
	want := []string{"ottla partitions 1 10.0 20% 1.00", "ottla partitions 10 13.0 0% 1.30", "ottla partitions 100 14.0 0% 1.40!",
		"ottla connections 1 20.0 0% 1.00", "kafka connections 1 40.0 0% 1.00", "kafka connections 9 20.0 0% 0.50"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestNames(t *testing.T) {
	for partitions, want := range map[int]int{1: 1, 100: 1, 101: 2, 10_000: 100} {
		if got := len(names(partitions)); got != want {
			t.Errorf("%d partitions in %d topics, want %d", partitions, got, want)
		}
	}
}
