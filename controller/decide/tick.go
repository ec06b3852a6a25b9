package decide

import (
	"time"
)

// maxChangesPerTick bounds the leader changes that one tick decides on, as Kafka's periodic tasks do.
const maxChangesPerTick = 1000

// Tick decides on what is due without a request: the fencing of a broker whose session ended,
// elections for partitions without a leader, and the return of leadership to preferred replicas. It
// decides on one of these at a time; NextDue tells when it is to be called again. The decision has no
// response.
func Tick(env *Env, live *Liveness) Decision {
	env.Live = live
	live.catchUp(env.Image, env.Now)
	if b := live.expired(env.Image, env.Now); b != nil {
		live.endSession(b.ID, b.Epoch)
		return Decision{Records: fence(env, b), Divisible: true}
	}
	if !env.Now.Before(live.unclean.next) {
		d := Decision{Records: electForLeaderless(env), Divisible: true}
		live.unclean.ran(len(d.Records), env.Now)
		return d
	}
	if live.balanced && !env.Now.Before(live.balance.next) {
		d := Decision{Records: electPreferredReplicas(env), Divisible: true}
		live.balance.ran(len(d.Records), env.Now)
		return d
	}
	return Decision{}
}

// NextDue is when Tick has something to do at the earliest, as far as is known now; a time that
// isn't after env.Now means at once. Heartbeats move it.
func NextDue(env *Env, live *Liveness) time.Time {
	next := live.unclean.next
	if live.balanced && live.balance.next.Before(next) {
		next = live.balance.next
	}
	if end, ok := live.nextExpiry(env.Image, env.Now); ok && end.Before(next) {
		next = end
	}
	return next
}

// ran plans the next run: at once if this one stopped at its bound.
func (s *schedule) ran(changes int, now time.Time) {
	if changes < maxChangesPerTick {
		s.next = now.Add(s.interval)
	}
}
