package classic

import (
	"time"

	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/record/offsets"
)

// MetadataKey is the key of the group's metadata record: GroupMetadataKey, version 2.
func MetadataKey(group string) []byte {
	return offsets.AppendKey(nil, &offsets.GroupMetadataKey{Group: group})
}

// NewRecord is the metadata record that brings a group without members and protocol type into being.
func NewRecord(group string, now time.Time) machine.Record {
	v := offsets.GroupMetadataValue{CurrentStateTimestamp: now.UnixMilli()}
	return machine.Record{Key: MetadataKey(group), Value: offsets.AppendValue(nil, &v, metadataVersion)}
}

// metadataVersion is the version that Kafka 4.4 writes.
const metadataVersion = 3

// record is a metadata record of the group: GroupMetadataValue, version 3. A member's assignment
// comes from assignment, or is what it has where assignment is nil.
func (g *Group) record(generation int32, protocol, leader *string, since int64, members []*Member, assignment map[string][]byte) machine.Record {
	v := offsets.GroupMetadataValue{
		ProtocolType: g.ProtocolType(), Generation: generation,
		Protocol: protocol, Leader: leader, CurrentStateTimestamp: since,
	}
	for _, m := range members {
		vm := offsets.GroupMetadataValueMemberMetadata{
			MemberID: m.ID, GroupInstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			RebalanceTimeout: int32(m.RebalanceTimeout / time.Millisecond), SessionTimeout: int32(m.SessionTimeout / time.Millisecond),
			Subscription: m.metadata(deref(protocol)), Assignment: m.Assignment,
		}
		if assignment != nil {
			vm.Assignment = assignment[m.ID]
		}
		v.Members = append(v.Members, vm)
	}
	return machine.Record{Key: MetadataKey(g.ID), Value: offsets.AppendValue(nil, &v, metadataVersion)}
}

// Apply takes a metadata record: the group is stable with the record's members, or empty. Members
// that are known keep what isn't in the log: their parked requests and their other protocols. It takes v.
func (g *Group) Apply(v *offsets.GroupMetadataValue) {
	known := make(map[string]*Member, len(g.members))
	for _, m := range g.members {
		known[m.ID] = m
	}
	g.members = make([]*Member, 0, len(v.Members))
	g.numJoining = 0
	for _, vm := range v.Members {
		m := known[vm.MemberID]
		if m == nil {
			m = &Member{ID: vm.MemberID, Protocols: []Protocol{{deref(v.Protocol), vm.Subscription}}}
		}
		m.InstanceID, m.ClientID, m.ClientHost = vm.GroupInstanceID, vm.ClientID, vm.ClientHost
		m.SessionTimeout = millis(vm.SessionTimeout)
		m.RebalanceTimeout = millis(vm.RebalanceTimeout)
		if vm.RebalanceTimeout == -1 { // not in version 0
			m.RebalanceTimeout = m.SessionTimeout
		}
		m.ProtocolType = v.ProtocolType
		m.Assignment = vm.Assignment
		g.members = append(g.members, m)
		if m.join != 0 {
			g.numJoining++
		}
	}
	g.generation, g.protocol, g.leader, g.stateSince = v.Generation, v.Protocol, v.Leader, v.CurrentStateTimestamp
	g.protocolType = nil
	if v.ProtocolType != "" {
		g.protocolType = &v.ProtocolType
	}
	g.previousState, g.state = g.state, Empty
	if len(g.members) > 0 {
		g.state = Stable
	}
	g.subscribed = g.subscriptions()
}

// Loaded starts the sessions of a group that was loaded. They run from now: members find the new
// coordinator by themselves, and those that don't are out after their session timeout.
func (g *Group) Loaded(now time.Time) machine.Result {
	var r machine.Result
	for _, m := range g.members {
		r.SetTimer(g.sessionKey(m.ID), m.SessionTimeout)
	}
	if len(g.members) > g.cfg.MaxSize {
		g.prepareRebalance(now, "loaded group is over group.max.size", &r)
	}
	return r
}
