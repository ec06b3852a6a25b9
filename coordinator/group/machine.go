package group

import (
	"slices"
	"time"

	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Config is what all group machines of a broker share.
type Config struct {
	Classic classic.Config
	// OffsetMetadataMaxBytes bounds the metadata string of a commit (offset.metadata.max.bytes); counted in
	// UTF-16 units as Kafka does.
	OffsetMetadataMaxBytes int
	// OffsetsRetention is how long offsets outlive their use (offsets.retention.minutes).
	OffsetsRetention time.Duration
	// OffsetsRetentionCheckInterval is how often that is looked at (offsets.retention.check.interval.ms).
	OffsetsRetentionCheckInterval time.Duration
}

// Request is a client's request to the groups of one partition. Body is one of JoinGroup,
// SyncGroup, Heartbeat, LeaveGroup, DescribeGroups, ListGroups, DeleteGroups, OffsetCommit,
// OffsetFetch (groups in Groups whatever the version) and OffsetDelete; the machine replies with the
// response of the same kind.
type Request struct {
	Client classic.Client
	Body   kmsg.Request
}

// TopicsDeleted is the event of topics that are no more: their offsets go too.
type TopicsDeleted struct{ Topics []string }

// Machine implements machine.Machine.
type Machine struct {
	cfg *Config
	// groups are all groups; one that only has offsets has an entry as well.
	groups map[string]*classic.Group
	// offsets are the committed offsets by group; a group without any has no entry.
	offsets map[string]groupOffsets
}

// New returns a machine without groups. It keeps cfg, which doesn't change.
func New(cfg *Config) *Machine {
	return &Machine{cfg: cfg, groups: map[string]*classic.Group{}, offsets: map[string]groupOffsets{}}
}

const timerExpiry = "offsets-expiry"

// Loaded implements machine.Machine.
func (m *Machine) Loaded(now time.Time) machine.Result {
	var r machine.Result
	for _, id := range m.groupIDs() {
		loaded := m.groups[id].Loaded(now)
		r.Timers = append(r.Timers, loaded.Timers...)
		r.Notes = append(r.Notes, loaded.Notes...)
	}
	r.SetTimer(machine.TimerKey{Kind: timerExpiry}, m.cfg.OffsetsRetentionCheckInterval)
	return r
}

// Expire implements machine.Machine.
func (m *Machine) Expire(now time.Time, key machine.TimerKey) machine.Result {
	if key.Kind == timerExpiry {
		return m.expireOffsets(now)
	}
	if g := m.groups[key.Name]; g != nil {
		return g.Expire(now, key)
	}
	return machine.Result{}
}

// Handle implements machine.Machine.
func (m *Machine) Handle(now time.Time, call machine.Call, req any) machine.Result {
	switch e := req.(type) {
	case *TopicsDeleted:
		return m.deleteTopics(e.Topics)
	case *Request:
		switch body := e.Body.(type) {
		case *kmsg.JoinGroupRequest:
			return m.join(now, call, e.Client, body)
		case *kmsg.SyncGroupRequest:
			return m.sync(now, call, body)
		case *kmsg.HeartbeatRequest:
			return m.heartbeat(call, body)
		case *kmsg.LeaveGroupRequest:
			return m.leave(now, call, body)
		case *kmsg.DescribeGroupsRequest:
			return m.describe(call, body)
		case *kmsg.ListGroupsRequest:
			return m.list(call, body)
		case *kmsg.DeleteGroupsRequest:
			return m.deleteGroups(call, body)
		case *kmsg.OffsetCommitRequest:
			return m.commitOffsets(now, call, body)
		case *kmsg.OffsetFetchRequest:
			return m.fetchOffsets(call, body)
		case *kmsg.OffsetDeleteRequest:
			return m.deleteOffsets(call, body)
		}
	}
	panic("group: request of an unknown kind") // only the service makes requests
}

// groupIDs are the ids of all groups, sorted.
func (m *Machine) groupIDs() []string {
	ids := make([]string, 0, len(m.groups))
	for id := range m.groups {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (m *Machine) join(now time.Time, call machine.Call, client classic.Client, req *kmsg.JoinGroupRequest) machine.Result {
	if g := m.groups[req.Group]; g != nil {
		return g.Join(now, call, client, req)
	}
	var r machine.Result
	if req.MemberID != "" {
		r.Reply(call, classic.JoinError(req, kerr.UnknownMemberID))
		return r
	}
	// The new group is logged before its first member is let in, so that a member id that was handed
	// out belongs to a group that exists.
	r.Append(classic.NewRecord(req.Group, now))
	r.Then = func(now time.Time) machine.Result {
		return m.groups[req.Group].Join(now, call, client, req)
	}
	return r
}

func (m *Machine) sync(now time.Time, call machine.Call, req *kmsg.SyncGroupRequest) machine.Result {
	if g := m.groups[req.Group]; g != nil {
		return g.Sync(now, call, req)
	}
	var r machine.Result
	r.Reply(call, classic.SyncError(kerr.UnknownMemberID))
	return r
}

func (m *Machine) heartbeat(call machine.Call, req *kmsg.HeartbeatRequest) machine.Result {
	if g := m.groups[req.Group]; g != nil {
		return g.Heartbeat(call, req)
	}
	var r machine.Result
	resp := kmsg.NewPtrHeartbeatResponse()
	resp.ErrorCode = kerr.UnknownMemberID.Code
	r.Reply(call, resp)
	return r
}

func (m *Machine) leave(now time.Time, call machine.Call, req *kmsg.LeaveGroupRequest) machine.Result {
	if g := m.groups[req.Group]; g != nil {
		return g.Leave(now, call, req)
	}
	var r machine.Result
	resp := kmsg.NewPtrLeaveGroupResponse()
	for _, member := range req.Members {
		rm := kmsg.NewLeaveGroupResponseMember()
		rm.MemberID, rm.InstanceID, rm.ErrorCode = member.MemberID, member.InstanceID, kerr.UnknownMemberID.Code
		resp.Members = append(resp.Members, rm)
	}
	r.Reply(call, resp)
	return r
}

// codeOf is short for the code of an error that has one.
func codeOf(err error) int16 { return kerror.CodeOf(err) }
