package main

import (
	"errors"
	"log/slog"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// TestLimitMemory takes the limit of the cgroup over, unless the user has set one, and tells what it did.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	unknown := func() (uint64, error) { return 0, errors.New("no such file") }
	none := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	for _, c := range []struct {
		name     string
		provider memlimit.Provider
		user     string
		want     int64
		log      string
	}{
		{"a limit", memlimit.Limit(1000 << 20), "", 800 << 20, "memory limit"},
		{"none", none, "", math.MaxInt64, ""},
		{"unknown", unknown, "", math.MaxInt64, "no such file"},
		{"set by the user", memlimit.Limit(1000 << 20), "1GiB", math.MaxInt64, ""}, // Go has read it at start; this test hasn't.
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		if c.user != "" {
			t.Setenv("GOMEMLIMIT", c.user)
		}
		var log strings.Builder
		limitMemory(slog.New(slog.NewTextHandler(&log, nil)), c.provider)
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%s: limit %d, want %d", c.name, got, c.want)
		}
		if c.log == "" && log.Len() > 0 || !strings.Contains(log.String(), c.log) {
			t.Errorf("%s: logged %q", c.name, log.String())
		}
	}
}
