package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Files is what a process has open.
type Files struct {
	Open int
	// Connections counts established TCP connections that it made to one of the ports that were asked for.
	Connections int
}

// ReadFiles counts a process's open files, and its connections to ports.
func ReadFiles(pid int, ports []int) (Files, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return Files{}, err
	}
	f := Files{Open: len(fds)}
	own := make(map[string]bool)
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if err != nil {
			continue // Closed meanwhile.
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(filepath.Join(dir, "net", table))
		if err != nil {
			return Files{}, err
		}
		f.Connections += connectionsTo(string(text), ports, own)
	}
	return f, nil
}

// connectionsTo counts the established connections in a table of /proc/PID/net whose inode is one of own.
func connectionsTo(table string, ports []int, own map[string]bool) int {
	suffixes := make(map[string]bool)
	for _, p := range ports {
		suffixes[fmt.Sprintf("%04X", p)] = true
	}
	n := 0
	for line := range strings.Lines(table) {
		c := strings.Fields(line)
		if len(c) < 10 || c[3] != "01" || !own[c[9]] {
			continue
		}
		if _, port, ok := strings.Cut(c[2], ":"); ok && suffixes[port] {
			n++
		}
	}
	return n
}
