package isr

import (
	"slices"
	"testing"
	"time"
)

const lag = 30 * time.Second

var start = time.Unix(1_000_000, 0)

func at(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }

func all(int32, int64) bool { return true }

// TestCaughtUp is the rule of the two timestamps: a follower was caught up when it fetched the leader's
// end, or at its former fetch once it fetches the end of then.
func TestCaughtUp(t *testing.T) {
	type fetch struct {
		at          int
		offset, end int64
	}
	for _, c := range []struct {
		name    string
		fetches []fetch
		end     int64
		now     int
		want    bool
	}{
		{"never fetched, in the ISR, within the lag", nil, 10, 30, true},
		{"never fetched, in the ISR, too long ago", nil, 10, 31, false},
		{"at the end, however long ago", []fetch{{0, 10, 10}}, 10, 1000, true},
		{"at the end long ago, and the leader went on", []fetch{{0, 10, 10}}, 11, 31, false},
		{"always one fetch behind", []fetch{{0, 0, 10}, {20, 10, 20}, {40, 20, 30}, {60, 30, 40}}, 50, 70, true},
		{"always more than one fetch behind", []fetch{{0, 0, 10}, {20, 9, 20}, {40, 19, 30}}, 50, 41, false},
		{"fetches often, without progress", []fetch{{0, 5, 10}, {10, 5, 20}, {20, 5, 30}, {31, 5, 40}}, 40, 31, false},
		{"went back, after it was caught up", []fetch{{20, 10, 10}, {21, 3, 10}}, 10, 50, true},
	} {
		s := NewState(1, []int32{1, 2}, []int32{1, 2}, 0, start)
		for _, f := range c.fetches {
			s.Fetched(2, Fetch{Offset: f.offset, LeaderEnd: f.end, At: at(f.at)})
		}
		if got := s.Follower(2).CaughtUp(c.end, at(c.now), lag); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCommittable is the high watermark's rule case by case, with the leader's end at 10.
func TestCommittable(t *testing.T) {
	ineligible := func(int32, int64) bool { return false }
	for _, c := range []struct {
		name     string
		isr      []int32
		prepare  func(s *State)
		now      int
		eligible Eligible
		want     int64
	}{
		{"alone in sync", []int32{1}, func(*State) {}, 0, all, 10},
		{"members that never fetched", []int32{1, 2, 3}, func(*State) {}, 0, all, Unknown},
		{"the slowest member", []int32{1, 2, 3}, func(s *State) { told(s, 2, 7, 10, 0); told(s, 3, 4, 10, 0) }, 0, all, 4},
		{"not in sync, and behind", []int32{1, 2}, func(s *State) { told(s, 2, 7, 10, 0); told(s, 3, 4, 10, 0) }, 0, all, 7},
		{"being added", []int32{1, 2}, func(s *State) {
			told(s, 2, 7, 10, 0)
			told(s, 3, 5, 10, 0)
			s.Expand(3, 5, all)
		}, 1000, all, 5},
		{"being removed", []int32{1, 2, 3}, func(s *State) {
			told(s, 2, 10, 10, 40)
			told(s, 3, 4, 10, 0)
			s.Shrink(10, at(50), lag)
		}, 50, all, 4},
		{"removed", []int32{1, 2, 3}, func(s *State) {
			told(s, 2, 10, 10, 40)
			told(s, 3, 4, 10, 0)
			s.Shrink(10, at(50), lag)
			s.CommitISR([]int32{1, 2})
		}, 50, all, 10},
		{"about to join", []int32{1, 2}, func(s *State) { told(s, 2, 10, 10, 0); told(s, 3, 8, 8, 0) }, 10, all, 8},
		{"about to join, and fenced", []int32{1, 2}, func(s *State) { told(s, 2, 10, 10, 0); told(s, 3, 8, 8, 0) }, 10, ineligible, 10},
		{"about to join, too long ago", []int32{1, 2}, func(s *State) { told(s, 2, 10, 10, 0); told(s, 3, 8, 8, 0) }, 31, all, 10},
	} {
		s := NewState(1, []int32{1, 2, 3}, c.isr, 0, start)
		c.prepare(s)
		if got := s.Committable(10, at(c.now), lag, c.eligible); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func told(s *State, id int32, offset, end int64, when int) {
	s.Fetched(id, Fetch{Offset: offset, LeaderEnd: end, BrokerEpoch: 5, At: at(when)})
}

// TestExpand is who may join the ISR.
func TestExpand(t *testing.T) {
	for _, c := range []struct {
		name          string
		prepare       func(s *State)
		highWatermark int64
		eligible      Eligible
		want          bool
	}{
		{"at the high watermark and the epoch's start", func(s *State) { told(s, 3, 8, 10, 0) }, 8, all, true},
		{"below the high watermark", func(s *State) { told(s, 3, 8, 10, 0) }, 9, all, false},
		{"below the epoch's start", func(s *State) { told(s, 3, 7, 10, 0) }, 2, all, false},
		{"never fetched", func(*State) {}, 0, all, false},
		{"in another life", func(s *State) { told(s, 3, 8, 10, 0) }, 8, func(_ int32, e int64) bool { return e == 6 }, false},
		{"in this life", func(s *State) { told(s, 3, 8, 10, 0) }, 8, func(_ int32, e int64) bool { return e == 5 }, true},
		{"a change is under way", func(s *State) { told(s, 3, 8, 10, 0); told(s, 4, 8, 10, 0); s.Expand(4, 8, all) }, 8, all, false},
		{"the change was given up", func(s *State) {
			told(s, 3, 8, 10, 0)
			told(s, 4, 8, 10, 0)
			s.Expand(4, 8, all)
			s.Abandon()
		}, 8, all, true},
		{"is in", func(s *State) { told(s, 3, 8, 10, 0); s.CommitISR([]int32{1, 3}) }, 8, all, false},
		{"isn't assigned any more", func(s *State) { told(s, 3, 8, 10, 0); s.Commit([]int32{1, 2}, []int32{1}) }, 8, all, false},
	} {
		s := NewState(1, []int32{1, 2, 3, 4}, []int32{1, 2}, 8, start)
		c.prepare(s)
		change := s.Expand(3, c.highWatermark, c.eligible)
		if (change != nil) != c.want {
			t.Errorf("%s: %+v, want %v", c.name, change, c.want)
		}
		if change != nil && (change.Shrinks() || change.Add != 3 || !slices.Equal(change.ISR, []int32{1, 2, 3}) || s.Pending() != change) {
			t.Errorf("%s: %+v", c.name, change)
		}
	}
}

// TestShrink removes all that lag, never the leader.
func TestShrink(t *testing.T) {
	s := NewState(1, []int32{1, 2, 3, 4}, []int32{1, 2, 3, 4}, 0, start)
	told(s, 2, 10, 10, 20)
	if c := s.Shrink(10, at(30), lag); c != nil {
		t.Fatalf("within the lag: %+v", c)
	}
	c := s.Shrink(12, at(31), lag)
	if c == nil || !c.Shrinks() || !slices.Equal(c.Remove, []int32{3, 4}) || !slices.Equal(c.ISR, []int32{1, 2}) {
		t.Fatalf("%+v", c)
	}
	if again := s.Shrink(12, at(100), lag); again != nil {
		t.Errorf("beside another change: %+v", again)
	}
	if got := s.MaximalISR(); !slices.Equal(got, []int32{1, 2, 3, 4}) {
		t.Errorf("maximal ISR %v", got)
	}
	s.CommitISR(c.ISR)
	if c = s.Shrink(12, at(100), lag); c == nil || !slices.Equal(c.ISR, []int32{1}) {
		t.Errorf("then: %+v", c)
	}
}

// TestNewLife refuses fetches of a life that is over, and takes what a newer one tells, though it is less.
func TestNewLife(t *testing.T) {
	s := NewState(1, []int32{1, 2}, []int32{1}, 0, start)
	if !s.Fetched(2, Fetch{Offset: 9, LeaderEnd: 10, BrokerEpoch: 5, At: at(0)}) || !s.Fetched(2, Fetch{Offset: 3, LeaderEnd: 10, BrokerEpoch: 7, At: at(1)}) {
		t.Fatal("refused")
	}
	if s.Fetched(2, Fetch{Offset: 10, LeaderEnd: 10, BrokerEpoch: 5, At: at(2)}) {
		t.Error("a former life counts")
	}
	if f := s.Follower(2); f.LogEndOffset != 3 || f.BrokerEpoch != 7 {
		t.Errorf("%+v", f)
	}
	if s.Fetched(3, Fetch{Offset: 1}) {
		t.Error("a stranger counts")
	}
}

// TestNextEpoch gives members of the ISR the full lag again, and forgets what others were.
func TestNextEpoch(t *testing.T) {
	s := NewState(1, []int32{1, 2, 3}, []int32{1, 2}, 0, start)
	told(s, 2, 10, 10, 0)
	told(s, 3, 10, 10, 0)
	s.NextEpoch(10, at(40))
	if s.EpochStart() != 10 || !s.Follower(2).CaughtUp(11, at(70), lag) || s.Follower(3).CaughtUp(11, at(40), lag) {
		t.Errorf("%+v", s.Followers())
	}
}

// TestEnough counts the committed ISR; a topic with fewer replicas than min.insync.replicas needs them all.
func TestEnough(t *testing.T) {
	s := NewState(1, []int32{1, 2, 3}, []int32{1, 2}, 0, start)
	for need, want := range map[int]bool{1: true, 2: true, 3: false, 4: false} {
		if s.Enough(need) != want {
			t.Errorf("min.insync.replicas %d: %v", need, !want)
		}
	}
	s.CommitISR([]int32{1, 2, 3})
	if !s.Enough(4) {
		t.Error("all replicas aren't enough")
	}
}

// TestLowWatermark leaves dead brokers out, and counts those that haven't told yet.
func TestLowWatermark(t *testing.T) {
	s := NewState(1, []int32{1, 2, 3}, []int32{1, 2, 3}, 0, start)
	alive := func(int32) bool { return true }
	if got := s.LowWatermark(5, alive); got != Unknown {
		t.Errorf("nobody told: %d", got)
	}
	s.Fetched(2, Fetch{LogStartOffset: 3})
	s.Fetched(3, Fetch{LogStartOffset: 1})
	if got := s.LowWatermark(5, alive); got != 1 {
		t.Errorf("low watermark %d", got)
	}
	if got := s.LowWatermark(5, func(id int32) bool { return id != 3 }); got != 3 {
		t.Errorf("with one dead: %d", got)
	}
	if got := s.LowWatermark(2, func(id int32) bool { return id != 3 }); got != 2 {
		t.Errorf("the leader's own: %d", got)
	}
}

// TestProposedOrder: the in-sync replicas are proposed by number, whatever their order was, as the tools then show them of Kafka.
func TestProposedOrder(t *testing.T) {
	s := NewState(2, []int32{2, 3, 1}, []int32{2, 1}, 0, start)
	told(s, 3, 10, 10, 0)
	if c := s.Expand(3, 10, all); c == nil || !slices.Equal(c.ISR, []int32{1, 2, 3}) {
		t.Errorf("%+v, want 1, 2, 3", c)
	}
	s = NewState(2, []int32{2, 3, 1}, []int32{2, 3, 1}, 0, start)
	told(s, 1, 10, 10, 100)
	if c := s.Shrink(10, at(100), lag); c == nil || !slices.Equal(c.ISR, []int32{1, 2}) {
		t.Errorf("%+v, want 1, 2", c)
	}
}
