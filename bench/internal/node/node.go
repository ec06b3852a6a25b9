// Package node starts and stops the brokers that are compared.
package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Node is a running broker.
type Node struct {
	Name    string
	Address string
	// Secure is the address of the listener for SSL, empty if there is none.
	Secure string
	Pid    int
	// Data is the log directory.
	Data string
	// StartTime is from exec to the first Metadata answer that has a broker.
	StartTime time.Duration
	cmd       *exec.Cmd
	started   time.Time
	exited    chan struct{}
	log       string
}

// startLimit bounds a start.
const startLimit = 90 * time.Second

// launch runs a broker and waits until it answers.
func launch(ctx context.Context, name, address, dir string, cmd *exec.Cmd) (*Node, error) {
	return launchWithin(ctx, startLimit, name, address, dir, cmd)
}

// launchWithin is launch with another limit.
func launchWithin(ctx context.Context, limit time.Duration, name, address, dir string, cmd *exec.Cmd) (*Node, error) {
	n := &Node{Name: name, Address: address, cmd: cmd, exited: make(chan struct{}), log: filepath.Join(dir, name+".log"), Data: DataDir(dir)}
	out, err := os.Create(n.log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n.Pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // How it ended shows in its log.
		close(n.exited)
	}()
	for !answers(address) {
		select {
		case <-ctx.Done():
			_ = n.Stop()
			return nil, fmt.Errorf("%s doesn't answer; see %s: %w", name, n.log, ctx.Err())
		case <-n.exited:
			return nil, fmt.Errorf("%s ended; see %s", name, n.log)
		case <-time.After(time.Millisecond):
		}
	}
	n.StartTime = time.Since(start)
	return n, nil
}

// probe is a Metadata request, version 0, for a topic that doesn't exist.
var probe = []byte("\x00\x00\x00\x13\x00\x03\x00\x00\x00\x00\x00\x07\x00\x05probe\x00\x00\x00\x00")

// answers says whether a Metadata request is answered with at least one broker.
func answers(address string) bool { return listed(address) > 0 }

// listed is how many brokers a Metadata answer names, 0 if there is none.
func listed(address string) int {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	if c.SetDeadline(time.Now().Add(3*time.Second)) != nil {
		return 0
	}
	if _, err := c.Write(probe); err != nil {
		return 0
	}
	var head [12]byte // size, correlation id, number of brokers
	if _, err = io.ReadFull(c, head[:]); err != nil {
		return 0
	}
	return int(binary.BigEndian.Uint32(head[8:]))
}

// Stop ends the broker in order; by force if it takes longer than 20 seconds.
func (n *Node) Stop() error { return n.StopWithin(20 * time.Second) }

// StopWithin is Stop with another limit.
func (n *Node) StopWithin(limit time.Duration) error {
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-n.exited:
		return nil
	case <-time.After(limit):
	}
	err := n.cmd.Process.Kill()
	<-n.exited
	return errors.Join(fmt.Errorf("%s had to be killed", n.Name), err)
}

// Kill ends the broker as a crash does.
func (n *Node) Kill() error {
	err := n.cmd.Process.Kill()
	<-n.exited
	return err
}

// freeAddresses finds n free ports of the loopback interface. Another process may take one before
// the broker does; the start fails then.
func freeAddresses(n int) ([]string, error) {
	var out []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out, nil
}
