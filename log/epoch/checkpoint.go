package epoch

import (
	"bytes"
	"fmt"
	"strconv"
)

// A checkpoint is text: the version, 0, the number of entries, and one entry a line.
//
//	0
//	2
//	0 0
//	3 1204
const version = 0

// AppendCheckpoint appends the file that keeps the entries to dst.
func AppendCheckpoint(dst []byte, entries []Entry) []byte {
	dst = fmt.Appendf(dst, "%d\n%d\n", version, len(entries))
	for _, e := range entries {
		dst = fmt.Appendf(dst, "%d %d\n", e.Epoch, e.StartOffset)
	}
	return dst
}

// ParseCheckpoint reads a file.
func ParseCheckpoint(file []byte) ([]Entry, error) {
	lines := bytes.Split(bytes.TrimRight(file, "\n"), []byte("\n"))
	if len(lines) < 2 {
		return nil, fmt.Errorf("leader epoch checkpoint: %d lines, at least 2 expected", len(lines))
	}
	if v := string(lines[0]); v != strconv.Itoa(version) {
		return nil, fmt.Errorf("leader epoch checkpoint: version %.20q unknown", v)
	}
	if n, err := strconv.Atoi(string(lines[1])); err != nil || n != len(lines)-2 {
		return nil, fmt.Errorf("leader epoch checkpoint: %d entries, %.20q announced", len(lines)-2, lines[1])
	}
	entries := make([]Entry, 0, len(lines)-2)
	for _, l := range lines[2:] {
		e, err := parseEntry(l)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func parseEntry(line []byte) (Entry, error) {
	a, b, ok := bytes.Cut(line, []byte(" "))
	epoch, err := strconv.ParseInt(string(a), 10, 32)
	start, err2 := strconv.ParseInt(string(b), 10, 64)
	if !ok || err != nil || err2 != nil || epoch < 0 || start < 0 {
		return Entry{}, fmt.Errorf("leader epoch checkpoint: malformed line %.60q", line)
	}
	return Entry{Epoch: int32(epoch), StartOffset: start}, nil
}
