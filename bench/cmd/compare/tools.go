package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/bench/internal/node"
)

// toolLimit bounds a run of a stock tool.
const toolLimit = 2 * time.Minute

// tool runs one of Kafka's command line tools, with the flags of Kafka's own start scripts, and
// returns what it printed.
func tool(ctx context.Context, o options, class string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	args = append([]string{
		"-Xmx512m", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-cp", filepath.Join(o.libs, "*"), "org.apache.kafka.tools." + class,
	}, args...)
	out, err := exec.CommandContext(ctx, o.java, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %.300s", class, err, out)
	}
	return string(out), err
}

// producerPerf runs kafka-producer-perf-test.
func producerPerf(o options, name string, size int, acks string, records int64) scenario {
	return scenario{name: name, unit: "record", run: func(ctx context.Context, n *node.Node, topic string) (outcome, error) {
		out, err := tool(ctx, o, "ProducerPerformance", "--bootstrap-server", n.Address, "--topic", topic, "--num-records", strconv.FormatInt(records, 10),
			"--record-size", strconv.Itoa(size), "--throughput", "-1", "--command-property", "acks="+acks)
		if err != nil {
			return outcome{}, err
		}
		figures, sent, err := parseProducer(out)
		if err == nil && sent != float64(records) {
			err = fmt.Errorf("%.0f of %d records were sent", sent, records)
		}
		return outcome{bytes: sent * float64(size), units: sent, figures: figures}, err
	}}
}

// producerSummary is the last line of kafka-producer-perf-test.
var producerSummary = regexp.MustCompile(`(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\).* ([\d.]+) ms 50th.* ([\d.]+) ms 99th`)

// parseProducer reads the summary; the tool's MB are MiB.
func parseProducer(out string) (measurement, float64, error) {
	all := producerSummary.FindAllStringSubmatch(out, -1)
	if len(all) == 0 {
		return nil, 0, fmt.Errorf("no summary in %.300q", out)
	}
	v, err := floats(all[len(all)-1][1:])
	if err != nil {
		return nil, 0, err
	}
	return measurement{"MiB/s": v[2], "p50 ms": v[3], "p99 ms": v[4]}, v[0], nil
}

// consumerPerf runs kafka-consumer-perf-test over records of 1 KiB, with a new group.
func consumerPerf(o options, name string, records int64) scenario {
	const size = 1 << 10
	return scenario{name: name, unit: "record", topics: filled,
		run: func(ctx context.Context, n *node.Node, topic string) (outcome, error) {
			out, err := tool(ctx, o, "ConsumerPerformance", "--bootstrap-server", n.Address, "--topic", topic, "--num-records", strconv.FormatInt(records, 10),
				"--group", fmt.Sprintf("bench-%d", time.Now().UnixNano()), "--timeout", "20000")
			if err != nil {
				return outcome{}, err
			}
			figures, read, err := parseConsumer(out)
			if err == nil && read < float64(records) {
				err = fmt.Errorf("%.0f of %d records were read", read, records)
			}
			return outcome{bytes: read * size, units: read, figures: figures}, err
		}}
}

// parseConsumer reads the table of kafka-consumer-perf-test by its header; the throughput is that
// without the time the group takes to form.
func parseConsumer(out string) (measurement, float64, error) {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, "start.time") {
			continue
		}
		names, values := strings.Split(line, ","), strings.Split(lines[i+1], ",")
		row := map[string]string{}
		for j := range min(len(names), len(values)) {
			row[strings.TrimSpace(names[j])] = strings.TrimSpace(values[j])
		}
		v, err := floats([]string{row["data.consumed.in.nMsg"], row["fetch.MB.sec"]})
		if err != nil {
			return nil, 0, fmt.Errorf("in %q: %w", line, err)
		}
		return measurement{"MiB/s": v[1]}, v[0], nil
	}
	return nil, 0, fmt.Errorf("no table in %.300q", out)
}

func floats(in []string) ([]float64, error) {
	out := make([]float64, len(in))
	for i, s := range in {
		var err error
		if out[i], err = strconv.ParseFloat(s, 64); err != nil {
			return nil, err
		}
	}
	return out, nil
}
