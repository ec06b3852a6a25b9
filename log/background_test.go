package commitlog

import (
	"errors"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TestBackground: retention, flush.ms and the checkpoints run by the clock, and stop with Close.
func TestBackground(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	e.cfg.FlushInterval, e.cfg.RetentionMs = 500*time.Millisecond, 3000
	m, err := openDirs(t, e, func(c *ManagerConfig) {
		c.RetentionCheckInterval, c.FlushCheckInterval = 10*time.Second, 100*time.Millisecond
		c.RecoveryPointInterval, c.StartOffsetInterval = 700*time.Millisecond, time.Second
		c.HighWatermarkInterval, c.ProducerIDExpirationCheckInterval = 200*time.Millisecond, 5*time.Second
		c.ProducerIDExpiration = 20 * time.Second
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Create("t", 0, e.topicID, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 5, 0, 0
	if _, err := l.Append(makeBatch(o, 0, 2, 50, e.clk.Now().UnixMilli()), AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	l.SetHighWatermark(2)
	e.clk.Advance(400 * time.Millisecond)
	if l.RecoveryPoint() != 0 {
		t.Errorf("flushed too early")
	}
	e.clk.Advance(400 * time.Millisecond)
	if l.RecoveryPoint() != 2 {
		t.Errorf("recovery point %d after flush.ms, want 2", l.RecoveryPoint())
	}
	for _, name := range []string{recoveryPointFile, highWatermarkFile} {
		if b, err := readFile(mem, "/data/"+name); err != nil || string(b) != "0\n1\nt 0 2\n" {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if n := len(l.ActiveProducers()); n != 1 {
		t.Errorf("%d producers, want 1", n)
	}
	e.clk.Advance(10 * time.Second)
	if l.LogStartOffset() != 2 {
		t.Errorf("log start %d after retention.ms, want 2", l.LogStartOffset())
	}
	e.clk.Advance(30 * time.Second)
	if n := len(l.ActiveProducers()); n != 0 {
		t.Errorf("%d producers after they expired, want 0", n)
	}
	m.SetBrokerEpoch(77)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	calls := vfs.NewInject(mem, vfs.FailFrom(1<<60))
	e.fs = calls
	if m, err = openDirs(t, e, nil); err != nil {
		t.Fatal(err)
	}
	if m.CleanShutdownEpoch() != 77 {
		t.Errorf("clean shutdown epoch %d, want 77", m.CleanShutdownEpoch())
	}
}

// TestInitialTaskDelay: the first look at retention comes after log.initial.task.delay.ms, or after the
// interval of the checks if that is shorter.
func TestInitialTaskDelay(t *testing.T) {
	for _, tc := range []struct{ delay, first time.Duration }{{300 * time.Millisecond, 300 * time.Millisecond}, {time.Hour, time.Minute}} {
		e := newEnv(vfs.NewMem())
		e.cfg.RetentionMs = 1
		m, err := openDirs(t, e, func(c *ManagerConfig) { c.InitialTaskDelay, c.RetentionCheckInterval = tc.delay, time.Minute })
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.Create("t", 0, e.topicID, e.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := appendRecords(l, 1, 10, e.clk.Now().UnixMilli()-1000); err != nil {
			t.Fatal(err)
		}
		l.SetHighWatermark(1)
		e.clk.Advance(tc.first - time.Millisecond)
		if l.LogStartOffset() != 0 {
			t.Errorf("delay %v: records went before it had passed", tc.delay)
		}
		e.clk.Advance(time.Millisecond)
		if l.LogStartOffset() != 1 {
			t.Errorf("delay %v: records are there after %v", tc.delay, tc.first)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAppendDuringClose: an append that comes while the log is being closed is refused, or it is in the
// snapshot that the close writes: what was acknowledged is known for a duplicate after the restart.
func TestAppendDuringClose(t *testing.T) {
	mem := vfs.NewMem()
	e := newEnv(mem)
	var closing func() // runs once, when the segment is flushed after it was set
	e.fs = vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if f := closing; f != nil && op == vfs.OpSync && strings.HasSuffix(name, ".log") {
			closing = nil
			f()
		}
		return nil
	})
	m, err := openDirs(t, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Create("t", 0, e.topicID, e.cfg)
	if err != nil {
		t.Fatal(err)
	}
	send := func(l *Log, sequence int32) (AppendInfo, error) {
		o := batch.DefaultOptions()
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = 5, 0, sequence
		return l.Append(makeBatch(o, 0, 1, 10, e.clk.Now().UnixMilli()), AppendOptions{})
	}
	if _, err := send(l, 0); err != nil {
		t.Fatal(err)
	}
	tried, acknowledged := false, false
	closing = func() {
		_, err := send(l, 1)
		tried, acknowledged = true, err == nil
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if !tried {
		t.Fatal("no file was flushed by Close")
	}
	e.fs = mem
	if m, err = openDirs(t, e, nil); err != nil {
		t.Fatal(err)
	}
	if l, err = m.Create("t", 0, e.topicID, e.cfg); err != nil {
		t.Fatal(err)
	}
	again, err := send(l, 1)
	if err != nil {
		t.Fatal(err)
	}
	if again.Duplicate != acknowledged || again.FirstOffset != 1 {
		t.Errorf("acknowledged %t while closing; sent again after the restart: duplicate %t at offset %d", acknowledged, again.Duplicate, again.FirstOffset)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentUse appends durably from several goroutines, with reads, rolls, retention,
// checkpoints and lookups beside them: every append gets its own offsets, and its flush covers it.
func TestConcurrentUse(t *testing.T) {
	mem := vfs.NewMem()
	var syncs atomic.Int64
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if op == vfs.OpSync && strings.HasSuffix(name, logSuffix) {
			syncs.Add(1)
		}
		return nil
	}))
	e.cfg.FlushMessages, e.cfg.SegmentBytes, e.cfg.RetentionBytes = 1, 20_000, 60_000
	l := mustOpen(t, e)
	const writers, appends = 4, 100
	stop := make(chan struct{})
	var readers, wg sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				start := l.LogStartOffset()
				if _, err := readAll(l, start); err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
					t.Errorf("read from %d: %v", start, err)
					return
				}
				_, _, _ = l.OffsetForTimestamp(5)
				_, _, _ = l.MaxTimestamp()
				_, _ = l.deleteOldSegments()
				e.m.checkpoint(e.m.checkpointRecoveryPoints)
			}
		})
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	for range writers {
		wg.Go(func() {
			for range appends {
				mu.Lock()
				b := makeBatch(batch.DefaultOptions(), l.LogEndOffset(), 1, 50, 5)
				info, err := l.Append(b, AppendOptions{})
				mu.Unlock()
				if err != nil || l.durable() <= info.LastOffset {
					t.Errorf("append: %+v %v, durable below %d", info, err, l.durable())
					return
				}
				l.SetHighWatermark(info.LastOffset + 1)
				mu.Lock()
				if seen[info.FirstOffset] {
					t.Errorf("offset %d was given twice", info.FirstOffset)
				}
				seen[info.FirstOffset] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(stop)
	readers.Wait()
	if l.LogEndOffset() != writers*appends {
		t.Errorf("log end %d, want %d", l.LogEndOffset(), writers*appends)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGroupCommit: appends that wait while a flush runs share the next one.
func TestGroupCommit(t *testing.T) {
	mem := vfs.NewMem()
	var syncs atomic.Int64
	entered, gate := make(chan struct{}, 1), make(chan struct{})
	var armed atomic.Bool
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		if op == vfs.OpSync && strings.HasSuffix(name, logSuffix) && armed.Load() {
			if syncs.Add(1) == 1 {
				entered <- struct{}{}
				<-gate
			}
		}
		return nil
	}))
	e.cfg.FlushMessages, e.cfg.SegmentBytes = 1, 1<<20
	l := mustOpen(t, e)
	armed.Store(true)
	var wg sync.WaitGroup
	add := func() {
		if _, err := l.Append(makeBatch(batch.DefaultOptions(), 0, 1, 50, 5), AppendOptions{}); err != nil {
			t.Error(err)
		}
	}
	wg.Go(add)
	<-entered
	const waiting = 10
	for range waiting {
		wg.Go(add)
	}
	for l.LogEndOffset() < waiting+1 { // Appends don't wait for the flush, their answers do.
		runtime.Gosched()
	}
	if l.durable() != 0 {
		t.Errorf("durable below %d before any flush ended", l.durable())
	}
	close(gate)
	wg.Wait()
	if n := syncs.Load(); n != 2 {
		t.Errorf("%d flushes of the log for %d appends, want 2", n, waiting+1)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFlushOfRecordsAlone: flush.messages asks for one sync, of the records. What belongs to them becomes durable, and
// the recovery point moves, with the checkpoint after the next one; a crash before that loses no record.
func TestFlushOfRecordsAlone(t *testing.T) {
	mem := vfs.NewMem()
	var synced []string
	var mu sync.Mutex
	e := newEnv(vfs.NewInject(mem, func(_ int64, op vfs.Op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if op == vfs.OpSync {
			synced = append(synced, path.Ext(name))
		}
		return nil
	}))
	e.cfg.FlushMessages, e.cfg.SegmentBytes, e.cfg.IndexIntervalBytes = 1, 1<<20, 1
	l := mustOpen(t, e)
	add := func() {
		t.Helper()
		mustAppend(t, l, makeBatch(batch.DefaultOptions(), 0, 1, 50, 5))
	}
	add() // Makes the segment's name durable.
	point := l.RecoveryPoint()
	mu.Lock()
	synced = nil
	mu.Unlock()
	for range 3 {
		add()
	}
	mu.Lock()
	if !slices.Equal(synced, []string{logSuffix, logSuffix, logSuffix}) {
		t.Errorf("three appends synced %v", synced)
	}
	mu.Unlock()
	if l.RecoveryPoint() != point || l.durable() != l.LogEndOffset() {
		t.Errorf("recovery point %d, durable below %d, log end %d", l.RecoveryPoint(), l.durable(), l.LogEndOffset())
	}
	crashed := mem.AfterCrash(rand.New(rand.NewPCG(1, 2)))
	e.m.advanceRecoveryPoints()
	e.m.flusher.idle()
	if l.RecoveryPoint() != l.LogEndOffset() {
		t.Errorf("recovery point %d after a checkpoint, log end %d", l.RecoveryPoint(), l.LogEndOffset())
	}
	end := l.LogEndOffset()
	closeEnv(t, e)
	after := newEnv(crashed)
	after.topicID = e.topicID
	if got := mustOpen(t, after); got.LogEndOffset() != end {
		t.Errorf("log end %d after a crash, want %d", got.LogEndOffset(), end)
	}
	closeEnv(t, after)
}
