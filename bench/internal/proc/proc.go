// Package proc reads what a process has used, from Linux.
package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what a process has used since its start.
type Usage struct {
	CPU time.Duration // user and system
	// Switches counts context switches of the threads that live; voluntary and not.
	Switches int64
	RSS      int64 // resident bytes
	Anon     int64 // resident bytes that no file backs
}

// Read reads the usage of a process.
func Read(pid int) (Usage, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	cpu, err := cpuTime(pid)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: cpu}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Usage{}, err
	}
	u.RSS, u.Anon = field(status, "VmRSS:")<<10, field(status, "RssAnon:")<<10
	tasks, err := filepath.Glob(filepath.Join(dir, "task", "*", "status"))
	if err != nil {
		return Usage{}, err
	}
	for _, t := range tasks {
		if status, err := os.ReadFile(t); err == nil { // A thread may end meanwhile.
			u.Switches += field(status, "voluntary_ctxt_switches:") + field(status, "nonvoluntary_ctxt_switches:")
		}
	}
	return u, nil
}

// Sub is the use between two readings; sizes are those of u.
func (u Usage) Sub(before Usage) Usage {
	u.CPU -= before.CPU
	u.Switches = max(u.Switches-before.Switches, 0)
	return u
}

// cpuTime is the time that all threads of a process have run, to the nanosecond: /proc/PID/stat counts steps of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	const cpuClockSched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClockSched), &ts); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// field is the number after a name at the start of a line, 0 if it isn't there.
func field(status []byte, name string) int64 {
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n
			}
		}
	}
	return 0
}

// LoadAverage is the mean number of runnable tasks over the last minute.
func LoadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, _ := strconv.ParseFloat(first, 64)
	return v
}

// CPUModel names the processor.
func CPUModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Machine names cores, processor and kernel.
func Machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d cores, %s, Linux %s", runtime.NumCPU(), CPUModel(), strings.TrimSpace(string(kernel)))
}

// OpenFiles counts the descriptors of a process.
func OpenFiles(pid int) (int, error) {
	fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return len(fds), err
}

// ReadBytes is how much a process has read from files and sockets, in bytes.
func ReadBytes(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "io"))
	return field(b, "rchar:"), err
}
