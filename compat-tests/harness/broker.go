package harness

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

const (
	// readyTimeout is how long a broker may take until it answers.
	readyTimeout = 60 * time.Second
	// stopTimeout is how long a broker may take to stop orderly.
	stopTimeout = 20 * time.Second
	// pollInterval is how often readiness is asked for.
	pollInterval = 10 * time.Millisecond
)

// Options say how to start a broker.
type Options struct {
	// Bin is Ottla's binary; not used for Kafka.
	Bin string
	// Dir takes data, settings and log of the broker. It is created, and never removed.
	Dir string
	// Properties is the text of a server.properties without addresses and directories.
	Properties string
}

// Broker is a running broker. Stop must be called.
type Broker struct {
	// Address is host:port of the PLAINTEXT listener.
	Address string
	// LogFile holds what the broker wrote to stdout and stderr.
	LogFile string

	cmd *exec.Cmd
	// exited is closed when the process has ended; err is set before.
	exited chan struct{}
	err    error
}

// Start starts Ottla and waits until it answers requests.
func Start(ctx context.Context, o Options) (*Broker, error) {
	bin, err := filepath.Abs(o.Bin)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(bin); err != nil {
		return nil, fmt.Errorf("the broker's binary: %w", err)
	}
	address, settings, err := prepare(o)
	if err != nil {
		return nil, err
	}
	return launch(ctx, exec.Command(bin, "serve", "-c", settings), address, o.Dir)
}

// prepare chooses ports and writes the broker's server.properties.
func prepare(o Options) (address, settings string, err error) {
	ports, err := freePorts(2)
	if err != nil {
		return "", "", err
	}
	settings, err = writeSettings(o, ports[0], ports[1])
	return fmt.Sprintf("127.0.0.1:%d", ports[0]), settings, err
}

// launch runs a broker's command and waits until it answers; cmd must not have been started.
func launch(ctx context.Context, cmd *exec.Cmd, address, dir string) (*Broker, error) {
	b := &Broker{
		Address: address,
		LogFile: filepath.Join(dir, "broker.log"),
		cmd:     cmd,
		exited:  make(chan struct{}),
	}
	logFile, err := os.Create(b.LogFile)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	err = cmd.Start()
	_ = logFile.Close() // The process has its own descriptor.
	if err != nil {
		return nil, err
	}
	go func() {
		b.err = cmd.Wait()
		close(b.exited)
	}()
	if err := b.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, b.Kill(), b.tail())
	}
	return b, nil
}

// writeSettings writes the broker's server.properties.
func writeSettings(o Options, port, controllerPort int) (string, error) {
	data := filepath.Join(o.Dir, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(o.Dir, "server.properties")
	text := o.Properties + fmt.Sprintf(`
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
controller.quorum.bootstrap.servers=127.0.0.1:%[2]d
log.dirs=%[3]s
`, port, controllerPort, data)
	return path, os.WriteFile(path, []byte(text), 0o644)
}

func (b *Broker) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if answers(b.Address) {
			return nil
		}
		select {
		case <-b.exited:
			return fmt.Errorf("the broker ended before it was ready: %w", b.err)
		case <-ctx.Done():
			return fmt.Errorf("the broker isn't ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// answers asks for ApiVersions v0.
func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	if _, err := conn.Write([]byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff}); err != nil {
		return false
	}
	var head [10]byte // Size, correlation id, error code.
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return false
	}
	return binary.BigEndian.Uint32(head[4:]) == 1 && head[8] == 0 && head[9] == 0
}

// Stop ends the broker orderly, and by force if that takes too long.
func (b *Broker) Stop() error {
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-b.exited:
		return b.err
	case <-timeout.C:
		return errors.Join(fmt.Errorf("the broker didn't stop within %s", stopTimeout), b.Kill())
	}
}

// Kill ends the broker at once, as kill -9 does.
func (b *Broker) Kill() error {
	if err := b.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-b.exited
	return nil
}

// tailBytes is how much of the log a failed start shows.
const tailBytes = 2000

// tail is the end of the broker's log as an error.
func (b *Broker) tail() error {
	text, err := os.ReadFile(b.LogFile)
	if err != nil {
		return err
	}
	return fmt.Errorf("its log ends with:\n%s", text[max(0, len(text)-tailBytes):])
}

// freePorts finds ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // Held till all are found, so that they differ.
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
