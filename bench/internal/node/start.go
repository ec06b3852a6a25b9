package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// settings are the same for both brokers: one combined node with Kafka's sample server.properties.
// Node, listeners and directory are filled in.
const settings = `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=%[2]s
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=%[3]s
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
`

// prepare writes the settings of a node into dir.
func prepare(dir string) (address, file string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	free, err := freeAddresses(2)
	if err != nil {
		return "", "", err
	}
	file = filepath.Join(dir, "server.properties")
	text := fmt.Sprintf(settings, free[0], free[1], filepath.Join(dir, "data"))
	return free[0], file, os.WriteFile(file, []byte(text), 0o644)
}

// StartOttla starts Ottla with an empty directory in dir.
func StartOttla(ctx context.Context, binary, dir string) (*Node, error) {
	address, file, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	return launch(ctx, "ottla", address, dir, exec.Command(binary, "serve", "-c", file))
}

// RestartOttla starts Ottla again with the settings and the data that StartOttla left in dir. It waits
// for at most limit.
func RestartOttla(ctx context.Context, binary, dir string, limit time.Duration) (*Node, error) {
	file := filepath.Join(dir, "server.properties")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), "listeners=PLAINTEXT://")
	address, _, found := strings.Cut(rest, ",")
	if !found {
		return nil, fmt.Errorf("%s has no listeners", file)
	}
	return launchWithin(ctx, limit, "ottla", address, dir, exec.Command(binary, "serve", "-c", file))
}

// kafkaFlags are those of Kafka's own start script: heap, collector, and the log to standard output.
var kafkaFlags = strings.Fields(`-Xms1g -Xmx1g -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20
	-XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true
	-Dorg.slf4j.simpleLogger.defaultLogLevel=warn`)

// StartKafka formats a directory in dir and starts Kafka from the jars in libs. Formatting isn't part
// of the start time.
func StartKafka(ctx context.Context, java, libs, dir string) (*Node, error) {
	address, file, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	classPath := filepath.Join(libs, "*")
	format := exec.CommandContext(ctx, java, "-cp", classPath, "kafka.tools.StorageTool",
		"format", "-t", "b3R0bGEtYmVuY2gtY2x1cw", "-c", file, "--standalone")
	if out, err := format.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("format: %w\n%s", err, out)
	}
	args := append(append([]string(nil), kafkaFlags...), "-cp", classPath, "kafka.Kafka", file)
	return launch(ctx, "kafka", address, dir, exec.Command(java, args...))
}
