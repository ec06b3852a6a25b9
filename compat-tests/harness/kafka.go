package harness

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// kafkaHeap is enough for the few partitions of a test.
const kafkaHeap = "-Xmx768m"

// StartKafka formats and starts one combined node of Kafka from the jars in libs, with the java of PATH, and
// waits until it answers requests. Its metadata version is the newest that the jars know.
func StartKafka(ctx context.Context, libs string, o Options) (*Broker, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, err
	}
	address, settings, err := prepare(o)
	if err != nil {
		return nil, err
	}
	classPath := filepath.Join(libs, "*")
	const clusterID = "b3R0bGEtZGlmZi1vcmFjbA"
	format := exec.CommandContext(ctx, java, "-cp", classPath, "kafka.tools.StorageTool",
		"format", "-t", clusterID, "-c", settings, "--standalone")
	if out, err := format.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("formatting Kafka's directory: %w\n%s", err, out)
	}
	return launch(ctx, exec.Command(java, kafkaHeap, "-cp", classPath, "kafka.Kafka", settings), address, o.Dir)
}
