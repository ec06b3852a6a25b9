package commitlog

import (
	"bytes"
	"maps"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
)

// FuzzOffsetCheckpoint: what is parsed is written and parsed again to the same.
func FuzzOffsetCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\na 0 5\nb-c 12 9223372036854775807\n"))
	f.Add([]byte("0\n0\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseOffsetCheckpoint(b)
		if err != nil {
			return
		}
		again, err := parseOffsetCheckpoint(appendOffsetCheckpoint(nil, m))
		if err != nil || !maps.Equal(m, again) {
			t.Errorf("%v became %v, %v", m, again, err)
		}
	})
}

// FuzzPartitionMetadata: a parsed id is written to a file that parses to it.
func FuzzPartitionMetadata(f *testing.F) {
	f.Add([]byte("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"))
	f.Add([]byte("topic_id:x\n\nversion:0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, err := parsePartitionMetadata(b)
		if err != nil {
			return
		}
		if again, err := parsePartitionMetadata(formatPartitionMetadata(id)); err != nil || again != id {
			t.Errorf("%x became %x, %v", id, again, err)
		}
	})
}

// FuzzMetaProperties: what is parsed and complete is written and parsed again to the same.
func FuzzMetaProperties(f *testing.F) {
	f.Add([]byte("#\n#Sun Nov 29 15:56:33 UTC 2026\ncluster.id=YrZ_CqvocoTtmFc74sJW_A\ndirectory.id=oSsOJIkFQE2ZQ71OlYpY6w\nnode.id=1\nversion=1\n"))
	f.Add([]byte("broker.id=3\nversion=0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseMetaProperties(b)
		if err != nil || bytes.ContainsAny([]byte(p.clusterID), "\\=:\n\r") || p.nodeID < 0 {
			return
		}
		if again, err := parseMetaProperties(formatMetaProperties(p, testStart)); err != nil || again != p {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}

// FuzzCleanShutdown: never a broker epoch below -1.
func FuzzCleanShutdown(f *testing.F) {
	f.Add([]byte(`{"version":0,"brokerEpoch":10}`))
	f.Add([]byte(`{"version":1,"brokerEpoch":-7}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if epoch := parseCleanShutdown(b); epoch < noBrokerEpoch {
			t.Errorf("broker epoch %d", epoch)
		}
	})
}

// FuzzNames: the name of a segment's file or of a partition's directory is that of what was read from it, and of nothing else.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"00000000000000000012.log", "+0000000000000000012.log", "-0000000000000000012.log", "99999999999999999999.log", "a-b-0", "t-+1", "t-01", "-1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if offset, ok := parseSegmentName(name, logSuffix); ok && segmentName(offset)+logSuffix != name {
			t.Errorf("%q was read as offset %d", name, offset)
		}
		if tp, ok := parsePartitionDir(name); ok && tp.String() != name {
			t.Errorf("%q was read as partition %v", name, tp)
		}
	})
}

// FuzzLeftOvers opens a partition beside whose good segment an interrupted compaction left files with arbitrary bytes: it opens
// with the good batches or with what the .swap file has, and opens again to the same end.
func FuzzLeftOvers(f *testing.F) {
	f.Add(makeBatchAt(0), []byte{}, uint8(0))
	f.Add(makeBatchAt(0)[:90], make([]byte, 8), uint8(1))
	f.Add(makeBatchAt(3), []byte{1}, uint8(2))
	f.Fuzz(func(t *testing.T, log, index []byte, kind uint8) {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("/data/t-0", 0o755); err != nil {
			t.Fatal(err)
		}
		base := "/data/t-0/" + segmentName(0)
		writeTestFile(t, mem, base+logSuffix, makeBatchAt(0))
		suffixes := []string{swapSuffix, cleanedSuffix, deletedSuffix}
		writeTestFile(t, mem, base+logSuffix+suffixes[kind%3], log)
		writeTestFile(t, mem, base+indexSuffix+suffixes[kind/3%3], index)
		e := newEnv(mem)
		e.cfg.Compact = true
		end := int64(-1)
		for range 2 {
			if err := e.open(); err != nil {
				t.Fatal(err)
			}
			if l, ok := e.m.Get("t", 0); ok {
				if end >= 0 && l.LogEndOffset() != end {
					t.Fatalf("the log ended at %d, now at %d", end, l.LogEndOffset())
				}
				if end = l.LogEndOffset(); end < 3 && kind%3 != 0 {
					t.Fatalf("the log ends at %d", end)
				}
			} else if end >= 0 || kind%3 != 0 {
				t.Fatalf("not loaded:\n%s", e.logs.String())
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzRecovery opens a partition whose segment holds arbitrary bytes after good batches: it opens, the
// good batches are there, and what is there can be read, appended to and opened again.
func FuzzRecovery(f *testing.F) {
	good := makeBatchAt(0)
	f.Add([]byte{}, []byte{}, []byte{})
	f.Add(good[:100], make([]byte, 16), make([]byte, 24))
	f.Add(makeBatchAt(3), []byte{0, 0, 0, 2, 0, 0, 0, 1}, []byte{1})
	f.Fuzz(func(t *testing.T, tail, offsets, times []byte) {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("/data/t-0", 0o755); err != nil {
			t.Fatal(err)
		}
		base := "/data/t-0/" + segmentName(0)
		writeTestFile(t, mem, base+logSuffix, append(makeBatchAt(0), tail...))
		writeTestFile(t, mem, base+indexSuffix, offsets)
		writeTestFile(t, mem, base+timeIndexSuffix, times)
		writeTestFile(t, mem, base+txnIndexSuffix, times)
		writeTestFile(t, mem, "/data/t-0/"+segmentName(2)+snapshotSuffix, offsets)
		writeTestFile(t, mem, "/data/t-0/"+epochCheckpointFile, times)
		e := newEnv(mem)
		for range 2 {
			l := mustOpen(t, e)
			if l.LogEndOffset() < 3 {
				t.Fatalf("log end %d", l.LogEndOffset())
			}
			for at := l.LogStartOffset(); at < l.LogEndOffset(); {
				bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 1 << 20, MinOneBatch: true, UpperBound: NoLimit})
				if err != nil || len(bs) == 0 {
					t.Fatalf("read at %d: %d batches, %v", at, len(bs), err)
				}
				at = bs[len(bs)-1].NextOffset()
			}
			if _, err := appendRecords(l, 1, 10, 0); err != nil {
				t.Fatal(err)
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
