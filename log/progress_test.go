package commitlog

import (
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// TestProgress: a recovery that takes long says every few seconds how far it is and how long it will take, by what
// lies beyond the recovery points; a short one says nothing.
func TestProgress(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.SegmentBytes = 1 << 20
	if err := e.open(); err != nil {
		t.Fatal(err)
	}
	const batchBytes, batches = 8 << 10, 250
	for i := range int32(3) {
		l, err := e.m.Create("t", i, e.topicID, e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range batches {
			if _, err := appendRecords(l, 1, batchBytes-100, 1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeEnv(t, e)
	// As after a kill: the bytes are there, and only of the first segments it is said that they were flushed.
	points := appendOffsetCheckpoint(nil, map[topicPartition]int64{{"t", 0}: 150, {"t", 1}: 150, {"t", 2}: 150})
	if err := writeFileAtomic(mem, "/data/"+recoveryPointFile, points); err != nil {
		t.Fatal(err)
	}
	if err := mem.Remove("/data/" + cleanShutdownFile); err != nil {
		t.Fatal(err)
	}
	if err := mem.SyncDir("/data"); err != nil {
		t.Fatal(err)
	}

	start := func(step int) (lines []string) {
		after := newEnv(nil)
		after.cfg = e.cfg
		reads := 0
		after.fs = vfs.NewInject(mem.AfterCrash(nil), func(_ int64, op vfs.Op, name string) error {
			if op == vfs.OpRead && strings.HasSuffix(name, logSuffix) {
				if reads++; reads%step == 0 {
					after.clk.Advance(progressInterval)
				}
			}
			return nil
		})
		if err := after.open(); err != nil {
			t.Fatal(err)
		}
		closeEnv(t, after)
		for line := range strings.Lines(after.logs.String()) {
			if strings.Contains(line, "still loading logs") {
				lines = append(lines, line[strings.Index(line, "dir="):])
			}
		}
		return lines
	}
	if lines := start(1 << 30); len(lines) > 0 {
		t.Errorf("a short start says %q", lines)
	}
	want := []string{
		"dir=/data loaded=1 logs=3 bytesRecovered=1134518 bytesToRecover=2987292 remaining=8s\n",
		"dir=/data loaded=2 logs=3 bytesRecovered=2391466 bytesToRecover=2987292 remaining=3s\n",
	}
	if lines := start(10); !slices.Equal(lines, want) {
		t.Errorf("a long start says\n%q\nwant\n%q", lines, want)
	}
}
