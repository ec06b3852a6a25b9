package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	brokerPort     = 9092
	controllerPort = 9093
	clusterID      = "b3R0bGEtY2hhb3MtY2x1cw"
)

// software starts nodes of one kind.
type software interface {
	// prepare is called before a node's first start, and after its disk was lost.
	prepare(settings string) error
	// command is the node's process; it ends with its parent's SIGKILL of it.
	command(settings string) (name string, args []string)
}

// ottla is the broker under test.
type ottla struct{ bin string }

func (ottla) prepare(string) error { return nil }
func (o ottla) command(settings string) (string, []string) {
	return o.bin, []string{"serve", "-c", settings}
}

// kafka is Apache Kafka, from its jars.
type kafka struct{ java, libs string }

func (k kafka) prepare(settings string) error {
	return command(k.java, "-cp", filepath.Join(k.libs, "*"), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", settings, "--ignore-formatted")
}

func (k kafka) command(settings string) (string, []string) {
	return k.java, []string{"-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-cp", filepath.Join(k.libs, "*"), "kafka.Kafka", settings}
}

// node is one machine of the cluster.
type node struct {
	id       int
	network  *network
	software software
	dir      string

	cmd    *exec.Cmd // nil while it is down
	exited chan struct{}
	paused bool
}

func newNode(id int, w *network, s software, dir, extra string) (*node, error) {
	n := &node{id: id, network: w, software: s, dir: filepath.Join(dir, fmt.Sprint("n", id))}
	if err := os.MkdirAll(n.data(), 0o755); err != nil {
		return nil, err
	}
	var voters []string
	for i := 1; i <= w.nodes; i++ {
		voters = append(voters, fmt.Sprintf("%d@%s:%d", i, w.address(i), controllerPort))
	}
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=%[1]d
controller.listener.names=CONTROLLER
controller.quorum.voters=%[2]s
listeners=PLAINTEXT://%[3]s:%[4]d,CONTROLLER://%[3]s:%[5]d
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=%[6]s
num.partitions=1
default.replication.factor=3
min.insync.replicas=2
offsets.topic.num.partitions=3
log.segment.bytes=4194304
%[7]s
`, id, strings.Join(voters, ","), w.address(id), brokerPort, controllerPort, n.data(), extra)
	if err := os.WriteFile(n.settings(), []byte(text), 0o644); err != nil {
		return nil, err
	}
	return n, s.prepare(n.settings())
}

func (n *node) data() string     { return filepath.Join(n.dir, "data") }
func (n *node) settings() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) bootstrap() string {
	return fmt.Sprintf("%s:%d", n.network.address(n.id), brokerPort)
}

func (n *node) start() error {
	name, args := n.software.command(n.settings())
	cmd := n.network.run(n.id, name, args...)
	log, err := os.OpenFile(filepath.Join(n.dir, "node.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	// It must not outlive this program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	_ = log.Close() // The process has its own descriptor.
	if err != nil {
		return err
	}
	n.cmd, n.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait() // How it ended shows in its log.
		close(exited)
	}(n.exited)
	return nil
}

// running tells that the process was started and hasn't ended by itself.
func (n *node) running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.exited:
		return false
	default:
		return true
	}
}

func (n *node) signal(s syscall.Signal) error {
	if n.cmd == nil {
		return errors.New("the node is down")
	}
	return n.cmd.Process.Signal(s)
}

// kill ends the process at once, as a power cut of the process would; the page cache survives.
func (n *node) kill() error { return n.end(syscall.SIGKILL) }

func (n *node) end(s syscall.Signal) error {
	if n.cmd == nil {
		return nil
	}
	if err := n.signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-n.exited
	n.cmd, n.paused = nil, false
	return nil
}

func (n *node) pause() error {
	n.paused = true
	return n.signal(syscall.SIGSTOP)
}

func (n *node) resume() error {
	n.paused = false
	return n.signal(syscall.SIGCONT)
}

// loseDisk empties the data directory of a node that is down.
func (n *node) loseDisk() error {
	if err := os.RemoveAll(n.data()); err != nil {
		return err
	}
	if err := os.MkdirAll(n.data(), 0o755); err != nil {
		return err
	}
	return n.software.prepare(n.settings())
}
