package isr

import "time"

// Unknown is the offset or broker epoch of a follower that hasn't told any.
const Unknown = -1

// Follower is what a leader knows of one follower. It starts anew with each leadership.
type Follower struct {
	ID int32
	// LogEndOffset is where the follower fetched last, so that it has everything below.
	LogEndOffset int64
	// LogStartOffset is where its log starts.
	LogStartOffset int64
	// BrokerEpoch is the registration that it fetched under.
	BrokerEpoch int64
	// Heard says that it has fetched since this broker leads.
	Heard bool

	// lastFetch is the time of the last fetch, lastFetchLeaderEnd the leader's log end then.
	lastFetch          time.Time
	lastFetchLeaderEnd int64
	// lastCaughtUp is a time at which the follower had all that the leader had; zero if never.
	lastCaughtUp time.Time
	// presence vouches for a follower that rests, else nil.
	presence Presence
}

// Fetch is what a follower's fetch tells.
type Fetch struct {
	// Offset is where it wants to read, LogStartOffset where its own log starts.
	Offset, LogStartOffset int64
	// LeaderEnd is the leader's log end when it was read for the follower.
	LeaderEnd   int64
	BrokerEpoch int64
	At          time.Time
}

// note takes a fetch over. A follower that fetches the leader's log end is caught up now; one that
// fetches at least the log end of its former fetch was caught up when it made that. The second rule
// keeps a follower in sync that is always a little behind a busy leader.
func (f *Follower) note(n Fetch) {
	f.unrest()
	switch {
	case n.Offset >= n.LeaderEnd:
		f.caughtUpAt(n.At)
	case f.Heard && n.Offset >= f.lastFetchLeaderEnd:
		f.caughtUpAt(f.lastFetch)
	}
	f.Heard = true
	f.LogEndOffset, f.LogStartOffset, f.BrokerEpoch = n.Offset, n.LogStartOffset, n.BrokerEpoch
	f.lastFetch, f.lastFetchLeaderEnd = n.At, n.LeaderEnd
}

func (f *Follower) caughtUpAt(t time.Time) {
	if t.After(f.lastCaughtUp) {
		f.lastCaughtUp = t
	}
}

// CaughtUp tells whether the follower has all that the leader has, or had at some time not longer ago
// than maxLag.
func (f *Follower) CaughtUp(leaderEnd int64, now time.Time, maxLag time.Duration) bool {
	if f.LogEndOffset == leaderEnd {
		return true
	}
	at := f.LastCaughtUp()
	return !at.IsZero() && now.Sub(at) <= maxLag
}

// LastCaughtUp is a time at which the follower had all that the leader had; zero if it never did.
func (f *Follower) LastCaughtUp() time.Time {
	if f.presence != nil {
		if at := f.presence.LastFetch(); at.After(f.lastCaughtUp) {
			return at
		}
	}
	return f.lastCaughtUp
}
