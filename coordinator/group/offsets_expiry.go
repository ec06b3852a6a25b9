package group

import (
	"time"

	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
)

// expireOffsets deletes offsets that have outlived their retention, and empty groups that have
// none left (KIP-211). Retention counts from the time the group became empty; for groups of
// consumers that are stable, and for offsets without a group, from the commit of each offset.
func (m *Machine) expireOffsets(now time.Time) machine.Result {
	r := machine.Result{Split: true}
	expired := 0
	for _, id := range m.groupIDs() {
		g := m.groups[id]
		left := 0
		m.offsets[id].each(func(topic string, partition int32, o *offset) {
			if m.isExpired(g, topic, o, now) {
				r.Append(offsetTombstone(id, topic, partition))
				expired++
			} else {
				left++
			}
		})
		if left == 0 && g.State() == classic.Empty {
			r.Info("Group without members and offsets is deleted.", "group", id)
			r.Append(groupTombstone(id))
		}
	}
	if expired > 0 {
		r.Info("Expired committed offsets.", "offsets", expired)
	}
	again := machine.Result{}
	again.SetTimer(machine.TimerKey{Kind: timerExpiry}, m.cfg.OffsetsRetentionCheckInterval)
	if len(r.Records) == 0 {
		r.Timers = again.Timers
		return r
	}
	r.Then = func(time.Time) machine.Result { return again }
	r.Else = func(time.Time, error) machine.Result { return again }
	return r
}

func (m *Machine) isExpired(g *classic.Group, topic string, o *offset, now time.Time) bool {
	since, perCommit, ok := g.OffsetsExpire()
	if !ok || g.IsSubscribedTo(topic) {
		return false
	}
	if o.expiresAt != -1 {
		return now.UnixMilli() >= o.expiresAt
	}
	if perCommit {
		since = o.committedAt
	}
	return now.UnixMilli()-since >= m.cfg.OffsetsRetention.Milliseconds()
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
