package commitlog

import (
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// These are failures that other brokers had in the field.

// TestZeroTimeIndexAfterCleanStop leaves a time index of its full reserved size, all zeros, behind a clean stop:
// it is made again, appends and rolls go on, and searches by time are right.
func TestZeroTimeIndexAfterCleanStop(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	for i := range int64(3) {
		if _, err := appendRecords(l, 3, 80, 1000+10*i); err != nil {
			t.Fatal(err)
		}
	}
	name := (*l.segments.Load())[0].times.Path()
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := e.fs.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 12*100), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, e)
	for i := int64(3); len(*l.segments.Load()) < 3; i++ {
		if _, err := appendRecords(l, 3, 80, 1000+10*i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range l.LogEndOffset() / 3 {
		found, ok, err := l.OffsetForTimestamp(1000 + 10*i)
		if err != nil || !ok || found.Offset != 3*i {
			t.Errorf("the first record from %d on is %+v, %t, %v; want offset %d", 1000+10*i, found, ok, err, 3*i)
		}
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFutureTimestampsDontStopRetention stores records of ten years ahead, and of microseconds taken for
// milliseconds: their segments go retention.ms after they were written.
func TestFutureTimestampsDontStopRetention(t *testing.T) {
	for name, timestamp := range map[string]int64{
		"ten years ahead": testStart.AddDate(10, 0, 0).UnixMilli(),
		"microseconds":    testStart.UnixMicro(),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(vfs.NewMem())
			e.cfg.RetentionMs = 3_600_000
			l := mustOpen(t, e)
			for range 6 {
				if _, err := appendRecords(l, 3, 100, timestamp); err != nil {
					t.Fatal(err)
				}
			}
			l.SetHighWatermark(l.LogEndOffset())
			e.clk.Advance(time.Hour)
			if n, err := l.deleteOldSegments(); n != 0 || err != nil {
				t.Errorf("%d segments went early, %v", n, err)
			}
			e.clk.Advance(time.Second)
			if _, err := l.deleteOldSegments(); err != nil {
				t.Fatal(err)
			}
			if l.LogStartOffset() != 18 {
				t.Errorf("the log starts at %d, want 18", l.LogStartOffset())
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestPolicyChangesKeepData compacts, and then changes the policy to each other one, at run time and over a
// restart: what was there can be read from the beginning to the end.
func TestPolicyChangesKeepData(t *testing.T) {
	e := compactedEnv(vfs.NewMem())
	l := mustOpen(t, e)
	c := &crowd{e: e, l: l}
	if err := c.write(60, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	e.m.flusher.idle()
	e.m.cleaner.pass()
	before := readOffsets(t, l)
	for i, policy := range [][2]bool{{false, true}, {true, true}, {false, false}, {true, false}, {false, true}} {
		e.cfg.Compact, e.cfg.Delete = policy[0], policy[1]
		e.cfg.RetentionMs = -1
		if i%2 == 0 {
			l.UpdateConfig(e.cfg)
		} else {
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
			l = mustOpen(t, e)
			l.UpdateConfig(e.cfg)
			l.SetHighWatermark(l.LogEndOffset())
		}
		if _, err := l.deleteOldSegments(); err != nil {
			t.Fatal(err)
		}
		e.m.cleaner.pass()
		if after := readOffsets(t, l); !slices.Equal(before, after) {
			t.Errorf("compact %t, delete %t: %v, before %v", policy[0], policy[1], after, before)
		}
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// readOffsets are the offsets of all records.
func readOffsets(t *testing.T, l *Log) []int64 {
	t.Helper()
	var out []int64
	for at := l.LogStartOffset(); at < l.LogEndOffset(); {
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil || len(bs) == 0 {
			t.Fatalf("read at %d: %d batches, %v", at, len(bs), err)
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			var r batch.Record
			for rr.Next(&r) {
				if got := (keyedRecord{string(r.Key), string(r.Value)}); got != numbered(r.Offset) {
					t.Errorf("offset %d has %v", r.Offset, got)
				}
				out = append(out, r.Offset)
			}
			rr.Close()
			at = bs[i].NextOffset()
		}
	}
	return out
}

// TestMissingPartitionMetadata starts without a partition.metadata: all logs are loaded, and the file is written
// again once the topic's id is known.
func TestMissingPartitionMetadata(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	if _, err := appendRecords(l, 3, 20, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := e.m.Create("t", 1, e.topicID, e.cfg); err != nil {
		t.Fatal(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
	name := path.Join(l.path, partitionMetadataFile)
	if err := e.fs.Remove(name); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, e)
	if logs := e.m.Logs(); len(logs) != 2 || l.LogEndOffset() != 3 || l.TopicID() != e.topicID {
		t.Errorf("%d logs, the end is %d, the topic id %x", len(logs), l.LogEndOffset(), l.TopicID())
	}
	if _, err := e.fs.Stat(name); err != nil {
		t.Error(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
