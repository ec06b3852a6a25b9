package handlers

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupScenario asks every version of the APIs of groups for something sensible, in an order that
// has one outcome only.
func groupScenario(p *groupsPlayer) {
	scenarioOffsets(p)
	scenarioVersions(p)
	scenarioDynamic(p)
	scenarioStatic(p)
	scenarioOtherType(p)
	scenarioAdmin(p)
	scenarioFindCoordinator(p)
}

func (p *groupsPlayer) commit(version int16, group, topic string, change func(*kmsg.OffsetCommitRequest)) *kmsg.OffsetCommitResponse {
	p.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	if version >= 10 {
		t.Topic, t.TopicID = "", p.topicID
	}
	metadata := "m"
	for i := range int32(2) {
		part := kmsg.NewOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset = i, int64(version)*10+int64(i)
		if i == 1 {
			part.Metadata, part.LeaderEpoch = &metadata, 7
		}
		t.Partitions = append(t.Partitions, part)
	}
	req.Topics = append(req.Topics, t)
	if change != nil {
		change(req)
	}
	return exchangeOf[*kmsg.OffsetCommitResponse](p, version, req)
}

// fetch asks for offsets of partitions 0 and 1 and of one that has none, in every shape that the version has.
func (p *groupsPlayer) fetch(version int16, group, topic string, all bool) {
	p.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	if version >= 8 {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = group
		if !all {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.Partitions = topic, []int32{1, 0, 5}
			if version >= 10 {
				t.TopicID = p.topicID
			}
			g.Topics = append(g.Topics, t)
		}
		req.Groups = append(req.Groups, g)
	} else {
		req.Group = group
		if !all {
			t := kmsg.NewOffsetFetchRequestTopic()
			t.Topic, t.Partitions = topic, []int32{1, 0, 5}
			req.Topics = append(req.Topics, t)
		}
	}
	exchangeOf[*kmsg.OffsetFetchResponse](p, version, req)
}

// scenarioOffsets commits and fetches without members.
func scenarioOffsets(p *groupsPlayer) {
	t, none := p.prefix+"-t", p.prefix+"-none"
	simple := p.group("simple")
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Generation = 3 })
	p.commit(8, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Generation = 3; r.MemberID = "ghost" })
	p.commit(9, simple, none, nil)
	for version := int16(2); version <= 10; version++ {
		p.commit(version, simple, t, nil)
	}
	for _, retention := range []int64{-2, 0, 60000} {
		for version := int16(2); version <= 4; version++ {
			p.commit(version, simple, t, func(r *kmsg.OffsetCommitRequest) { r.RetentionTimeMillis = retention })
		}
	}
	long := string(make([]byte, 4097))
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[0].Metadata = &long })
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Topics[0].Partitions[1].Partition = 9 })
	p.commit(10, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Topics[0].TopicID = [16]byte{1} })
	p.commit(10, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Topics[0].TopicID = [16]byte{} })
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) {
		unknown := r.Topics[0]
		unknown.Topic = none
		r.Topics = append([]kmsg.OffsetCommitRequestTopic{unknown}, r.Topics...)
	})
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Topics = append(r.Topics, r.Topics[0]) })
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) { r.Topics = nil })
	p.commit(9, simple, t, func(r *kmsg.OffsetCommitRequest) { r.MemberID = "ghost" })
	p.commit(9, "", t, nil)
	for version := int16(1); version <= 10; version++ {
		p.fetch(version, simple, t, false)
		p.fetch(version, p.group("nobody"), t, false)
		if version >= 2 {
			p.fetch(version, simple, "", true)
			p.fetch(version, p.group("nobody"), "", true)
		}
	}
	p.fetch(9, simple, none, false)
	p.fetch(9, "", t, false)
	for _, id := range [][16]byte{{1}, {}} {
		req := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = simple
		for _, id := range [][16]byte{id, p.topicID} {
			gt := kmsg.NewOffsetFetchRequestGroupTopic()
			gt.TopicID, gt.Partitions = id, []int32{0}
			g.Topics = append(g.Topics, gt)
		}
		req.Groups = append(req.Groups, g)
		exchangeOf[*kmsg.OffsetFetchResponse](p, 10, req)
	}
	// Of a member that the group doesn't know, and of one that it never had.
	for _, epoch := range []int32{-1, 0, 5} {
		for _, member := range []string{"", "ghost"} {
			req := kmsg.NewPtrOffsetFetchRequest()
			g := kmsg.NewOffsetFetchRequestGroup()
			g.Group, g.MemberEpoch = simple, epoch
			if member != "" {
				g.MemberID = &member
			}
			req.Groups = append(req.Groups, g)
			exchangeOf[*kmsg.OffsetFetchResponse](p, 9, req)
		}
	}
	two := kmsg.NewPtrOffsetFetchRequest()
	for _, id := range []string{p.group("nobody"), simple, simple} {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = id
		two.Groups = append(two.Groups, g)
	}
	exchangeOf[*kmsg.OffsetFetchResponse](p, 8, two)
	exchangeOf[*kmsg.OffsetFetchResponse](p, 9, kmsg.NewPtrOffsetFetchRequest())
	exchangeOf[*kmsg.OffsetFetchResponse](p, 3, kmsg.NewPtrOffsetFetchRequest())

	for _, group := range []string{simple, p.group("nobody"), ""} {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		for _, topic := range []string{none, t} {
			rt := kmsg.NewOffsetDeleteRequestTopic()
			rt.Topic = topic
			for _, n := range []int32{0, 9} {
				part := kmsg.NewOffsetDeleteRequestTopicPartition()
				part.Partition = n
				rt.Partitions = append(rt.Partitions, part)
			}
			req.Topics = append(req.Topics, rt)
		}
		exchangeOf[*kmsg.OffsetDeleteResponse](p, 0, req)
	}
	unknownOnly := kmsg.NewPtrOffsetDeleteRequest()
	unknownOnly.Group = p.group("nobody")
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic, rt.Partitions = none, []kmsg.OffsetDeleteRequestTopicPartition{kmsg.NewOffsetDeleteRequestTopicPartition()}
	unknownOnly.Topics = append(unknownOnly.Topics, rt)
	exchangeOf[*kmsg.OffsetDeleteResponse](p, 0, unknownOnly)
	nothing := kmsg.NewPtrOffsetDeleteRequest()
	nothing.Group = simple
	exchangeOf[*kmsg.OffsetDeleteResponse](p, 0, nothing)
	p.fetch(9, simple, "", true)
}

