package commitlog

import (
	"path"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// produced makes a batch of producer 1 with a sequence number for each record.
func produced(sequence int32, n int, transactional bool) []byte {
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 1, 0, sequence, transactional
	return makeBatch(o, 0, n, 20, testStart.UnixMilli())
}

// mustAppend appends, as a coordinator if it is a marker, and lets consumers see it.
func mustAppend(t *testing.T, l *Log, raw []byte) AppendInfo {
	t.Helper()
	b, _, err := batch.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	o := AppendOptions{LeaderEpoch: 1}
	if b.Attributes.IsControl() {
		o.Origin = OriginCoordinator
	}
	info, err := l.Append(raw, o)
	if err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(l.LogEndOffset())
	return info
}

// abort makes the marker that aborts producer 1's transaction.
func abort() []byte {
	return batch.AppendEndTxnMarker(nil, testStart.UnixMilli(), 1, 0, batch.EndTxnMarker{})
}

// TestProducerBelowStart shows that a producer whose records DeleteRecords took away is known after each
// kind of stop and after truncation, as it was before, though no snapshot has it.
func TestProducerBelowStart(t *testing.T) {
	for name, again := range map[string]func(*env, *Log) error{
		"truncate": func(_ *env, l *Log) error { return l.TruncateTo(2) },
		"kill":     func(e *env, _ *Log) error { abandonAll(e); return e.open() },
		"flush and kill": func(e *env, l *Log) error {
			if err := l.Flush(); err != nil {
				return err
			}
			e.m.checkpoint(e.m.checkpointRecoveryPoints)
			abandonAll(e)
			return e.open()
		},
		"roll, flush, kill without snapshot": func(e *env, l *Log) error {
			l.mu.Lock()
			_, err := l.roll(l.LogEndOffset())
			l.mu.Unlock()
			if err != nil {
				return err
			}
			if err := l.Flush(); err != nil {
				return err
			}
			e.m.checkpoint(e.m.checkpointRecoveryPoints)
			abandonAll(e)
			if err := e.fs.Remove(path.Join(l.path, segmentName(3)+snapshotSuffix)); err != nil {
				return err
			}
			return e.open()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(vfs.NewMem())
			l := mustOpen(t, e)
			mustAppend(t, l, produced(0, 1, false))
			if _, err := appendRecords(l, 1, 20, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := appendRecords(l, 1, 20, 0); err != nil {
				t.Fatal(err)
			}
			l.SetHighWatermark(3)
			if _, err := l.DeleteRecords(1); err != nil {
				t.Fatal(err)
			}
			if err := again(e, l); err != nil {
				t.Fatal(err)
			}
			l, err := e.log()
			if err != nil {
				t.Fatal(err)
			}
			if info := mustAppend(t, l, produced(0, 1, false)); !info.Duplicate || info.FirstOffset != 0 {
				t.Errorf("the first batch again: %+v, want a duplicate of offset 0", info)
			}
			if info := mustAppend(t, l, produced(1, 1, false)); info.Duplicate {
				t.Errorf("the second batch: %+v", info)
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestStableAfterTruncation shows that a transaction whose marker lies below the high watermark holds up
// nobody after a truncation behind it.
func TestStableAfterTruncation(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	mustAppend(t, l, produced(0, 2, true))
	mustAppend(t, l, abort())
	if _, err := appendRecords(l, 1, 20, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.TruncateTo(3); err != nil {
		t.Fatal(err)
	}
	if l.HighWatermark() != 3 || l.LastStableOffset() != 3 {
		t.Errorf("high watermark %d, last stable offset %d, want 3", l.HighWatermark(), l.LastStableOffset())
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLostIndexKeepsAborted shows that a segment whose indexes are made again still tells consumers which of
// its transactions were aborted.
func TestLostIndexKeepsAborted(t *testing.T) {
	for _, suffix := range []string{indexSuffix, timeIndexSuffix, txnIndexSuffix} {
		for _, clean := range []bool{true, false} {
			e := newEnv(vfs.NewMem())
			l := mustOpen(t, e)
			mustAppend(t, l, produced(0, 2, true))
			mustAppend(t, l, abort())
			l.mu.Lock()
			_, err := l.roll(3) // Recovery begins behind it.
			l.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, l, produced(2, 1, true))
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			e.m.checkpoint(e.m.checkpointRecoveryPoints)
			if clean {
				if err := e.m.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				abandonAll(e)
			}
			name := path.Join(l.path, segmentName(0)+suffix)
			if suffix == txnIndexSuffix {
				err = spoil(e.fs, name)
			} else {
				err = e.fs.Remove(name)
			}
			if err != nil {
				t.Fatal(err)
			}
			l = mustOpen(t, e)
			info, err := l.Read(ReadOptions{MaxBytes: 1000, UpperBound: NoLimit, Aborted: true})
			if err != nil {
				t.Fatal(err)
			}
			info.Records.Release()
			if len(info.Aborted) != 1 || info.Aborted[0] != (AbortedTransaction{ProducerID: 1}) {
				t.Errorf("%s lost, clean stop %t: aborted %v, want producer 1 from offset 0", suffix, clean, info.Aborted)
			}
			l.SetHighWatermark(4)
			if l.LastStableOffset() != 3 {
				t.Errorf("%s lost, clean stop %t: last stable offset %d, want 3", suffix, clean, l.LastStableOffset())
			}
			if err := e.m.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// commit makes the marker that commits producer 1's transaction.
func commit() []byte {
	return batch.AppendEndTxnMarker(nil, testStart.UnixMilli(), 1, 0, batch.EndTxnMarker{Commit: true})
}

// keyedTxn makes a batch of producer 1's transaction with a record for each key.
func keyedTxn(sequence int32, keys ...string) []byte {
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 1, 0, sequence, true
	b := testCodecs.NewBuilder(nil, o)
	for _, key := range keys {
		b.Append(testStart.UnixMilli(), []byte(key), []byte("new"))
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}
