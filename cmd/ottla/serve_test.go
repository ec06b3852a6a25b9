package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSettingsPrecedence shows what wins: the command line over the environment over the file, and
// that the zero configuration fills in only where no file was given.
func TestSettingsPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	text := "node.id=7\nprocess.roles=broker,controller\nlisteners=PLAINTEXT://127.0.0.1:7001\nnum.partitions=2\nlog.dirs=/from-file\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveCommand{Config: file, Override: []string{"log.dirs=/from-command-line"}}
	b, _, err := c.settings([]string{"KAFKA_NUM_PARTITIONS=3", "KAFKA_LOG_DIRS=/from-environment", "PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	if b.NodeID != 7 || b.Topics.NumPartitions != 3 || b.LogDirs[0] != "/from-command-line" {
		t.Errorf("node.id %d, num.partitions %d, log.dirs %v", b.NodeID, b.Topics.NumPartitions, b.LogDirs)
	}
	zero := serveCommand{}
	if b, _, err = zero.settings(nil); err != nil {
		t.Fatal(err)
	}
	if got := b.Endpoints.Listeners[0].String(); got != "PLAINTEXT://localhost:9092" || b.LogDirs[0] != "./ottla-data" {
		t.Errorf("zero configuration: %s, %v", got, b.LogDirs)
	}
}

// TestSettingsBadValue shows that a bad value stops the start with one line that names key and value.
func TestSettingsBadValue(t *testing.T) {
	c := serveCommand{Override: []string{"num.partitions=many"}}
	_, _, err := c.settings(nil)
	if err == nil || !strings.Contains(err.Error(), "num.partitions") || !strings.Contains(err.Error(), "many") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v", err)
	}
}