// consumerSubscription is a ConsumerProtocolSubscription of version 0.
func consumerSubscription(topic string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0, 0}, 1)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(topic))), topic...)
	return append(b, 0xff, 0xff, 0xff, 0xff)
}

func (p *groupsPlayer) joinRequest(group, member string, instance *string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID = group, member, instance
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = 30000, 20000, "consumer"
	for _, name := range []string{"range", "sticky"} {
		protocol := kmsg.NewJoinGroupRequestProtocol()
		protocol.Name, protocol.Metadata = name, consumerSubscription(p.prefix+"-t")
		req.Protocols = append(req.Protocols, protocol)
	}
	return req
}

func (p *groupsPlayer) join(version int16, group, member string, instance *string) *kmsg.JoinGroupResponse {
	p.t.Helper()
	return exchangeOf[*kmsg.JoinGroupResponse](p, version, p.joinRequest(group, member, instance))
}

// syncRequest assigns to the members named, if any.
func (p *groupsPlayer) syncRequest(group, member string, instance *string, generation int32, assign ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = group, member, instance, generation
	kind, protocol := "consumer", "range"
	req.ProtocolType, req.Protocol = &kind, &protocol
	for i, m := range assign {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = m, []byte{0, byte(i), 7}
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	return req
}

func (p *groupsPlayer) heartbeat(version int16, group, member string, instance *string, generation int32) {
	p.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = group, member, instance, generation
	exchangeOf[*kmsg.HeartbeatResponse](p, version, req)
}

// leave lets members leave; before version 3 only the first.
func (p *groupsPlayer) leave(version int16, group string, members ...kmsg.LeaveGroupRequestMember) {
	p.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	if version < 3 {
		req.MemberID = members[0].MemberID
	} else {
		req.Members = members
	}
	exchangeOf[*kmsg.LeaveGroupResponse](p, version, req)
}

func leaving(member string, instance *string) kmsg.LeaveGroupRequestMember {
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID = member, instance
	return m
}

func (p *groupsPlayer) describe(version int16, groups ...string) {
	p.t.Helper()
	for _, g := range groups { // Kafka orders several by the hash of their partitions
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{g}, true
		exchangeOf[*kmsg.DescribeGroupsResponse](p, version, req)
	}
}

// scenarioVersions runs a member's life in every version of JoinGroup.
func scenarioVersions(p *groupsPlayer) {
	g := p.group("versions")
	generation := int32(0)
	for version := int16(0); version <= 9; version++ {
		resp := p.join(version, g, "", nil)
		if version >= 4 { // MEMBER_ID_REQUIRED
			resp = p.join(version, g, resp.MemberID, nil)
		}
		generation = resp.Generation
		m := resp.MemberID
		if version >= 4 {
			p.join(version, g, m, nil) // lost response
		}
		others := min(version, 5)
		p.heartbeat(min(version, 4), g, m, nil, generation)
		exchangeOf[*kmsg.SyncGroupResponse](p, others, p.syncRequest(g, m, nil, generation+1, m))
		exchangeOf[*kmsg.SyncGroupResponse](p, others, p.syncRequest(g, m, nil, generation, m))
		exchangeOf[*kmsg.SyncGroupResponse](p, others, p.syncRequest(g, m, nil, generation))
		p.heartbeat(min(version, 4), g, m, nil, generation)
		p.heartbeat(min(version, 4), g, m, nil, generation-1)
		p.heartbeat(min(version, 4), g, "ghost", nil, generation)
		p.describe(min(version, 6), g, p.group("nobody"), "")
		commitVersion := version + 2
		for _, try := range []struct {
			member     string
			generation int32
		}{{m, generation}, {m, generation - 1}, {"ghost", generation}, {"", -1}, {m, -1}} {
			if commitVersion <= 10 {
				p.commit(commitVersion, g, p.prefix+"-t", func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = try.member, try.generation })
			}
		}
		p.leave(others, g, leaving(m, nil))
		p.leave(others, g, leaving(m, nil))
		p.heartbeat(min(version, 4), g, m, nil, generation)
		p.describe(min(version, 6), g)
	}
}

