package classic

import "github.com/twmb/franz-go/pkg/kmsg"

// Describe is the group's row of a DescribeGroups response. What members say is told of a stable
// group only; what they own also while they rebalance, until the next assignment.
func (g *Group) Describe() kmsg.DescribeGroupsResponseGroup {
	d := kmsg.NewDescribeGroupsResponseGroup()
	d.Group = g.ID
	d.State = string(g.state)
	d.ProtocolType = g.ProtocolType()
	stable := g.state == Stable
	if stable {
		d.Protocol = deref(g.protocol)
	}
	for _, m := range g.members {
		dm := kmsg.NewDescribeGroupsResponseGroupMember()
		dm.MemberID, dm.InstanceID = m.ID, m.InstanceID
		dm.ClientID, dm.ClientHost = m.ClientID, m.ClientHost
		dm.ProtocolMetadata, dm.MemberAssignment = []byte{}, m.Assignment
		if stable {
			dm.ProtocolMetadata = m.metadata(deref(g.protocol))
		}
		d.Members = append(d.Members, dm)
	}
	return d
}
