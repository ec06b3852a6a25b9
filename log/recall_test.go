package commitlog

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// byProducer makes a batch of one record of a producer.
func byProducer(id int64, epoch int16, sequence int32) []byte {
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = id, epoch, sequence
	return makeBatch(o, 0, 1, 20, testStart.UnixMilli())
}

// cleanRestart stops a log in order, so that its producers are in a snapshot only.
func cleanRestart(t *testing.T, e *env) *Log {
	t.Helper()
	closeEnv(t, e)
	return mustOpen(t, e)
}

// wantDuplicate sends a batch that the log has at an offset.
func wantDuplicate(t *testing.T, l *Log, raw []byte, offset int64) {
	t.Helper()
	info, err := l.Append(raw, AppendOptions{LeaderEpoch: 1})
	if err != nil || !info.Duplicate || info.FirstOffset != offset || info.LastOffset != offset {
		t.Fatalf("a batch that is at offset %d: %+v, %v", offset, info, err)
	}
}

// wantRefused sends a batch that is out of order.
func wantRefused(t *testing.T, l *Log, raw []byte) {
	t.Helper()
	if info, err := l.Append(raw, AppendOptions{LeaderEpoch: 1}); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
		t.Fatalf("%+v, %v; want OUT_OF_ORDER_SEQUENCE_NUMBER", info, err)
	}
}

// TestRetriesAfterSnapshot sends five batches again after the memory of them went through a snapshot: each is
// known, with its offset. The one before them isn't, and what comes next is appended.
func TestRetriesAfterSnapshot(t *testing.T) {
	const last = 20
	for name, again := range map[string]func(*testing.T, *env, *Log) *Log{
		"clean stop": func(t *testing.T, e *env, _ *Log) *Log { return cleanRestart(t, e) },
		"roll and kill": func(t *testing.T, e *env, l *Log) *Log {
			l.mu.Lock()
			_, err := l.roll(l.LogEndOffset())
			l.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			abandonAll(e)
			return mustOpen(t, e)
		},
		"truncation to a snapshot": func(t *testing.T, e *env, l *Log) *Log {
			end := l.LogEndOffset()
			l = cleanRestart(t, e)
			mustAppend(t, l, byProducer(1, 0, last+1))
			if err := l.TruncateTo(end); err != nil {
				t.Fatal(err)
			}
			return l
		},
		"two clean stops": func(t *testing.T, e *env, _ *Log) *Log { cleanRestart(t, e); return cleanRestart(t, e) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(vfs.NewMem())
			l := mustOpen(t, e)
			var at [last + 1]int64
			for i := range int32(last + 1) {
				at[i] = mustAppend(t, l, byProducer(1, 0, i)).FirstOffset
				for range i % 4 { // Others', over several segments.
					mustAppend(t, l, byProducer(2, 0, int32(l.LogEndOffset())-i-1))
				}
			}
			l = again(t, e, l)
			for i := int32(last - 4); i <= last; i++ {
				wantDuplicate(t, l, byProducer(1, 0, i), at[i])
			}
			wantRefused(t, l, byProducer(1, 0, last-5))
			wantRefused(t, l, byProducer(1, 0, last+2))
			end := l.LogEndOffset()
			if info := mustAppend(t, l, byProducer(1, 0, last+1)); info.Duplicate || info.FirstOffset != end {
				t.Errorf("the next batch: %+v", info)
			}
			wantDuplicate(t, l, byProducer(1, 0, last-3), at[last-3])
			wantRefused(t, l, byProducer(1, 0, last-4))
			closeEnv(t, e)
		})
	}
}

// TestRetriesOfOneEpoch: what a producer wrote in an epoch before isn't taken for what it sends now.
func TestRetriesOfOneEpoch(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	for i := range int32(5) {
		mustAppend(t, l, byProducer(1, 0, i))
	}
	first := mustAppend(t, l, byProducer(1, 1, 0)).FirstOffset
	second := mustAppend(t, l, byProducer(1, 1, 1)).FirstOffset
	l = cleanRestart(t, e)
	wantDuplicate(t, l, byProducer(1, 1, 0), first)
	wantDuplicate(t, l, byProducer(1, 1, 1), second)
	wantRefused(t, l, byProducer(1, 1, 4))
	closeEnv(t, e)
}

// TestRetriesOfDamagedBatch: bytes that rotted prove nothing; the batches after them do.
func TestRetriesOfDamagedBatch(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	var at []int64
	for i := range int32(5) {
		at = append(at, mustAppend(t, l, byProducer(1, 0, i)).FirstOffset)
	}
	size := int64(len(byProducer(1, 0, 0)))
	closeEnv(t, e)
	f, err := e.fs.OpenFile(l.path+"/"+segmentName(0)+logSuffix, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte{0xff}, 3*size-1); err != nil { // The third one's last byte.
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l = mustOpen(t, e)
	wantDuplicate(t, l, byProducer(1, 0, 3), at[3])
	wantDuplicate(t, l, byProducer(1, 0, 4), at[4])
	wantRefused(t, l, byProducer(1, 0, 2))
	closeEnv(t, e)
}