// scenarioDynamic has two members: the second one's coming makes the first rejoin.
func scenarioDynamic(p *groupsPlayer) {
	g := p.group("dynamic")
	a := p.join(9, g, "", nil).MemberID
	one := p.join(9, g, a, nil)
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, a, nil, one.Generation, a))
	b := p.join(9, g, "", nil).MemberID
	bJoins := begin[*kmsg.JoinGroupResponse](p, 9, p.joinRequest(g, b, nil))
	p.untilRebalance(g, a, one.Generation)
	p.describe(6, g)
	p.commit(9, g, p.prefix+"-t", func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = a, one.Generation })
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, a, nil, one.Generation))
	two := p.join(9, g, a, nil)
	bJoins.end()
	p.heartbeat(4, g, b, nil, two.Generation)
	p.commit(9, g, p.prefix+"-t", func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = a, two.Generation })
	p.describe(6, g)
	wrong := p.syncRequest(g, a, nil, two.Generation)
	sticky := "sticky"
	wrong.Protocol = &sticky
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, wrong)
	bSyncs := begin[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, b, nil, two.Generation))
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, a, nil, two.Generation, a, b))
	bSyncs.end()
	p.describe(6, g)
	p.join(9, g, b, nil) // a follower that has nothing new
	other := p.joinRequest(g, "", nil)
	other.ProtocolType = "connect"
	exchangeOf[*kmsg.JoinGroupResponse](p, 9, other)
	other = p.joinRequest(g, "", nil)
	other.Protocols[0].Name, other.Protocols[1].Name = "x", "y"
	exchangeOf[*kmsg.JoinGroupResponse](p, 9, other)
	del := kmsg.NewPtrOffsetDeleteRequest()
	del.Group = g
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic, rt.Partitions = p.prefix+"-t", []kmsg.OffsetDeleteRequestTopicPartition{kmsg.NewOffsetDeleteRequestTopicPartition()}
	del.Topics = append(del.Topics, rt)
	exchangeOf[*kmsg.OffsetDeleteResponse](p, 0, del)
	c := p.join(9, g, "", nil).MemberID
	p.leave(5, g, leaving(c, nil), leaving("ghost", nil), leaving(a, nil), leaving(b, nil))
	p.describe(6, g)
}

// scenarioStatic replaces and removes static members.
func scenarioStatic(p *groupsPlayer) {
	g := p.group("static")
	for version := int16(5); version <= 9; version++ {
		i := "i"
		one := p.join(version, g, "", &i)
		exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, one.MemberID, &i, one.Generation, one.MemberID))
		two := p.join(version, g, "", &i)
		p.heartbeat(4, g, one.MemberID, &i, two.Generation)
		p.heartbeat(4, g, one.MemberID, nil, two.Generation)
		exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, one.MemberID, &i, one.Generation))
		p.commit(9, g, p.prefix+"-t", func(r *kmsg.OffsetCommitRequest) {
			r.MemberID, r.InstanceID, r.Generation = one.MemberID, &i, two.Generation
		})
		exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(g, two.MemberID, &i, two.Generation))
		p.commit(9, g, p.prefix+"-t", func(r *kmsg.OffsetCommitRequest) {
			r.MemberID, r.InstanceID, r.Generation = two.MemberID, &i, two.Generation
		})
		p.describe(min(version, 6), g)
		j := "j"
		p.join(version, g, two.MemberID, &j)
		p.leave(3, g, leaving(one.MemberID, &i))
		p.leave(4, g, leaving("", &i), leaving("", &j))
	}
}

