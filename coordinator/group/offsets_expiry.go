package group

import (
	"time"

	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
)

// expiryWarning is how long before it deletes offsets the coordinator warns of it; half of the
// retention if that is shorter.
const expiryWarning = 24 * time.Hour

// expireOffsets deletes offsets that have outlived their retention, and empty groups that have
// none left (KIP-211). Retention counts from the time the group became empty; for groups of
// consumers that are stable, and for offsets without a group, from the commit of each offset.
//
// A consumer that comes back after that reads its topics anew, so it is told twice: a warning before, and
// what was deleted.
func (m *Machine) expireOffsets(now time.Time) machine.Result {
	r := machine.Result{Split: true}
	var done machine.Result // once the tombstones are appended
	for _, id := range m.groupIDs() {
		left := m.expireGroup(now, id, &r, &done)
		if left == 0 && m.groups[id].State() == classic.Empty {
			done.Info("Group without members and offsets is deleted.", "group", id)
			r.Append(groupTombstone(id))
		}
	}
	var again machine.Result
	again.SetTimer(machine.TimerKey{Kind: timerExpiry}, m.cfg.OffsetsRetentionCheckInterval)
	if len(r.Records) == 0 {
		r.Timers = again.Timers
		return r
	}
	done.Timers = again.Timers
	r.Then = func(time.Time) machine.Result { return done }
	r.Else = func(time.Time, error) machine.Result { return again }
	return r
}

// expireGroup deletes what has expired of one group and returns how many offsets are left.
func (m *Machine) expireGroup(now time.Time, id string, r, done *machine.Result) (left int) {
	g := m.groups[id]
	warning := min(expiryWarning, m.cfg.OffsetsRetention/2)
	soon, first := 0, warning
	for _, topic := range sortedKeys(m.offsets[id]) {
		var partitions []int32
		var offsets []int64
		for _, partition := range sortedKeys(m.offsets[id][topic]) {
			o := m.offsets[id][topic][partition]
			in, expires := m.expiresIn(g, topic, o, now)
			if expires && in <= 0 {
				r.Append(offsetTombstone(id, topic, partition))
				partitions, offsets = append(partitions, partition), append(offsets, o.offset)
				continue
			}
			left++
			// Once for each offset: the check before this one was an interval ago.
			if expires && in <= warning && in > warning-m.cfg.OffsetsRetentionCheckInterval {
				soon, first = soon+1, min(first, in)
			}
		}
		if len(partitions) > 0 {
			done.Info("Expired committed offsets.", "group", id, "topic", topic, "partitions", partitions, "offsets", offsets)
		}
	}
	if soon > 0 {
		r.Warn("Committed offsets will expire soon.", "group", id, "state", g.State(), "offsets", soon, "in", first)
	}
	return left
}

// expiresIn tells how long it is until an offset expires; false if it doesn't as things are.
func (m *Machine) expiresIn(g *classic.Group, topic string, o *offset, now time.Time) (time.Duration, bool) {
	since, perCommit, ok := g.OffsetsExpire()
	if !ok || g.IsSubscribedTo(topic) {
		return 0, false
	}
	at := since + m.cfg.OffsetsRetention.Milliseconds()
	switch {
	case o.expiresAt != -1:
		at = o.expiresAt
	case perCommit:
		at = o.committedAt + m.cfg.OffsetsRetention.Milliseconds()
	}
	// Times come from records and requests; the difference may be more than a Duration holds.
	ms := min(max(at-now.UnixMilli(), -1), int64(expiryWarning/time.Millisecond)+1)
	return time.Duration(ms) * time.Millisecond, true
}

// deleteTopics deletes the offsets of topics that are no more.
func (m *Machine) deleteTopics(topics []string) machine.Result {
	r := machine.Result{Split: true}
	for _, id := range sortedKeys(m.offsets) {
		for _, topic := range topics {
			for _, partition := range sortedKeys(m.offsets[id][topic]) {
				r.Append(offsetTombstone(id, topic, partition))
			}
		}
	}
	if len(r.Records) > 0 {
		r.Info("Deleting offsets of deleted topics.", "topics", topics, "offsets", len(r.Records))
	}
	return r
}
