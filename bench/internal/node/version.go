package node

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Versions names those of Ottla, Kafka and Java in one line.
func Versions(ottla, java, libs string) string {
	kafka := "unknown"
	if m, _ := filepath.Glob(filepath.Join(libs, "kafka-clients-*.jar")); len(m) > 0 {
		kafka = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(m[0]), "kafka-clients-"), ".jar")
	}
	return firstLine(ottla, "version") + " (" + runtime.Version() + "), Kafka " + kafka + ", " + firstLine(java, "-version")
}

// firstLine is what a command prints first.
func firstLine(command string, args ...string) string {
	out, _ := exec.Command(command, args...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
