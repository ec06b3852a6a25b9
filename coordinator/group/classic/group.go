package classic

import (
	"slices"
	"time"

	"github.com/ottla/ottla/coordinator/machine"
)

// State is a group's state, under Kafka's names.
type State string

const (
	// Empty groups have no members; their offsets may exist and expire.
	Empty State = "Empty"
	// PreparingRebalance waits for the members to join.
	PreparingRebalance State = "PreparingRebalance"
	// CompletingRebalance waits for the leader's assignment.
	CompletingRebalance State = "CompletingRebalance"
	// Stable groups have given every member its assignment.
	Stable State = "Stable"
)

// ConsumerProtocolType is the protocol type of consumers; the coordinator understands their subscriptions.
const ConsumerProtocolType = "consumer"

// Config is what all groups of a broker share.
type Config struct {
	// MinSessionTimeout and MaxSessionTimeout bound what members ask for.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// MaxSize bounds the members of a group (group.max.size).
	MaxSize int
	// InitialRebalanceDelay is how long an empty group waits for more members.
	InitialRebalanceDelay time.Duration
	// NewMemberID returns a fresh id: prefix, a dash, and a random UUID.
	NewMemberID func(prefix string) string
}

// newMemberJoinTimeout is how long a member that doesn't know its id yet is kept while its first
// JoinGroup is parked: it can't heartbeat, and its connection may be gone.
const newMemberJoinTimeout = 5 * time.Minute

// Group is one classic group.
type Group struct {
	ID  string
	cfg *Config

	// Durable, set by Apply and by the begin of a generation.

	// generation grows with every rebalance.
	generation int32
	// protocolType is nil until the first member joins, and for groups of offsets only.
	protocolType *string
	// protocol is nil while the group has no members.
	protocol *string
	// leader is a member's id, nil if there are no members.
	leader *string
	// stateSince is when the group came into its state, ms; -1 if unknown.
	stateSince int64
	// members are in order of joining.
	members []*Member

	// Not in the log.

	state, previousState State
	// numJoining counts members with a parked JoinGroup.
	numJoining int
	// pendingJoin are ids that were handed out with MEMBER_ID_REQUIRED and haven't come back.
	pendingJoin map[string]struct{}
	// pendingSync are members that haven't sent SyncGroup in this generation.
	pendingSync map[string]struct{}
	// initial is set while the delay of an empty group's first rebalance runs.
	initial *initialDelay
	// subscribed are the topics of all members, if known: protocol type consumer, readable subscriptions.
	subscribed map[string]struct{}
}

// initialDelay is the state of the initial rebalance delay, which each newcomer prolongs.
type initialDelay struct {
	current, remaining time.Duration
	memberAdded        bool
}

// New returns an empty group that exists only through offsets or a record that Apply will bring.
func New(id string, cfg *Config) *Group {
	return &Group{ID: id, cfg: cfg, state: Empty, stateSince: -1, pendingJoin: map[string]struct{}{}}
}

// State is the group's state.
func (g *Group) State() State { return g.state }

// ProtocolType is the group's protocol type, empty if it has none.
func (g *Group) ProtocolType() string { return deref(g.protocolType) }

// hasAllMembersJoined tells whether the join phase can end.
func (g *Group) hasAllMembersJoined() bool {
	return len(g.members) == g.numJoining && len(g.pendingJoin) == 0
}

func (g *Group) member(id string) *Member {
	for _, m := range g.members {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (g *Group) staticMember(instanceID string) *Member {
	for _, m := range g.members {
		if m.InstanceID != nil && *m.InstanceID == instanceID {
			return m
		}
	}
	return nil
}

func (g *Group) isLeader(id string) bool { return g.leader != nil && *g.leader == id }

func (g *Group) isPending(id string) bool {
	_, ok := g.pendingJoin[id]
	return ok
}

// add takes m as a member whose JoinGroup is parked.
func (g *Group) add(m *Member, join machine.Call) {
	if len(g.members) == 0 {
		protocolType := m.ProtocolType
		g.protocolType = &protocolType
	}
	if g.leader == nil {
		id := m.ID
		g.leader = &id
	}
	g.members = append(g.members, m)
	g.park(m, join)
	g.removePending(m.ID)
}

// park notes the JoinGroup that m waits in; 0 for none.
func (g *Group) park(m *Member, join machine.Call) {
	if m.join != 0 {
		g.numJoining--
	}
	if join != 0 {
		g.numJoining++
	}
	m.join = join
}

func (g *Group) removePending(id string) { delete(g.pendingJoin, id) }

// remove forgets a member or an id that was handed out. Requests of the member that are still
// parked are answered UNKNOWN_MEMBER_ID, so that a client that lives joins anew.
func (g *Group) remove(id string, r *machine.Result) {
	if i := slices.IndexFunc(g.members, func(m *Member) bool { return m.ID == id }); i >= 0 {
		m := g.members[i]
		g.replyJoin(m, joinError("", unknownMemberID), r)
		g.replySync(m, syncError(unknownMemberID), r)
		g.members = slices.Delete(g.members, i, i+1)
		r.CancelTimer(g.sessionKey(id))
	}
	if g.isLeader(id) {
		g.leader = nil
		if len(g.members) > 0 {
			next := g.members[0].ID
			g.leader = &next
		}
	}
	g.removePending(id)
	delete(g.pendingSync, id)
}

func (g *Group) transition(to State, now time.Time) {
	g.previousState, g.state = g.state, to
	g.stateSince = now.UnixMilli()
}

// rebalanceTimeout is the longest of the members'.
func (g *Group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.RebalanceTimeout)
	}
	return longest
}

// electJoinedLeader makes sure that the leader is one that has joined; false if nobody has.
func (g *Group) electJoinedLeader() bool {
	if g.leader == nil {
		return false
	}
	if m := g.member(*g.leader); m != nil && m.join != 0 {
		return true
	}
	for _, m := range g.members {
		if m.join != 0 {
			id := m.ID
			g.leader = &id
			return true
		}
	}
	return false
}

func (g *Group) joinKey() machine.TimerKey { return machine.TimerKey{Kind: TimerJoin, Name: g.ID} }
func (g *Group) syncKey() machine.TimerKey { return machine.TimerKey{Kind: TimerSync, Name: g.ID} }
func (g *Group) sessionKey(member string) machine.TimerKey {
	return machine.TimerKey{Kind: TimerSession, Name: g.ID, Sub: member}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
