package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s%[4]s
advertised.listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s%[4]s
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
log.dirs=%[3]s
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
`

// DataDir is the log directory of a node that was started in dir.
func DataDir(dir string) string { return filepath.Join(dir, "data") }

// prepare writes the settings of a node into dir, and more ones if there are any. What is in the log
// directory stays, so that a stopped node can be started again.
// With a keystore among them there is a third listener, for SSL, at address secureAt.
func prepare(dir string, more []string) (address, secureAt, file string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", "", err
	}
	free, err := freeAddresses(3)
	if err != nil {
		return "", "", "", err
	}
	third := ""
	if secure(more) {
		secureAt = free[2]
		third = ",SSL://" + secureAt
	}
	file = filepath.Join(dir, "server.properties")
	text := fmt.Sprintf(settings, free[0], free[1], DataDir(dir), third) + strings.Join(more, "\n") + "\n"
	return free[0], secureAt, file, os.WriteFile(file, []byte(text), 0o644)
}

// StartOttla starts Ottla in dir, with more settings ("name=value") than the usual ones.
func StartOttla(ctx context.Context, binary, dir string, more ...string) (*Node, error) {
	address, secureAt, file, err := prepare(dir, more)
	if err != nil {
		return nil, err
	}
	return withSecure(secureAt)(launch(ctx, "ottla", address, dir, exec.Command(binary, "serve", "-c", file)))
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

// StartKafka starts Kafka from the jars in libs in dir, whose log directory is formatted if it is new, with
// more settings than the usual ones. Formatting isn't part of the start time.
func StartKafka(ctx context.Context, java, libs, dir string, more ...string) (*Node, error) {
	address, secureAt, file, err := prepare(dir, more)
	if err != nil {
		return nil, err
	}
	classPath := filepath.Join(libs, "*")
	if _, err := os.Stat(filepath.Join(DataDir(dir), "meta.properties")); errors.Is(err, fs.ErrNotExist) {
		format := exec.CommandContext(ctx, java, "-cp", classPath, "kafka.tools.StorageTool",
			"format", "-t", "b3R0bGEtYmVuY2gtY2x1cw", "-c", file, "--standalone")
		if out, err := format.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("format: %w\n%s", err, out)
		}
	}
	args := append(append([]string(nil), kafkaFlags...), "-cp", classPath, "kafka.Kafka", file)
	return withSecure(secureAt)(launch(ctx, "kafka", address, dir, exec.Command(java, args...)))
}
