package main

import (
	"runtime"
	"testing"
)

func TestSpareProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	env := map[string]string{"GOMAXPROCS": "1"}
	getenv := func(name string) string { return env[name] }
	if n := spareProcessors(getenv); n != before || runtime.GOMAXPROCS(0) != before {
		t.Errorf("with GOMAXPROCS set: %d usable, %d for the scheduler, want %d", n, runtime.GOMAXPROCS(0), before)
	}
	clear(env)
	if n := spareProcessors(getenv); n != before || runtime.GOMAXPROCS(0) != 2*before {
		t.Errorf("%d usable, %d for the scheduler, want %d and %d", n, runtime.GOMAXPROCS(0), before, 2*before)
	}
}
