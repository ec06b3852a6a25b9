package shard_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/coordinator/shard"
	"github.com/ottla/ottla/coordinator/shard/shardtest"
	"github.com/ottla/ottla/internal/clock"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
	"github.com/twmb/franz-go/pkg/kerr"
)

// notes is a machine that remembers the keys it was given. "park" parks its call until "wake",
// "timer" sets a timer that logs a record, "read" tells what is there.
type notes struct {
	keys    []string
	parked  []machine.Call
	refuse  string
	elseErr error
}

func (n *notes) Replay(r machine.Record) error {
	if n.refuse != "" && string(r.Key) == n.refuse {
		return errors.New("refused")
	}
	n.keys = append(n.keys, string(r.Key))
	return nil
}

func (n *notes) Loaded(time.Time) machine.Result { return machine.Result{} }

func (n *notes) Handle(_ time.Time, call machine.Call, req any) machine.Result {
	var r machine.Result
	switch cmd := req.(string); cmd {
	case "read":
		r.Reply(call, strings.Join(n.keys, ","))
	case "park":
		n.parked = append(n.parked, call)
	case "wake":
		for _, c := range n.parked {
			r.Reply(c, "woken")
		}
		n.parked = nil
		r.Reply(call, "ok")
	case "timer":
		r.SetTimer(machine.TimerKey{Kind: "t"}, time.Second)
		r.Reply(call, "ok")
	case "split":
		r.Split = true
		for i := range 10 {
			r.Append(machine.Record{Key: fmt.Appendf(nil, "s%d", i), Value: make([]byte, 100)})
		}
		r.Reply(call, "ok")
	default:
		r.Append(machine.Record{Key: []byte(cmd)})
		r.Reply(call, "wrote "+cmd)
		r.Then = func(time.Time) machine.Result { return machine.Result{} }
		r.Else = func(_ time.Time, err error) machine.Result { n.elseErr = err; return machine.Result{} }
	}
	return r
}

func (n *notes) Expire(time.Time, machine.TimerKey) machine.Result {
	return machine.Result{Records: []machine.Record{{Key: []byte("expired")}}}
}

func config() *shard.Config {
	return &shard.Config{
		Topic: "t", Clock: clock.System{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Codecs: batch.NewCodecs(),
		WriteTimeout: 5 * time.Second, MailboxSize: 4, MaxBatchBytes: 250, LoadBufferBytes: 300, MaxDecompressedBytes: 1 << 20, ConcurrentLoads: 1,
	}
}

// answers collects what submitted requests were told, in order.
type answers struct {
	mu   sync.Mutex
	list []string
}

func (a *answers) done(resp any, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.list = append(a.list, kerr.ErrorForCode(kerror.CodeOf(err)).(*kerr.Error).Message)
		return
	}
	a.list = append(a.list, resp.(string))
}

// expect waits until nothing moves and compares all answers since the last call.
func (a *answers) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.list, want) {
		t.Fatalf("answers %q, want %q", a.list, want)
	}
	a.list = nil
}

func start(cfg *shard.Config, log *shardtest.Log, epoch int32, m machine.Machine) *shard.Shard {
	return startOn(cfg, log, epoch, m)
}

func startOn(cfg *shard.Config, log shard.Log, epoch int32, m machine.Machine) *shard.Shard {
	return shard.New(cfg, 0, epoch, log, m, make(chan struct{}, cfg.ConcurrentLoads))
}

// TestRepliesWaitForHighWatermark holds the high watermark and checks that neither a write nor a
// read after it is answered before it moves, that order is kept, and that the wait is bounded.
func TestRepliesWaitForHighWatermark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a := shardtest.NewLog(1), &answers{}
		s := start(config(), log, 1, &notes{})
		synctest.Wait()
		s.Submit("a", a.done)
		a.expect(t, "wrote a")
		log.HoldHighWatermark()
		s.Submit("b", a.done)
		s.Submit("read", a.done)
		a.expect(t)
		log.ReleaseHighWatermark()
		a.expect(t, "wrote b", "a,b")
		log.HoldHighWatermark()
		s.Submit("c", a.done)
		time.Sleep(6 * time.Second) // of the test's own clock
		a.expect(t, "COORDINATOR_NOT_AVAILABLE")
		log.ReleaseHighWatermark()
		s.Submit("read", a.done)
		a.expect(t, "a,b,c") // what was appended stays
		s.Resign(nil)
		s.Wait()
	})
}

