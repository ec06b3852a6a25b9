package commitlog

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// TestNoRoomInMove refuses each write in the target's directory by itself for want of room: both directories stay in
// service, the log serves, and the move comes to its end once it is tried again, with what the producer has done
// counted once.
func TestNoRoomInMove(t *testing.T) {
	t.Parallel()
	for n := int64(1); ; n++ {
		// The log is flushed in the background meanwhile.
		var seen atomic.Int64
		var armed atomic.Bool
		e := movingEnv(vfs.NewInject(vfs.NewMem(), func(_ int64, op vfs.Op, name string) error {
			if !armed.Load() || !strings.HasPrefix(name, "/b") || op != vfs.OpWrite {
				return nil
			}
			if seen.Add(1) == n {
				return syscall.ENOSPC
			}
			return nil
		}))
		if err := e.openTwo(); err != nil {
			t.Fatal(err)
		}
		l, err := e.log()
		if err != nil {
			t.Fatal(err)
		}
		h := keyed{}
		produce := func(l *Log) {
			if _, err := l.Append(sequencedBatch(h.sequence), AppendOptions{LeaderEpoch: 1}); err != nil {
				t.Fatalf("write %d: %v", n, err)
			}
			h.sequence += 2
			l.SetHighWatermark(l.LogEndOffset())
		}
		for range 6 {
			produce(l)
		}
		for range 3 {
			armed.Store(true)
			_, _ = e.m.MoveTo("t", 0, "/b")
			l = copyOn(e, l, 50)
			armed.Store(false)
			produce(l)
		}
		if err := e.m.allOnline(); err != nil {
			t.Fatalf("write %d: %v\n%s", n, err, e.logs.String())
		}
		// Behind them may stand a copy that was undone.
		got := fmt.Sprintf("%d %d %s %s", lastSequence(l), l.LogEndOffset(), l.dir.path, e.names(t))
		if !strings.HasPrefix(got, "17 18 /b /a/t-0-delete /b/t-0") {
			t.Fatalf("write %d: %s\n%s", n, got, e.logs.String())
		}
		if err := e.m.Close(); err != nil {
			t.Fatal(err)
		}
		if seen.Load() < n {
			return
		}
	}
}

// sequencedBatch is a batch of two records by producer 7.
func sequencedBatch(sequence int32) []byte {
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 7, 0, sequence
	return makeBatch(o, int64(sequence), 2, 100, testStart.UnixMilli())
}
