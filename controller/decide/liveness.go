package decide

import (
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
)

// Liveness is what the active controller remembers of the brokers' heartbeats. It is a hint, not
// metadata: only its consequences are recorded, and it dies with the leadership. Owned by the
// goroutine that decides; decisions change it, also such whose records are lost later, which ends
// the leadership and the Liveness with it.
type Liveness struct {
	timeout time.Duration
	// grace is how long a broker that seems to be gone may be silent.
	grace    time.Duration
	brokers  map[int32]*contact
	unclean  schedule
	balance  schedule
	balanced bool
}

// contact is one registration's heartbeats.
type contact struct {
	// epoch tells the registrations of a broker apart.
	epoch int64
	// last is when the broker was heard of last; inSession tells whether that counts.
	last      time.Time
	inSession bool
	// disconnected tells that the connection ended by which the broker was heard of last.
	disconnected bool
	// offset is the metadata offset that the broker reported last; -1 before.
	offset int64
	// shutdownOffset is the metadata offset that all active brokers must have before the broker may
	// end its controlled shutdown; -1 when it isn't in one.
	shutdownOffset int64
}

// schedule is when a periodic task runs next.
type schedule struct {
	interval time.Duration
	next     time.Time
}

func (s *schedule) start(ms int64, now time.Time) {
	s.interval = time.Duration(ms) * time.Millisecond
	s.next = now.Add(s.interval)
}

// NewLiveness is what a new active controller starts with. It doesn't know when the brokers were
// heard of, so every unfenced broker gets a full session.
func NewLiveness(m *image.Image, settings *config.Broker, now time.Time) *Liveness {
	l := &Liveness{
		timeout: time.Duration(settings.Quorum.BrokerSessionTimeoutMs) * time.Millisecond,
		brokers: map[int32]*contact{},
	}
	l.grace = min(l.timeout, time.Duration(settings.Quorum.BrokerHeartbeatIntervalMs)*time.Millisecond+graceAfterHeartbeat)
	l.unclean.start(settings.Int("unclean.leader.election.interval.ms"), now)
	l.balance.start(settings.Int("leader.imbalance.check.interval.seconds")*1000, now)
	l.balanced = settings.Bool("auto.leader.rebalance.enable")
	for _, b := range m.Brokers() {
		if !b.Fenced {
			l.Note(b.ID, b.Epoch, now)
		}
	}
	return l
}

// Note says that a registration of a broker was heard of. Callers may note a heartbeat when it comes,
// before it is decided on, so that a busy controller doesn't take brokers for dead.
func (l *Liveness) Note(broker int32, epoch int64, now time.Time) {
	c := l.of(broker, epoch)
	if c == nil {
		return
	}
	c.last, c.inSession, c.disconnected = now, true, false
}

// graceAfterHeartbeat is what a broker that lost its connection to the controller has to come back, on top of the
// time to its next heartbeat, which tells it of the loss.
const graceAfterHeartbeat = time.Second

// Disconnected says that the connection ended by which a registration was heard of last: most likely the process
// died. Its session ends soon unless it is heard of again, and another incarnation may register at once. Kafka
// waits for the end of the session.
func (l *Liveness) Disconnected(broker int32, epoch int64, now time.Time) {
	if c := l.brokers[broker]; c != nil && c.epoch == epoch && c.inSession {
		c.disconnected = true
		c.shorten(l, now)
	}
}

// Suspect says that a broker's node was lost as a controller: its session ends soon unless it is heard of.
func (l *Liveness) Suspect(broker int32, now time.Time) {
	if c := l.brokers[broker]; c != nil && c.inSession {
		c.shorten(l, now)
	}
}

// shorten lets a session end a grace from now, if it doesn't end earlier.
func (c *contact) shorten(l *Liveness, now time.Time) {
	if last := now.Add(l.grace - l.timeout); last.Before(c.last) {
		c.last = last
	}
}

// of returns the state of a registration, a new one if need be; nil if a later one is known.
func (l *Liveness) of(broker int32, epoch int64) *contact {
	c := l.brokers[broker]
	switch {
	case c == nil || c.epoch < epoch:
		c = &contact{epoch: epoch, offset: -1, shutdownOffset: -1}
		l.brokers[broker] = c
	case c.epoch > epoch:
		return nil
	}
	return c
}

// inSession tells whether a registration was heard of within the session timeout.
func (l *Liveness) inSession(broker int32, epoch int64, now time.Time) bool {
	c := l.brokers[broker]
	return c != nil && c.epoch == epoch && c.inSession && !c.disconnected && now.Sub(c.last) <= l.timeout
}

// endSession lets a next incarnation of the broker register at once.
func (l *Liveness) endSession(broker int32, epoch int64) {
	if c := l.of(broker, epoch); c != nil {
		c.inSession = false
	}
}

// expired is the unfenced broker whose session ended first; nil if all are alive.
func (l *Liveness) expired(m *image.Image, now time.Time) *image.Broker {
	var found *image.Broker
	var since time.Time
	for _, b := range m.Brokers() {
		if b.Fenced {
			continue
		}
		c := l.session(b, now)
		if now.Sub(c.last) > l.timeout && (found == nil || c.last.Before(since)) {
			found, since = b, c.last
		}
	}
	return found
}

// catchUp prolongs all sessions if the controller is late to look at them by more than half a session: it stood
// still itself, and what brokers sent meanwhile may not have been read yet. The first to end then has half a
// session left.
func (l *Liveness) catchUp(m *image.Image, now time.Time) {
	due, ok := l.nextExpiry(m, now)
	late := now.Sub(due)
	if !ok || late <= l.timeout/2 {
		return
	}
	for _, c := range l.brokers {
		c.last = c.last.Add(late + l.timeout/2)
	}
}

// session is the contact of an unfenced broker, which has a session from now on if it had none.
func (l *Liveness) session(b *image.Broker, now time.Time) *contact {
	c := l.of(b.ID, b.Epoch)
	if c == nil {
		// The image is behind what was noted; the later registration's time will do.
		return l.brokers[b.ID]
	}
	if !c.inSession {
		c.last, c.inSession = now, true
	}
	return c
}

// nextExpiry is when the first session ends; false if no broker has one.
func (l *Liveness) nextExpiry(m *image.Image, now time.Time) (time.Time, bool) {
	var first time.Time
	found := false
	for _, b := range m.Brokers() {
		if b.Fenced {
			continue
		}
		// A session has ended when more than the timeout has passed.
		end := l.session(b, now).last.Add(l.timeout + time.Nanosecond)
		if !found || end.Before(first) {
			first, found = end, true
		}
	}
	return first, found
}

// activeOffset is the lowest metadata offset that an active broker reported, and false if there is no
// active broker.
func (l *Liveness) activeOffset(m *image.Image) (int64, bool) {
	lowest, found := int64(-1), false
	for _, b := range m.Brokers() {
		if !isActive(b) {
			continue
		}
		offset := int64(-1)
		if c := l.brokers[b.ID]; c != nil && c.epoch == b.Epoch {
			offset = c.offset
		}
		if !found || offset < lowest {
			lowest, found = offset, true
		}
	}
	return lowest, found
}