// TestFailedAppendLeavesNothing maps each error of the log to the coordinator's and looks for
// traces of the record.
func TestFailedAppendLeavesNothing(t *testing.T) {
	for err, want := range map[*kerr.Error]string{
		kerr.NotEnoughReplicas:       "COORDINATOR_NOT_AVAILABLE",
		kerr.UnknownTopicOrPartition: "COORDINATOR_NOT_AVAILABLE",
		kerr.MessageTooLarge:         "UNKNOWN_SERVER_ERROR",
		kerr.InvalidRecord:           "INVALID_RECORD",
	} {
		synctest.Test(t, func(t *testing.T) {
			log, a, m := shardtest.NewLog(1), &answers{}, &notes{}
			s := start(config(), log, 1, m)
			synctest.Wait()
			log.Fail(kerror.Wrap(err, io.EOF))
			s.Submit("x", a.done)
			s.Submit("read", a.done)
			a.expect(t, want, "")
			if kerror.CodeOf(m.elseErr) == 0 {
				t.Error("Else did not run")
			}
			s.Resign(nil)
			s.Wait()
		})
	}
}

// TestLostLeadership lets a new leader epoch begin: what waits and what comes is NOT_COORDINATOR,
// a zombie's append is refused, and the next epoch loads what was appended.
func TestLostLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a := shardtest.NewLog(1), &answers{}
		cfg := config()
		s := start(cfg, log, 1, &notes{})
		synctest.Wait()
		s.Submit("a", a.done)
		s.Submit("park", a.done)
		a.expect(t, "wrote a")
		log.HoldHighWatermark()
		s.Submit("b", a.done)
		synctest.Wait()
		log.Lead(2)
		a.expect(t, "NOT_COORDINATOR", "NOT_COORDINATOR")
		s.Wait()
		s.Submit("read", a.done)
		a.expect(t, "NOT_COORDINATOR")

		zombie := start(cfg, log, 1, &notes{})
		synctest.Wait()
		zombie.Submit("c", a.done)
		a.expect(t, "NOT_COORDINATOR")
		zombie.Wait()

		log.ReleaseHighWatermark()
		next := start(cfg, log, 2, &notes{})
		synctest.Wait()
		next.Submit("read", a.done)
		a.expect(t, "a,b")
		next.Resign(nil)
		next.Wait()
	})
}

// TestLoad checks that a shard says that it loads until the whole log is replayed, that events
// without a caller wait for it, and that a log that can't be read drops the shard.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a, cfg := shardtest.NewLog(1), &answers{}, config()
		s := start(cfg, log, 1, &notes{})
		synctest.Wait()
		s.Submit("split", a.done)
		a.expect(t, "ok")
		if got := log.EndOffset(); got != 10 {
			t.Fatalf("log end %d, want 10", got)
		}
		s.Resign(nil)
		s.Wait()

		slots := make(chan struct{}, 1)
		slots <- struct{}{} // another shard loads
		s = shard.New(cfg, 0, 1, log, &notes{}, slots)
		s.Submit("read", a.done)
		s.Post("posted")
		a.expect(t, "COORDINATOR_LOAD_IN_PROGRESS")
		<-slots
		synctest.Wait()
		s.Submit("read", a.done)
		a.expect(t, "s0,s1,s2,s3,s4,s5,s6,s7,s8,s9,posted")
		s.Resign(nil)
		s.Wait()

		log.FailReads(io.ErrUnexpectedEOF)
		s = start(cfg, log, 1, &notes{})
		s.Wait()
		s.Submit("read", a.done)
		a.expect(t, "NOT_COORDINATOR")
		log.FailReads(nil)
		s = start(cfg, log, 1, &notes{refuse: "s3"})
		s.Wait()
	})
}

