package group

import (
	"fmt"
	"strings"

	"github.com/ottla/ottla/coordinator/group/classic"
	"github.com/ottla/ottla/coordinator/machine"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TypeClassic is the type of classic groups in ListGroups.
const TypeClassic = "classic"

// describe tells of groups; one that doesn't exist is Dead, and an error since version 6 (KIP-1043).
func (m *Machine) describe(call machine.Call, req *kmsg.DescribeGroupsRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrDescribeGroupsResponse()
	for _, id := range req.Groups {
		if g := m.groups[id]; g != nil {
			resp.Groups = append(resp.Groups, g.Describe())
			continue
		}
		d := kmsg.NewDescribeGroupsResponseGroup()
		d.Group, d.State = id, "Dead"
		if req.Version >= 6 {
			d.ErrorCode = kerr.GroupIDNotFound.Code
			message := fmt.Sprintf("Group %s not found.", id)
			d.ErrorMessage = &message
		}
		resp.Groups = append(resp.Groups, d)
	}
	r.Reply(call, resp)
	return r
}

// list tells of all groups, or those in given states (KIP-518) and of given types (KIP-848); both
// are compared without regard to case.
func (m *Machine) list(call machine.Call, req *kmsg.ListGroupsRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrListGroupsResponse()
	for _, id := range m.groupIDs() {
		g := m.groups[id]
		if !matches(req.StatesFilter, string(g.State())) || !matches(req.TypesFilter, TypeClassic) {
			continue
		}
		row := kmsg.NewListGroupsResponseGroup()
		row.Group, row.ProtocolType = id, g.ProtocolType()
		row.GroupState, row.GroupType = string(g.State()), TypeClassic
		resp.Groups = append(resp.Groups, row)
	}
	r.Reply(call, resp)
	return r
}

func matches(filter []string, value string) bool {
	for _, f := range filter {
		if strings.EqualFold(f, value) {
			return true
		}
	}
	return len(filter) == 0
}

// deleteGroups deletes groups without members, and their offsets.
func (m *Machine) deleteGroups(call machine.Call, req *kmsg.DeleteGroupsRequest) machine.Result {
	var r machine.Result
	resp := kmsg.NewPtrDeleteGroupsResponse()
	seen := map[string]bool{}
	for _, id := range req.Groups {
		if seen[id] {
			continue
		}
		seen[id] = true
		row := kmsg.NewDeleteGroupsResponseGroup()
		row.Group = id
		g := m.groups[id]
		if g == nil {
			row.ErrorCode = kerr.GroupIDNotFound.Code
		} else if err := g.ValidateDelete(); err != nil {
			row.ErrorCode = codeOf(err)
		} else {
			n := len(r.Records)
			m.offsets[id].each(func(topic string, partition int32, _ *offset) {
				r.Append(offsetTombstone(id, topic, partition))
			})
			r.Info("Group is deleted.", "group", id, "offsets", len(r.Records)-n)
			r.Append(groupTombstone(id))
		}
		resp.Groups = append(resp.Groups, row)
	}
	r.Reply(call, resp)
	return r
}

func groupTombstone(id string) machine.Record {
	return machine.Record{Key: classic.MetadataKey(id)}
}
