package commitlog

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// names lists the partition directories of the two log dirs.
func (e *env) names(t testing.TB) string {
	t.Helper()
	var out []string
	for _, d := range []string{"/a", "/b"} {
		entries, err := e.fs.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range entries {
			if strings.HasPrefix(x.Name(), "t-") {
				name, id, _ := strings.Cut(x.Name(), ".")
				if at := strings.LastIndexByte(id, '-'); at >= 0 {
					name += id[at:]
				}
				out = append(out, d+"/"+name)
			}
		}
	}
	return strings.Join(out, " ")
}

func mustOpenTwo(t testing.TB, e *env) *Log {
	t.Helper()
	if err := e.openTwo(); err != nil {
		t.Fatal(err)
	}
	l, err := e.log()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestMoveTo walks through what a request may ask for, in the words of the directories that are there.
func TestMoveTo(t *testing.T) {
	e := movingEnv(vfs.NewMem())
	l := mustOpenTwo(t, e)
	for range 3 {
		if _, err := appendRecords(l, 3, 50, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		topic, dir string
		want       error
		moving     bool
		names      string
	}{
		{"t", "/c", kerr.LogDirNotFound, false, "/a/t-0"},
		{"t", "/b/", kerr.LogDirNotFound, false, "/a/t-0"},
		{"t", "/a", nil, false, "/a/t-0"},
		{"t", "/b", nil, true, "/a/t-0 /b/t-0-future"},
		{"t", "/b", nil, true, "/a/t-0 /b/t-0-future"},
		{"t", "/a", nil, false, "/a/t-0 /b/t-0-delete"},
		{"u", "/b", kerr.UnknownTopicOrPartition, false, "/a/t-0 /b/t-0-delete"},
	} {
		moving, err := e.m.MoveTo(tc.topic, 0, tc.dir)
		if moving != tc.moving || !errors.Is(err, tc.want) {
			t.Errorf("%s to %s: %v, %v", tc.topic, tc.dir, moving, err)
		}
		if got := e.names(t); got != tc.names {
			t.Errorf("%s to %s leaves %s, want %s", tc.topic, tc.dir, got, tc.names)
		}
	}
	e.clk.Advance(e.cfg.FileDeleteDelay)
	if got := e.names(t); got != "/a/t-0" {
		t.Errorf("after the delay: %s", got)
	}
	// The wish for a partition that didn't exist is fulfilled once.
	for _, want := range []string{"/b", "/a"} {
		u, err := e.m.Create("u", 0, [16]byte{7}, e.cfg)
		if err != nil || u.dir.path != want {
			t.Errorf("created in %s, want %s, %v", u.dir.path, want, err)
		}
		if err := e.m.Delete("u", 0); err != nil {
			t.Fatal(err)
		}
		if _, err := e.m.Create("w", 0, [16]byte{8}, e.cfg); err != nil { // Now /b has as many.
			t.Fatal(err)
		}
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMoveKeepsWhatBatchesDontTell: leader epochs without records, the five last batches of a producer, one whose
// records are gone, the start inside a batch and an open transaction come along.
func TestMoveKeepsWhatBatchesDontTell(t *testing.T) {
	e := movingEnv(vfs.NewMem())
	l := mustOpenTwo(t, e)
	produce := func(id int64, sequence int32, txn bool) error {
		o := batch.DefaultOptions()
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = id, 0, sequence, txn
		_, err := l.Append(makeBatch(o, l.LogEndOffset(), 2, 100, testStart.UnixMilli()), AppendOptions{LeaderEpoch: 4})
		l.SetHighWatermark(l.LogEndOffset())
		return err
	}
	if err := produce(11, 0, false); err != nil {
		t.Fatal(err)
	}
	for i := range int32(5) {
		if err := produce(12, 2*i, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := produce(13, 0, true); err != nil {
		t.Fatal(err)
	}
	if _, err := l.DeleteRecords(5); err != nil {
		t.Fatal(err)
	}
	if _, err := l.deleteOldSegments(); err != nil {
		t.Fatal(err)
	}
	if err := l.AssignEpoch(6, l.LogEndOffset()); err != nil {
		t.Fatal(err)
	}
	producers, epochs := fmt.Sprint(l.ActiveProducers()), fmt.Sprint(l.epochs.cache.Entries())
	stable, start := l.LastStableOffset(), l.LogStartOffset()
	if _, err := e.m.MoveTo("t", 0, "/b"); err != nil {
		t.Fatal(err)
	}
	moved := copyOn(e, l, 50)
	check := func(when string) {
		t.Helper()
		if moved == l || moved.dir.path != "/b" || e.names(t) != "/a/t-0-delete /b/t-0" {
			t.Fatalf("%s: %s", when, e.names(t))
		}
		if got := fmt.Sprint(moved.ActiveProducers()); got != producers {
			t.Errorf("%s: producers %s, want %s", when, got, producers)
		}
		if got := fmt.Sprint(moved.epochs.cache.Entries()); got != epochs {
			t.Errorf("%s: epochs %s, want %s", when, got, epochs)
		}
		if moved.LastStableOffset() != stable || moved.LogStartOffset() != start || moved.LogEndOffset() != 14 {
			t.Errorf("%s: stable %d, start %d, end %d", when, moved.LastStableOffset(), moved.LogStartOffset(), moved.LogEndOffset())
		}
	}
	check("after the move")
	old := l
	l = moved
	end := l.LogEndOffset()
	if err := produce(12, 0, false); err != nil || l.LogEndOffset() != end {
		t.Errorf("the first of five batches, sent again: %v, end %d", err, l.LogEndOffset())
	}
	if err := produce(11, 3, false); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
		t.Errorf("a gap in the sequence of a producer whose records are gone: %v", err)
	}
	if _, err := appendRecords(old, 1, 10, 0); !errors.Is(err, kerr.NotLeaderForPartition) {
		t.Errorf("append to the log that was moved away: %v", err)
	}
	// A crash right now loses nothing of it.
	abandonAll(e)
	if err := e.openTwo(); err != nil {
		t.Fatal(err)
	}
	moved, _ = e.m.Get("t", 0)
	moved.SetHighWatermark(14)
	epochs = fmt.Sprint(moved.epochs.cache.Entries()) // Without records: the next leader begins one anyhow.
	check("after a crash")
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDeleteWhileMoving: neither log is left, and no future log that a start could take for the rest of a move.
func TestDeleteWhileMoving(t *testing.T) {
	e := movingEnv(vfs.NewMem())
	l := mustOpenTwo(t, e)
	if _, err := appendRecords(l, 3, 50, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := e.m.MoveTo("t", 0, "/b"); err != nil {
		t.Fatal(err)
	}
	if err := e.m.Delete("t", 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.CopyToFuture(nil); !errors.Is(err, errNoMove) {
		t.Errorf("step of a move whose log was deleted: %v", err)
	}
	abandonAll(e)
	if err := e.openTwo(); err != nil {
		t.Fatal(err)
	}
	e.clk.Advance(0)
	if got := e.names(t); got != "" || len(e.m.Logs()) != 0 {
		t.Errorf("left are %s", got)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoCompactionWhileMoving: a tombstone could go before it is copied.
func TestNoCompactionWhileMoving(t *testing.T) {
	e := movingEnv(vfs.NewMem())
	e.cfg.Compact, e.cfg.MinCleanableDirtyRatio = true, 0
	l := mustOpenTwo(t, e)
	for range 4 {
		b := testCodecs.NewBuilder(nil, batch.DefaultOptions())
		b.Append(testStart.UnixMilli(), []byte("k"), make([]byte, 700))
		records, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(records, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(l.LogEndOffset())
	}
	if _, err := e.m.MoveTo("t", 0, "/b"); err != nil {
		t.Fatal(err)
	}
	size := l.SizeBytes()
	e.m.cleaner.pass()
	if l.SizeBytes() != size {
		t.Error("a log that is being moved was compacted")
	}
	if l = copyOn(e, l, 50); l.dir.path != "/b" {
		t.Fatal("not moved")
	}
	e.m.cleaner.pass()
	if l.SizeBytes() >= size {
		t.Errorf("%d bytes after the compaction, %d before", l.SizeBytes(), size)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFutureAtStart shows what a start makes of future logs.
func TestFutureAtStart(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, e *env, future string)
		names   string
		end     int64
		err     string
	}{
		{"both are there: the move goes on", func(*testing.T, *env, string) {}, "/a/t-0 /b/t-0-future", 9, ""},
		{"the current one is gone: the swap is ended", func(t *testing.T, e *env, _ string) {
			if err := e.fs.Rename("/a/t-0", "/a/t-0.0123456789abcdef0123456789abcdef-delete"); err != nil {
				t.Fatal(err)
			}
		}, "/b/t-0", 6, ""},
		{"of a former topic: removed", func(t *testing.T, e *env, future string) {
			if err := e.m.writePartitionMetadata(future, [16]byte{9}); err != nil {
				t.Fatal(err)
			}
		}, "/a/t-0", 9, ""},
		{"never finished: removed", func(t *testing.T, e *env, future string) {
			if err := e.fs.Remove(future + "/partition.metadata"); err != nil {
				t.Fatal(err)
			}
		}, "/a/t-0", 9, ""},
		{"a name that says nothing: left alone", func(t *testing.T, e *env, future string) {
			if err := e.fs.Rename(future, "/b/t-0.xyz-future"); err != nil {
				t.Fatal(err)
			}
		}, "/a/t-0 /b/t-0-future", 9, ""},
		{"the partition twice: refused", func(t *testing.T, e *env, future string) {
			if err := e.fs.Rename(future, "/b/t-0"); err != nil {
				t.Fatal(err)
			}
		}, "/a/t-0 /b/t-0", 0, "/a/t-0 and /b/t-0 are the same partition; leave it in one of them only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := movingEnv(vfs.NewMem())
			l := mustOpenTwo(t, e)
			for range 3 {
				if _, err := appendRecords(l, 3, 50, 0); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := e.m.MoveTo("t", 0, "/b"); err != nil {
				t.Fatal(err)
			}
			future := l.Future().path
			buf := make([]byte, 500)
			if _, _, err := l.CopyToFuture(buf); err != nil || l.Future().LogEndOffset() != 6 {
				t.Fatalf("copied up to %d, %v", l.Future().LogEndOffset(), err)
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
			tc.prepare(t, e, future)
			err := e.openTwo()
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("start: %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			e.clk.Advance(e.cfg.FileDeleteDelay)
			if got := e.names(t); got != tc.names {
				t.Errorf("left are %s, want %s", got, tc.names)
			}
			if l, ok := e.m.Get("t", 0); !ok || l.LogEndOffset() != tc.end {
				t.Errorf("the log ends at %d, want %d", l.LogEndOffset(), tc.end)
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestNothingIsMadeBesideAnOfflineDirectory: a partition that isn't new may lie in the directory that is offline;
// a new one comes elsewhere.
func TestNothingIsMadeBesideAnOfflineDirectory(t *testing.T) {
	e := movingEnv(vfs.NewMem())
	mustOpenTwo(t, e)
	a, b := e.m.dirs[0], e.m.dirs[1]
	other := a.id
	if _, err := e.m.Create("t", 1, e.topicID, e.cfg); err != nil { // In /b.
		t.Fatal(err)
	}
	a.fail(errors.New("broken"))
	for i, tc := range []struct {
		at   Placement
		want error
	}{
		{Placement{Existing: true}, kerr.KafkaStorageError},
		{Placement{Existing: true, Directory: b.id}, kerr.KafkaStorageError},
		{Placement{Directory: other}, kerr.KafkaStorageError},
		{Placement{Directory: b.id}, nil},
		{Placement{}, nil},
	} {
		l, err := e.m.CreateAt("u", int32(i), [16]byte{5}, e.cfg, tc.at)
		if !errors.Is(err, tc.want) || err == nil && l.dir != b {
			t.Errorf("%+v: %v", tc.at, err)
		}
	}
	if _, err := e.m.MoveTo("t", 1, "/a"); !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("move to the directory that is offline: %v", err)
	}
	_ = e.m.Close()
}

// TestMoveBesideAppends moves a log to and fro while records are appended, read and deleted: those who append are
// kept out by a lock of their own for the swap only, as package replica does it.
func TestMoveBesideAppends(t *testing.T) {
	e := movingEnv(vfs.NewMem())
	l := mustOpenTwo(t, e)
	var mu sync.RWMutex
	var current atomic.Pointer[Log]
	current.Store(l)
	var done atomic.Bool
	var workers sync.WaitGroup
	var failure atomic.Pointer[error]
	worker := func(f func(l *Log) error) {
		workers.Go(func() {
			for !done.Load() {
				mu.RLock()
				err := f(current.Load())
				mu.RUnlock()
				if err != nil {
					failure.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	worker(func(l *Log) error {
		_, err := appendRecords(l, 2, 60, 0)
		l.SetHighWatermark(l.LogEndOffset())
		return err
	})
	worker(func(l *Log) error {
		at := max(l.LogStartOffset(), l.LogEndOffset()-40)
		bs, err := readBatches(l, ReadOptions{Offset: at, MaxBytes: 2000, MinOneBatch: true, UpperBound: NoLimit})
		if err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
			return err
		}
		for i := range bs {
			rr, err := testCodecs.Records(&bs[i], 1<<20)
			if err != nil {
				return err
			}
			rr.Close()
		}
		_ = l.ActiveProducers()
		return nil
	})
	worker(func(l *Log) error {
		if l.LogEndOffset()%50 != 0 {
			return nil
		}
		if _, err := l.DeleteRecords(max(l.LogStartOffset(), l.HighWatermark()-25)); err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
			return err
		}
		_, err := l.deleteOldSegments()
		return err
	})
	buf := make([]byte, 4000)
	for i := range 8 {
		target := []string{"/b", "/a"}[i%2]
		if _, err := e.m.MoveTo("t", 0, target); err != nil {
			t.Fatal(err)
		}
		for current.Load().dir.path != target {
			l := current.Load()
			_, atEnd, err := l.CopyToFuture(buf)
			if err != nil {
				t.Fatal(err)
			}
			if !atEnd {
				continue
			}
			mu.Lock()
			next, err := e.m.FinishMove(l)
			if next != nil {
				current.Store(next)
			}
			mu.Unlock()
			if err != nil && !errors.Is(err, errBehind) {
				t.Fatal(err)
			}
		}
		e.clk.Advance(e.cfg.FileDeleteDelay)
	}
	done.Store(true)
	workers.Wait()
	if err := failure.Load(); err != nil {
		t.Fatal(*err)
	}
	l = current.Load()
	offsets, err := readAll(l, l.LogStartOffset())
	if err != nil {
		t.Fatal(err)
	}
	if err := contiguous(offsets, l.LogStartOffset(), l.LogEndOffset()); err != nil {
		t.Error(err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMoveModel does what TestModel does to a log that is moved meanwhile: steps of moves, cancelled ones, stops and
// kills come in between, and nothing of it shows.
func TestMoveModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := movingEnv(vfs.NewMem())
		e.cfg.SegmentBytes = int32(rapid.IntRange(300, 2000).Draw(t, "segment.bytes"))
		e.cfg.FlushMessages = rapid.SampledFrom([]int64{1, NoLimit}).Draw(t, "flush.messages")
		e.cfg.RetentionMs = -1
		var l *Log
		var m modelLog
		var epoch int32
		again := func() {
			if err := e.openTwo(); err != nil {
				t.Fatal(err)
			}
			var err error
			if l, err = e.log(); err != nil {
				t.Fatal(err)
			}
			epoch++
			if err := l.AssignEpoch(epoch, l.LogEndOffset()); err != nil {
				t.Fatal(err)
			}
		}
		again()
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				n := rapid.IntRange(1, 5).Draw(t, "records")
				records := makeBatch(batch.DefaultOptions(), l.LogEndOffset(), n, rapid.IntRange(8, 40).Draw(t, "size"), 0)
				if _, err := l.Append(records, AppendOptions{LeaderEpoch: epoch}); err != nil {
					t.Fatal(err)
				}
				m.batches = append(m.batches, [2]int64{m.end, m.end + int64(n) - 1})
				m.end += int64(n)
			},
			"truncate": func(t *rapid.T) {
				offset := rapid.Int64Range(0, m.end+1).Draw(t, "offset")
				first := (*l.segments.Load())[0].baseOffset
				if err := l.TruncateTo(offset); err != nil {
					t.Fatal(err)
				}
				if offset < first {
					m = modelLog{start: offset, end: offset}
				} else {
					m.truncate(offset)
				}
				epoch++
				if err := l.AssignEpoch(epoch, l.LogEndOffset()); err != nil {
					t.Fatal(err)
				}
			},
			"deleteRecords": func(t *rapid.T) {
				offset := rapid.Int64Range(m.start, m.end).Draw(t, "offset")
				l.SetHighWatermark(m.end)
				if _, err := l.DeleteRecords(offset); err != nil {
					t.Fatal(err)
				}
				m.start = max(m.start, offset)
				if _, err := l.deleteOldSegments(); err != nil {
					t.Fatal(err)
				}
			},
			"moveTo": func(t *rapid.T) {
				if _, err := e.m.MoveTo("t", 0, rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "dir")); err != nil {
					t.Fatal(err)
				}
			},
			"step": func(t *rapid.T) {
				if l.Future() == nil {
					t.Skip("not moving")
				}
				if _, _, err := l.CopyToFuture(make([]byte, rapid.IntRange(50, 700).Draw(t, "bytes"))); err != nil {
					t.Fatal(err)
				}
			},
			"finish": func(t *rapid.T) {
				if l.Future() == nil {
					t.Skip("not moving")
				}
				next, err := e.m.FinishMove(l)
				if err != nil {
					t.Fatal(err)
				}
				l = next
			},
			"stop": func(t *rapid.T) {
				if err := e.m.Close(); err != nil {
					t.Fatal(err)
				}
				again()
			},
			"kill": func(t *rapid.T) {
				abandonAll(e)
				again()
			},
			"": func(t *rapid.T) {
				if err := compareModel(l, &m); err != nil {
					t.Fatal(err)
				}
			},
		})
		if err := e.m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
