package isr

import (
	"testing"
	"time"
)

// present is a session that was used last at a time.
type present struct{ at time.Time }

func (p *present) LastFetch() time.Time { return p.at }

// TestPresence: a follower that rests is caught up as if each fetch of its session had asked for its end.
func TestPresence(t *testing.T) {
	s := NewState(1, []int32{1, 2}, []int32{1, 2}, 0, start)
	told(s, 2, 10, 10, 0)
	p := &present{at(0)}
	s.Rest(2, p)
	caughtUp := func(end int64, now int) bool { return s.Follower(2).CaughtUp(end, at(now), lag) }
	p.at = at(1000)
	if !caughtUp(11, 1030) {
		t.Error("the session was in use, and the leader has just gone on")
	}
	if caughtUp(11, 1031) {
		t.Error("the session has been silent for longer than the lag")
	}
	// Its next fetch is of a leader that went on since.
	p.at = at(1001)
	told(s, 2, 10, 12, 1010)
	if got := s.Follower(2).LastCaughtUp(); !got.Equal(at(1001)) {
		t.Errorf("caught up at %v, want the session's last fetch at the old end", got.Sub(start))
	}
	p.at = at(2000)
	if caughtUp(12, 1050) || caughtUp(12, 2001) {
		t.Error("the session vouches for a follower that doesn't rest any more")
	}
	// One that fetches at least the end of its former fetch was caught up at that.
	told(s, 2, 12, 20, 2002)
	if got := s.Follower(2).LastCaughtUp(); !got.Equal(at(1010)) {
		t.Errorf("caught up at %v, want 1010 s", got.Sub(start))
	}
}

// TestPresenceOfFormerEpoch: a new epoch gives the follower the full lag and forgets the session.
func TestPresenceOfFormerEpoch(t *testing.T) {
	s := NewState(1, []int32{1, 2}, []int32{1, 2}, 0, start)
	told(s, 2, 10, 10, 0)
	s.Rest(2, &present{at(5000)})
	s.NextEpoch(10, at(100))
	if got := s.Follower(2).LastCaughtUp(); !got.Equal(at(100)) {
		t.Errorf("caught up at %v, want 100 s", got.Sub(start))
	}
}
