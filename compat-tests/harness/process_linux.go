package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// OneNode are the properties of a broker that is a cluster of its own, to be put before others.
const OneNode = `
node.id=1
process.roles=broker,controller
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
`

// Usage is what a broker's process takes of the machine.
type Usage struct {
	// ResidentBytes is its memory now, PeakBytes the most since the start or the last ResetPeak.
	ResidentBytes, PeakBytes int64
	// Descriptors is how many files it has open, Sockets how many of them are sockets.
	Descriptors, Sockets int
}

// Usage reads what the broker's process takes.
func (b *Broker) Usage() (Usage, error) {
	var u Usage
	dir := fmt.Sprintf("/proc/%d", b.cmd.Process.Pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return u, err
	}
	for _, f := range []struct {
		name string
		to   *int64
	}{{"VmRSS:", &u.ResidentBytes}, {"VmHWM:", &u.PeakBytes}} {
		_, rest, found := strings.Cut(string(status), f.name)
		words := strings.Fields(rest)
		if !found || len(words) == 0 {
			return u, fmt.Errorf("%s/status has no %s", dir, f.name)
		}
		kib, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return u, err
		}
		*f.to = kib << 10
	}
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return u, err
	}
	u.Descriptors = len(files)
	for _, f := range files {
		// A descriptor that was closed meanwhile has no link any more.
		if to, err := os.Readlink(dir + "/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			u.Sockets++
		}
	}
	return u, nil
}

// ResetPeak makes Usage.PeakBytes start again from what is resident now.
func (b *Broker) ResetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", b.cmd.Process.Pid), []byte("5"), 0)
}

// LimitDescriptors sets how many files the running broker may have open, as ulimit -n does for a new process.
func (b *Broker) LimitDescriptors(n uint64) error {
	limit := syscall.Rlimit{Cur: n, Max: n}
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(b.cmd.Process.Pid), syscall.RLIMIT_NOFILE,
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Exited is closed once the broker's process has ended.
func (b *Broker) Exited() <-chan struct{} { return b.exited }

// Restart starts Ottla again, which must have ended, with the settings, addresses and data of o.Dir. What it
// logged so far is in broker.log no more.
func Restart(ctx context.Context, o Options, ended *Broker) (*Broker, error) {
	select {
	case <-ended.exited:
	default:
		return nil, errors.New("the broker to restart still runs")
	}
	bin, err := filepath.Abs(o.Bin)
	if err != nil {
		return nil, err
	}
	return launch(ctx, exec.Command(bin, "serve", "-c", filepath.Join(o.Dir, "server.properties")), ended.Address, o.Dir)
}

// Interrupt starts Ottla as Restart does, sends it a signal after a while, whether or not it is ready, and waits for its
// end. Its output is put into broker.log.
func Interrupt(o Options, after time.Duration, signal syscall.Signal) (*os.ProcessState, error) {
	bin, err := filepath.Abs(o.Bin)
	if err != nil {
		return nil, err
	}
	logFile, err := os.Create(filepath.Join(o.Dir, "broker.log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = logFile.Close() }()
	cmd := exec.Command(bin, "serve", "-c", filepath.Join(o.Dir, "server.properties"))
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	<-time.After(after)
	err = cmd.Process.Signal(signal)
	if end := cmd.Wait(); end != nil && cmd.ProcessState == nil {
		err = errors.Join(err, end)
	}
	return cmd.ProcessState, err
}

// LogComplaints are the lines of the broker's log that no input may cause: errors, panics and what follows them.
func (b *Broker) LogComplaints() (string, error) {
	text, err := os.ReadFile(b.LogFile)
	if err != nil {
		return "", err
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if len(out) > 0 && len(out) < 40 && strings.HasPrefix(out[0], "panic") ||
			strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic") ||
			strings.HasPrefix(line, "fatal error") || strings.Contains(line, "DATA RACE") {
			out = append(out, line)
		}
	}
	return strings.Join(out, ""), nil
}
