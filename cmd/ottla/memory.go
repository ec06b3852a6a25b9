package main

import (
	"log/slog"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is how much of its cgroup's memory Go may use before it collects more often; the rest is for stacks, the
// page cache's dirty pages and whatever else runs in the container.
const memoryShare = 0.8

// maxThreads is how many threads of the system the process may have before Go ends it. Go's 10,000 would be reached by as many
// connections whose requests wait for a disk that doesn't answer; each takes about 25 kB.
const maxThreads = 100_000

// limitMemory tells Go of the memory limit that the process runs under, so that garbage is collected before the kernel
// ends the process. GOMEMLIMIT goes before it; without a limit nothing changes.
func limitMemory(logger *slog.Logger, provider memlimit.Provider) {
	limit, err := memlimit.Set(memlimit.WithProvider(provider), memlimit.WithRatio(memoryShare))
	switch {
	case err != nil:
		logger.Warn("can't tell the memory limit of this process", "error", err)
	case limit != math.MaxInt64:
		logger.Info("memory limit", "go_bytes", limit)
	}
}