// scenarioOtherType is a group that isn't of consumers.
func scenarioOtherType(p *groupsPlayer) {
	g := p.group("connect")
	req := p.joinRequest(g, "", nil)
	req.ProtocolType = "connect"
	join := exchangeOf[*kmsg.JoinGroupResponse](p, 3, req)
	kind := "connect"
	sync := p.syncRequest(g, join.MemberID, nil, join.Generation, join.MemberID)
	sync.ProtocolType = &kind
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, sync)
	p.commit(9, g, p.prefix+"-t", func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = join.MemberID, join.Generation })
	del := kmsg.NewPtrOffsetDeleteRequest()
	del.Group = g
	rt := kmsg.NewOffsetDeleteRequestTopic()
	rt.Topic, rt.Partitions = p.prefix+"-t", []kmsg.OffsetDeleteRequestTopicPartition{kmsg.NewOffsetDeleteRequestTopicPartition()}
	del.Topics = append(del.Topics, rt)
	exchangeOf[*kmsg.OffsetDeleteResponse](p, 0, del)
	p.describe(6, g)
	for _, join := range []func(*kmsg.JoinGroupRequest){
		func(r *kmsg.JoinGroupRequest) { r.Group = "" },
		func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 },
		func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 << 30 },
		func(r *kmsg.JoinGroupRequest) { r.Group, r.SessionTimeoutMillis = "", 1 },
		func(r *kmsg.JoinGroupRequest) { r.MemberID = "ghost" },
		func(r *kmsg.JoinGroupRequest) { r.MemberID, r.Group = "ghost", p.group("nobody") },
		func(r *kmsg.JoinGroupRequest) { r.Protocols, r.Group = nil, p.group("bare") },
		func(r *kmsg.JoinGroupRequest) { r.ProtocolType, r.Group = "", p.group("typeless") },
	} {
		req := p.joinRequest(g, "", nil)
		join(req)
		exchangeOf[*kmsg.JoinGroupResponse](p, 9, req)
	}
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest(p.group("nobody"), "x", nil, 1))
	exchangeOf[*kmsg.SyncGroupResponse](p, 5, p.syncRequest("", "x", nil, 1))
	p.heartbeat(4, "", "x", nil, 1)
	p.heartbeat(4, p.group("nobody"), "x", nil, 1)
	for version := int16(0); version <= 5; version++ {
		p.leave(version, "", leaving("x", nil))
		p.leave(version, p.group("nobody"), leaving("x", nil))
		p.leave(version, g, leaving("x", nil))
	}
	p.leave(5, g)
}

// scenarioAdmin lists nothing, since Kafka has groups of others, and deletes.
func scenarioAdmin(p *groupsPlayer) {
	for version := int16(0); version <= 5; version++ {
		req := kmsg.NewPtrListGroupsRequest()
		if version >= 4 {
			req.StatesFilter = []string{"dead"}
			exchangeOf[*kmsg.ListGroupsResponse](p, version, req)
		}
	}
	simple, connect, dynamic := p.group("simple"), p.group("connect"), p.group("dynamic")
	del := func(version int16, groups ...string) {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = groups
		exchangeOf[*kmsg.DeleteGroupsResponse](p, version, req)
	}
	del(0, p.group("nobody"))
	del(1, connect)
	del(2, simple)
	del(3, dynamic)
	del(3, "")
	del(3)
	p.fetch(9, simple, "", true)
	p.describe(5, simple, dynamic)
}

// scenarioFindCoordinator asks for coordinators of groups, and for what isn't one.
func scenarioFindCoordinator(p *groupsPlayer) {
	find := func(version int16, kind int8, keys ...string) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType = kind
		if version >= 4 {
			req.CoordinatorKeys = keys
		} else {
			req.CoordinatorKey = keys[0]
		}
		exchangeOf[*kmsg.FindCoordinatorResponse](p, version, req)
	}
	for version := int16(0); version <= 6; version++ {
		find(version, coordinatorGroup, p.group("simple"))
		find(version, coordinatorGroup, "")
		if version >= 1 {
			find(version, 9, "x")
			find(version, -1, "x")
		}
		if version >= 1 {
			find(version, coordinatorShare, "x")
		}
		if version >= 4 {
			find(version, coordinatorGroup, p.group("simple"), p.group("static"), p.group("simple"))
			find(version, coordinatorGroup)
		}
	}
}
