package commitlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/vfs"
)

// The offset checkpoints of a log dir.
const (
	recoveryPointFile = "recovery-point-offset-checkpoint"
	logStartFile      = "log-start-offset-checkpoint"
	highWatermarkFile = "replication-offset-checkpoint"
	cleanerFile       = "cleaner-offset-checkpoint"
)

// topicPartition names a partition.
type topicPartition struct {
	topic     string
	partition int32
}

func (a topicPartition) String() string { return a.topic + "-" + strconv.Itoa(int(a.partition)) }

func (a topicPartition) compare(b topicPartition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// appendOffsetCheckpoint appends a checkpoint file to dst: the version, 0, the number of entries,
// and "topic partition offset" a line, sorted.
func appendOffsetCheckpoint(dst []byte, offsets map[topicPartition]int64) []byte {
	keys := make([]topicPartition, 0, len(offsets))
	for tp := range offsets {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, topicPartition.compare)
	dst = fmt.Appendf(dst, "0\n%d\n", len(keys))
	for _, tp := range keys {
		dst = fmt.Appendf(dst, "%s %d %d\n", tp.topic, tp.partition, offsets[tp])
	}
	return dst
}

// parseOffsetCheckpoint reads a checkpoint file. An empty file, as Kafka leaves when it has nothing
// to say yet, has no entries.
func parseOffsetCheckpoint(file []byte) (map[topicPartition]int64, error) {
	out := map[topicPartition]int64{}
	if len(file) == 0 {
		return out, nil
	}
	lines := bytes.Split(bytes.TrimRight(file, "\n"), []byte("\n"))
	if len(lines) < 2 {
		return nil, fmt.Errorf("%d line(s), at least 2 expected", len(lines))
	}
	if string(lines[0]) != "0" {
		return nil, fmt.Errorf("version %.20q unknown", lines[0])
	}
	if n, err := strconv.Atoi(string(lines[1])); err != nil || n != len(lines)-2 {
		return nil, fmt.Errorf("%d entries, %.20q announced", len(lines)-2, lines[1])
	}
	for _, l := range lines[2:] {
		f := bytes.Split(l, []byte(" "))
		if len(f) != 3 || len(f[0]) == 0 {
			return nil, fmt.Errorf("malformed line %.60q", l)
		}
		partition, err := strconv.ParseInt(string(f[1]), 10, 32)
		offset, err2 := strconv.ParseInt(string(f[2]), 10, 64)
		if err != nil || err2 != nil || partition < 0 || offset < 0 {
			return nil, fmt.Errorf("malformed line %.60q", l)
		}
		out[topicPartition{string(f[0]), int32(partition)}] = offset
	}
	return out, nil
}

// readOffsetCheckpoint reads a checkpoint; a missing one is nil.
func readOffsetCheckpoint(fs vfs.FS, name string) (map[topicPartition]int64, error) {
	b, err := readFile(fs, name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := parseOffsetCheckpoint(b)
	if err != nil {
		return nil, &CorruptError{Path: name, Reason: err.Error()}
	}
	return m, nil
}
