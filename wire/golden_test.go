package wire

import (
	"bufio"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// golden is a request and what Kafka answered, both with their sizes.
type golden struct {
	name              string
	request, response []byte
}

// readGolden reads lines of: name request response, the last two as hex. Lines starting with # are
// comments; they say how to record the file again.
func readGolden(t testing.TB, file string) []golden {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []golden
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := scanner.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.Fields(line)
		g := golden{name: part[0]}
		if g.request, err = hex.DecodeString(part[1]); err == nil {
			g.response, err = hex.DecodeString(part[2])
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", file, line, err)
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}