// TestTimersAndParkedCalls checks that a machine's timer fires once at its time and its records
// are written, and that a parked call is answered by a later event.
func TestTimersAndParkedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a := shardtest.NewLog(1), &answers{}
		s := start(config(), log, 1, &notes{})
		synctest.Wait()
		s.Submit("timer", a.done)
		a.expect(t, "ok")
		time.Sleep(time.Second / 2)
		s.Submit("timer", a.done) // moves it
		time.Sleep(time.Second * 3 / 4)
		s.Submit("read", a.done)
		a.expect(t, "ok", "")
		time.Sleep(time.Second)
		s.Submit("read", a.done)
		a.expect(t, "expired")
		time.Sleep(time.Minute)
		s.Submit("park", a.done)
		s.Submit("wake", a.done)
		a.expect(t, "woken", "ok")
		s.Resign(nil)
		s.Wait()
	})
}

// TestMailboxIsBounded stops the loop inside a reply and fills the mailbox.
func TestMailboxIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a := shardtest.NewLog(1), &answers{}
		s := start(config(), log, 1, &notes{})
		synctest.Wait()
		gate := make(chan struct{})
		s.Submit("read", func(any, error) { <-gate })
		synctest.Wait()
		for range 5 {
			s.Submit("read", a.done)
		}
		a.expect(t, "COORDINATOR_NOT_AVAILABLE")
		close(gate)
		a.expect(t, "", "", "", "")
		s.Resign(nil)
		s.Wait()
	})
}

// TestOwnRecordRefused drops a shard whose machine doesn't take what it wrote.
func TestOwnRecordRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, a := shardtest.NewLog(1), &answers{}
		s := start(config(), log, 1, &notes{refuse: "bad"})
		synctest.Wait()
		s.Submit("bad", a.done)
		a.expect(t, "NOT_COORDINATOR")
		s.Wait()
	})
}

// TestDirectory checks that a shard belongs to one leader epoch: older news are ignored, newer ones
// replace it, and Close ends all.
func TestDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := map[int32]*shardtest.Log{3: shardtest.NewLog(5), 1: shardtest.NewLog(0)}
		a := &answers{}
		d := shard.NewDirectory(*config(), func(p, _ int32) (shard.Log, machine.Machine, error) {
			if logs[p] == nil {
				return nil, nil, kerr.UnknownTopicOrPartition
			}
			return logs[p], &notes{}, nil
		})
		for p, epoch := range map[int32]int32{3: 5, 1: 0} {
			if err := d.BecomeLeader(p, epoch); err != nil {
				t.Fatal(err)
			}
		}
		if d.BecomeLeader(9, 0) == nil {
			t.Error("a log that can't be opened is no error")
		}
		synctest.Wait()
		d.Submit(3, "a", a.done)
		d.Submit(2, "a", a.done)
		synctest.Wait()
		d.Resign(3, 4)
		if err := d.BecomeLeader(3, 5); err != nil {
			t.Fatal(err)
		}
		d.PostAll("p")
		synctest.Wait()
		d.Submit(3, "read", a.done)
		synctest.Wait()
		logs[3].Lead(6)
		if err := d.BecomeLeader(3, 6); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.Submit(3, "read", a.done)
		synctest.Wait()
		d.Resign(3, 6)
		d.Submit(3, "read", a.done)
		synctest.Wait()
		slices.Sort(a.list[:2]) // of two partitions
		a.expect(t, "NOT_COORDINATOR", "wrote a", "a,p", "a,p", "NOT_COORDINATOR")
		if got := d.Partitions(); !slices.Equal(got, []int32{1}) {
			t.Errorf("partitions %v, want [1]", got)
		}
		d.Close()
		if d.BecomeLeader(1, 7) == nil {
			t.Error("a closed directory takes a shard")
		}
	})
}
