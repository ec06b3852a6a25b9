package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Members is how many nodes a cluster has.
const Members = 3

// clusterSettings are the same for both systems: three combined nodes with Kafka's sample server.properties.
const clusterSettings = `process.roles=broker,controller
node.id=%[1]d
controller.quorum.voters=%[2]s
listeners=PLAINTEXT://%[3]s,CONTROLLER://%[4]s
advertised.listeners=PLAINTEXT://%[3]s
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=%[5]s
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
default.replication.factor=3
min.insync.replicas=2
auto.create.topics.enable=false
`

// Cluster is three nodes of one system; node ids are 1 to 3, and index 0 is node 1.
type Cluster struct {
	Name      string
	Nodes     [Members]*Node
	addresses [Members]string
	dirs      [Members]string
	command   func(settings string) *exec.Cmd
}

// StartOttlaCluster starts three Ottla nodes in folders under dir.
func StartOttlaCluster(ctx context.Context, binary, dir string, more ...string) (*Cluster, error) {
	return startCluster(ctx, "ottla", dir, more, func(settings string) *exec.Cmd {
		return exec.Command(binary, "serve", "-c", settings)
	}, nil)
}

// StartKafkaCluster formats and starts three nodes of Kafka in folders under dir.
func StartKafkaCluster(ctx context.Context, java, libs, dir string, more ...string) (*Cluster, error) {
	classPath := filepath.Join(libs, "*")
	return startCluster(ctx, "kafka", dir, more, func(settings string) *exec.Cmd {
		return exec.Command(java, append(append([]string(nil), kafkaFlags...), "-cp", classPath, "kafka.Kafka", settings)...)
	}, func(settings string) error {
		format := exec.CommandContext(ctx, java, "-cp", classPath, "kafka.tools.StorageTool",
			"format", "-t", "b3R0bGEtYmVuY2gtY2x1cw", "-c", settings)
		if out, err := format.CombinedOutput(); err != nil {
			return fmt.Errorf("format: %w\n%s", err, out)
		}
		return nil
	})
}

func startCluster(ctx context.Context, name, dir string, more []string, command func(string) *exec.Cmd, format func(string) error) (*Cluster, error) {
	free, err := freeAddresses(2 * Members)
	if err != nil {
		return nil, err
	}
	var voters []string
	for i := range Members {
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, free[Members+i]))
	}
	c := &Cluster{Name: name, command: command}
	for i := range Members {
		c.addresses[i], c.dirs[i] = free[i], filepath.Join(dir, fmt.Sprintf("%s-%d", name, i+1))
		if err := os.MkdirAll(c.dirs[i], 0o755); err != nil {
			return nil, err
		}
		text := fmt.Sprintf(clusterSettings, i+1, strings.Join(voters, ","), free[i], free[Members+i], DataDir(c.dirs[i])) + strings.Join(more, "\n") + "\n"
		if err := os.WriteFile(c.settings(i), []byte(text), 0o644); err != nil {
			return nil, err
		}
		if format != nil {
			if err := format(c.settings(i)); err != nil {
				return nil, err
			}
		}
	}
	for i := range Members {
		if err := c.begin(i); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	for i := range Members {
		if err := c.Nodes[i].wait(ctx, Members); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

func (c *Cluster) settings(i int) string { return filepath.Join(c.dirs[i], "server.properties") }

// begin starts a node's process; its output is added to that of the former ones.
func (c *Cluster) begin(i int) error {
	n := &Node{Name: c.Name, Address: c.addresses[i], cmd: c.command(c.settings(i)), exited: make(chan struct{}), log: filepath.Join(c.dirs[i], "output")}
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	n.cmd.Stdout, n.cmd.Stderr = out, out
	n.started = time.Now()
	if err := n.cmd.Start(); err != nil {
		return err
	}
	n.Pid = n.cmd.Process.Pid
	go func() {
		_ = n.cmd.Wait() // How it ended shows in its output.
		close(n.exited)
	}()
	c.Nodes[i] = n
	return nil
}

// wait returns once a Metadata answer names so many brokers.
func (n *Node) wait(ctx context.Context, brokers int) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for listed(n.Address) < brokers {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s doesn't list %d brokers; see %s: %w", n.Name, brokers, n.log, ctx.Err())
		case <-n.exited:
			return fmt.Errorf("%s ended; see %s", n.Name, n.log)
		case <-time.After(5 * time.Millisecond):
		}
	}
	n.StartTime = time.Since(n.started)
	return nil
}

// Addresses are all nodes' addresses.
func (c *Cluster) Addresses() []string { return c.addresses[:] }

// Kill ends a node by SIGKILL.
func (c *Cluster) Kill(i int) error {
	n := c.Nodes[i]
	if err := n.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-n.exited
	return nil
}

// StopNode ends a node in order.
func (c *Cluster) StopNode(i int) error { return c.Nodes[i].Stop() }

// Restart starts a node again that has ended, with the data it has. It returns once the process runs.
func (c *Cluster) Restart(i int) error { return c.begin(i) }

// Stop ends all nodes, all told first: the last of a quorum can't move its leaders any more.
func (c *Cluster) Stop() error {
	var all error
	for _, n := range c.Nodes {
		if n == nil {
			continue
		}
		select {
		case <-n.exited:
		default:
			_ = n.cmd.Process.Signal(syscall.SIGTERM) // Stop tells of trouble.
		}
	}
	for _, n := range c.Nodes {
		if n == nil {
			continue
		}
		select {
		case <-n.exited:
			continue
		default:
		}
		all = errors.Join(all, n.Stop())
	}
	return all
}
