package isr

import "time"

// Presence stands for the fetches of a follower that rests: it had all that its leader had, and has been
// asked about nothing since, but its session is in use (KIP-227).
type Presence interface {
	// LastFetch is when the follower last fetched while it still had everything. It may be called with
	// the caller's locks held.
	LastFetch() time.Time
}

// Rest has a follower that is caught up vouched for by p, until its next fetch is noted.
func (s *State) Rest(id int32, p Presence) {
	if f := s.Follower(id); f != nil {
		f.presence = p
	}
}

// unrest takes over what was learned while the follower rested.
func (f *Follower) unrest() {
	if f.presence == nil {
		return
	}
	if at := f.presence.LastFetch(); at.After(f.lastFetch) {
		f.lastFetch, f.lastFetchLeaderEnd = at, f.LogEndOffset
		f.caughtUpAt(at)
	}
	f.presence = nil
}
