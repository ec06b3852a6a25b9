package cases

import (
	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// protocol is one that a member offers.
func protocol(name, metadata string) kmsg.JoinGroupRequestProtocol {
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = name, []byte(metadata)
	return p
}

// join asks to be a member of a consumer group.
func join(group, member string, protocols ...kmsg.JoinGroupRequestProtocol) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.ProtocolType = group, member, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 30_000
	if len(protocols) == 0 {
		protocols = append(protocols, protocol("range", "m"))
	}
	req.Protocols = protocols
	return req
}

// joinStatic is join of a member with an instance id.
func joinStatic(group, member, instance string) *kmsg.JoinGroupRequest {
	req := join(group, member)
	req.InstanceID = &instance
	return req
}

// sync asks for an assignment; assignments are members and what they get, in turn.
func sync(group, member string, generation int32, assignments ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	req.ProtocolType, req.Protocol = str("consumer"), str("range")
	for i := 0; i+1 < len(assignments); i += 2 {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = assignments[i], []byte(assignments[i+1])
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	return req
}

func heartbeat(group, member string, generation int32) *kmsg.HeartbeatRequest {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	return req
}

// leave lets members go, in the fields of all versions; the first is the one of old versions.
func leave(group string, members ...string) *kmsg.LeaveGroupRequest {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	for _, id := range members {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = id
		req.Members = append(req.Members, m)
	}
	if len(members) > 0 {
		req.MemberID = members[0]
	}
	return req
}

func describeGroups(groups ...string) *kmsg.DescribeGroupsRequest {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	return req
}

// member joins a group without a record and returns its id; the group's only member if it is the first.
func member(s *diff.Script, p *diff.Peer, group string) string {
	resp := p.Quiet(3, join(group, "")).(*kmsg.JoinGroupResponse)
	return resp.MemberID
}

// stable makes a group with one member in generation 1 and returns the member's id.
func stable(s *diff.Script, group string) string {
	m := member(s, s.Peer, group)
	s.Quiet(3, sync(group, m, 1, m, "a"))
	return m
}

// pair makes a stable group of a leader on peer "a" and a follower on peer "b", in generation 2.
func pair(s *diff.Script, group string) (leader, follower string) {
	a, b := s.On("a"), s.On("b")
	leader = member(s, a, group)
	s.AliasMember(leader)
	waiting := b.Send(3, join(group, ""))
	s.AwaitState(group, "PreparingRebalance")
	s.Quiet(3, heartbeat(group, leader, 1))
	a.Quiet(3, join(group, leader))
	follower = waiting.Quiet().(*kmsg.JoinGroupResponse).MemberID
	w := b.Send(3, sync(group, follower, 2))
	a.Quiet(3, sync(group, leader, 2, leader, "for-a", follower, "for-b"))
	w.Quiet()
	return leader, follower
}

func joinGroup() []diff.Case {
	l := &list{api: "join_group"}
	l.add("errors", func(s *diff.Script) {
		g := s.Group("g")
		s.Say("empty group").Ask(5, join("", ""))
		s.Say("member unknown").Ask(5, join(g, "nobody"))
		req := join(g, "")
		req.SessionTimeoutMillis = 50
		s.Say("session too short").Ask(5, req)
		req.SessionTimeoutMillis = 1_900_000
		s.Say("session too long").Ask(5, req)
		req = join(g, "")
		req.ProtocolType = ""
		s.Say("no protocol type").Ask(3, req)
		req = join(g, "")
		req.Protocols = nil
		s.Say("no protocols").Ask(3, req)
		s.Say("no group came of it").Ask(5, describeGroups(g))
	})
	l.add("member-id-required", func(s *diff.Script) {
		g := s.Group("g")
		id := s.Ask(4, join(g, "")).(*kmsg.JoinGroupResponse).MemberID
		s.Say("only pending").Ask(5, describeGroups(g))
		s.Say("heartbeat of a pending member").Ask(4, heartbeat(g, id, 1))
		s.Say("sync of a pending member").Ask(5, sync(g, id, 1))
		s.Say("with the id").Ask(4, join(g, id))
		s.Say("another").On("b").Ask(9, join(g, ""))
		s.Ask(5, describeGroups(g))
	})
	l.add("pending-member-leaves", func(s *diff.Script) {
		g := s.Group("g")
		id := s.Ask(5, join(g, "")).(*kmsg.JoinGroupResponse).MemberID
		s.Ask(4, leave(g, id))
		s.Say("with the id").Ask(5, join(g, id))
	})
	l.add("protocols-inconsistent", func(s *diff.Script) {
		g := s.Group("g")
		stable(s, g)
		b := s.On("b")
		b.Ask(3, join(g, "", protocol("roundrobin", "m")))
		req := join(g, "")
		req.ProtocolType = "connect"
		s.Say("another type")
		b.Ask(3, req)
		req.Protocols = nil
		s.Say("another type, no protocols")
		b.Ask(3, req)
	})
	l.add("protocol-chosen-by-votes", func(s *diff.Script) {
		g := s.Group("g")
		a, b := s.On("a"), s.On("b")
		leader := a.Quiet(3, join(g, "", protocol("range", "1"), protocol("sticky", "2"))).(*kmsg.JoinGroupResponse).MemberID
		s.AliasMember(leader)
		w := b.Send(7, join(g, ""+"", protocol("sticky", "3"), protocol("other", "4")))
		s.Say("member id first")
		id := w.Answer().(*kmsg.JoinGroupResponse).MemberID
		s.AliasMember(id)
		w = b.Send(7, join(g, id, protocol("sticky", "3"), protocol("other", "4")))
		s.AwaitState(g, "PreparingRebalance")
		a.Ask(7, join(g, leader, protocol("range", "1"), protocol("sticky", "2")))
		w.Answer()
	})
	l.add("rebalance", func(s *diff.Script) {
		g := s.Group("g")
		leader, follower := pair(s, g)
		s.Ask(5, describeGroups(g))
		s.Say("leader").Ask(4, heartbeat(g, leader, 2))
		s.Say("follower").Ask(4, heartbeat(g, follower, 2))
		s.Say("a follower joins again with the same: no rebalance")
		s.On("b").Ask(5, join(g, follower))
		w := s.On("a").Send(5, join(g, leader))
		s.AwaitState(g, "PreparingRebalance")
		s.Say("the leader joins again: rebalance").Ask(4, heartbeat(g, follower, 2))
		s.Say("sync during it").Ask(5, sync(g, follower, 2))
		s.On("b").Ask(5, join(g, follower))
		w.Answer()
		s.Say("before the leader's sync").Ask(5, describeGroups(g))
		s.Say("before the leader's sync").Ask(4, heartbeat(g, follower, 3))
	})
	l.add("changed-metadata-rebalances", func(s *diff.Script) {
		g := s.Group("g")
		leader, follower := pair(s, g)
		w := s.On("b").Send(5, join(g, follower, protocol("range", "changed")))
		s.AwaitState(g, "PreparingRebalance")
		s.On("a").Ask(5, join(g, leader))
		w.Answer()
	})
	l.add("rebalance-without-a-late-member-G01", func(s *diff.Script) {
		g := s.Group("g")
		req := join(g, "")
		req.RebalanceTimeoutMillis = 300
		late := s.On("a").Quiet(3, req).(*kmsg.JoinGroupResponse).MemberID
		s.AliasMember(late)
		s.On("a").Quiet(3, sync(g, late, 1, late, "a"))
		other := join(g, "")
		other.RebalanceTimeoutMillis = 300
		s.Say("the late one is dropped after the rebalance timeout")
		s.On("b").Ask(3, other)
		s.Ask(4, heartbeat(g, late, 1))
		s.Ask(5, describeGroups(g))
	})
	l.add("session-expires-G12", func(s *diff.Script) {
		g := s.Group("g")
		req := join(g, "")
		req.SessionTimeoutMillis = 200
		id := s.Ask(3, req).(*kmsg.JoinGroupResponse).MemberID
		s.Ask(3, sync(g, id, 1, id, "a"))
		s.AwaitState(g, "Empty")
		s.Say("after expiry").Ask(4, heartbeat(g, id, 1))
		s.Say("commit after expiry").Ask(8, commit(g, id, 1, topicOffsets(s.Topic("t", 1), offset(0, 5))))
		s.Say("sync after expiry").Ask(5, sync(g, id, 1))
		s.Say("join with the old id").Ask(5, join(g, id))
		s.Ask(5, describeGroups(g))
	})
	l.add("follower-leaves-during-rebalance", func(s *diff.Script) {
		g := s.Group("g")
		leader, follower := pair(s, g)
		w := s.On("a").Send(5, join(g, leader))
		s.AwaitState(g, "PreparingRebalance")
		s.On("b").Ask(5, leave(g, follower))
		w.Answer()
	})
	l.add("protocol-type-of-other-kind", func(s *diff.Script) {
		g := s.Group("g")
		req := join(g, "", protocol("p1", "x"))
		req.ProtocolType = "connect"
		id := s.Ask(3, req).(*kmsg.JoinGroupResponse).MemberID
		s.Ask(5, describeGroups(g))
		s.Ask(5, leave(g, id))
		s.Say("empty").Ask(5, describeGroups(g))
		s.Say("a consumer joins the empty group").Ask(3, join(g, ""))
	})
	versions(l, 0, 9, func(s *diff.Script, v int16) {
		g := s.Group("g")
		id := s.Ask(v, join(g, "")).(*kmsg.JoinGroupResponse).MemberID
		if v >= 4 {
			s.Ask(v, join(g, id))
		}
		s.Say("again").Ask(v, join(g, id))
		s.Say("unknown member").Ask(v, join(g, "nobody"))
	})
	return append(l.cases, staticMembers(l.api)...)
}

// staticMembers is about KIP-345.
func staticMembers(api string) []diff.Case {
	l := &list{api: api}
	l.add("static-replaced", func(s *diff.Script) {
		g := s.Group("g")
		id := s.On("a").Ask(5, joinStatic(g, "", "i1")).(*kmsg.JoinGroupResponse).MemberID
		s.On("a").Ask(5, sync(g, id, 1, id, "a"))
		s.Say("the same instance anew, stable group")
		again := s.On("b").Ask(5, joinStatic(g, "", "i1")).(*kmsg.JoinGroupResponse)
		s.Ask(5, describeGroups(g))
		beat := heartbeat(g, id, again.Generation)
		beat.InstanceID = str("i1")
		s.Say("the old one is fenced").Ask(4, beat)
		beat.InstanceID = nil
		s.Say("the old one without its instance").Ask(4, beat)
		beat.MemberID, beat.InstanceID = again.MemberID, str("i1")
		s.Say("the new one").Ask(4, beat)
		beat.InstanceID = str("i2")
		s.Say("an unknown instance").Ask(4, beat)
		s.Say("join with the old id").Ask(5, joinStatic(g, id, "i1"))
		s.Say("join with an unknown instance").Ask(5, joinStatic(g, again.MemberID, "i9"))
		sy := sync(g, id, again.Generation)
		sy.InstanceID = str("i1")
		s.Say("sync of the old one").Ask(5, sy)
		c := commit(g, id, again.Generation, topicOffsets(s.Topic("t", 1), offset(0, 1)))
		c.InstanceID = str("i1")
		s.Say("commit of the old one").Ask(8, c)
	})
	l.add("static-replaced-skips-assignment", func(s *diff.Script) {
		g := s.Group("g")
		id := s.On("a").Ask(9, joinStatic(g, "", "i1")).(*kmsg.JoinGroupResponse).MemberID
		s.On("a").Ask(5, sync(g, id, 1, id, "a"))
		again := s.On("b").Ask(9, joinStatic(g, "", "i1")).(*kmsg.JoinGroupResponse)
		s.Say("its assignment is kept").Ask(5, sync(g, again.MemberID, again.Generation))
	})
	l.add("static-replaced-with-other-protocols", func(s *diff.Script) {
		g := s.Group("g")
		id := s.On("a").Ask(5, joinStatic(g, "", "i1")).(*kmsg.JoinGroupResponse).MemberID
		s.On("a").Ask(5, sync(g, id, 1, id, "a"))
		req := joinStatic(g, "", "i1")
		req.Protocols = []kmsg.JoinGroupRequestProtocol{protocol("other", "x")}
		s.On("b").Ask(5, req)
	})
	l.add("static-leaves", func(s *diff.Script) {
		g := s.Group("g")
		id := s.Ask(5, joinStatic(g, "", "i1")).(*kmsg.JoinGroupResponse).MemberID
		s.Ask(5, sync(g, id, 1, id, "a"))
		by := func(member string, instance *string) *kmsg.LeaveGroupRequest {
			req := leave(g, member)
			req.Members[0].InstanceID = instance
			return req
		}
		s.Say("unknown instance").Ask(5, by("", str("i9")))
		s.Say("wrong member id").Ask(5, by("nobody", str("i1")))
		two := by("", str("i1"))
		two.Members = append(two.Members, by("nobody", nil).Members...)
		s.Say("by instance, and an unknown one").Ask(5, two)
		s.Ask(5, describeGroups(g))
	})
	l.add("static-versions-without-instances", func(s *diff.Script) {
		g := s.Group("g")
		s.Say("v4 has no instance ids, so it needs a member id").Ask(4, join(g, ""))
	})
	return l.cases
}

func syncHeartbeatLeave() []diff.Case {
	l := &list{api: "sync_group"}
	l.add("errors", func(s *diff.Script) {
		g := s.Group("g")
		s.Say("unknown group").Ask(5, sync(g, "nobody", 1))
		s.Say("empty group").Ask(5, sync("", "nobody", 1))
		id := member(s, s.Peer, g)
		s.AliasMember(id)
		s.Say("unknown member").Ask(5, sync(g, "nobody", 1))
		s.Say("wrong generation").Ask(5, sync(g, id, 2))
		s.Say("generation -1").Ask(5, sync(g, id, -1))
		req := sync(g, id, 1, id, "a")
		req.ProtocolType = str("connect")
		s.Say("wrong protocol type").Ask(5, req)
		req = sync(g, id, 1, id, "a")
		req.Protocol = str("sticky")
		s.Say("wrong protocol").Ask(5, req)
		req = sync(g, id, 1, id, "a")
		req.Protocol, req.ProtocolType = nil, nil
		s.Say("no protocol at v5").Ask(5, req)
		s.Say("no protocol at v4").Ask(4, req)
	})
	l.add("assignments", func(s *diff.Script) {
		g := s.Group("g")
		id := member(s, s.Peer, g)
		s.AliasMember(id)
		s.Say("for an unknown member only").Ask(5, sync(g, id, 1, "nobody", "x"))
		s.Say("again, in a stable group").Ask(5, sync(g, id, 1, id, "b"))
		s.Ask(5, describeGroups(g))
	})
	l.add("follower-waits", func(s *diff.Script) {
		g := s.Group("g")
		leader, follower := pair(s, g)
		w := s.On("a").Send(3, join(g, leader))
		s.AwaitState(g, "PreparingRebalance")
		s.On("b").Quiet(3, join(g, follower))
		w.Quiet()
		w = s.On("b").Send(5, sync(g, follower, 3))
		s.Say("leader")
		s.On("a").Ask(5, sync(g, leader, 3, leader, "x", follower, "y"))
		s.Say("follower")
		w.Answer()
	})
	versions(l, 0, 5, func(s *diff.Script, v int16) {
		g := s.Group("g")
		id := member(s, s.Peer, g)
		s.AliasMember(id)
		s.Say("unknown member").Ask(v, sync(g, "nobody", 1))
		s.Ask(v, sync(g, id, 1, id, "assignment"))
	})

	h := &list{api: "heartbeat"}
	h.add("errors", func(s *diff.Script) {
		g := s.Group("g")
		s.Say("unknown group").Ask(4, heartbeat(g, "nobody", 1))
		s.Say("empty group").Ask(4, heartbeat("", "nobody", 1))
		id := member(s, s.Peer, g)
		s.Say("before sync").Ask(4, heartbeat(g, id, 1))
		s.Say("unknown member").Ask(4, heartbeat(g, "nobody", 1))
		s.Say("empty member").Ask(4, heartbeat(g, "", 1))
		s.Say("old generation").Ask(4, heartbeat(g, id, 0))
		s.Say("future generation").Ask(4, heartbeat(g, id, 2))
		s.Quiet(4, leave(g, id))
		s.Say("after leaving").Ask(4, heartbeat(g, id, 1))
	})
	versions(h, 0, 4, func(s *diff.Script, v int16) {
		g := s.Group("g")
		id := stable(s, g)
		s.Ask(v, heartbeat(g, id, 1))
		s.Say("wrong generation").Ask(v, heartbeat(g, id, 9))
	})

	e := &list{api: "leave_group"}
	e.add("errors", func(s *diff.Script) {
		g := s.Group("g")
		for _, v := range []int16{2, 5} {
			s.Say("unknown group").Ask(v, leave(g, "nobody"))
			s.Say("empty group").Ask(v, leave("", "nobody"))
		}
		id := stable(s, g)
		s.AliasMember(id)
		for _, v := range []int16{2, 5} {
			s.Say("unknown member").Ask(v, leave(g, "nobody"))
		}
		s.Say("nobody").Ask(5, leave(g))
		s.Say("twice in one request").Ask(5, leave(g, id, id))
		s.Ask(5, describeGroups(g))
	})
	e.add("both-of-two", func(s *diff.Script) {
		g := s.Group("g")
		leader, follower := pair(s, g)
		s.Ask(5, leave(g, leader, "nobody", follower))
		s.Ask(5, describeGroups(g))
	})
	e.add("leader-goes", func(s *diff.Script) {
		g := s.Group("g")
		leader, follower := pair(s, g)
		s.Ask(5, leave(g, leader))
		s.Say("the other is told").Ask(4, heartbeat(g, follower, 2))
		s.On("b").Ask(5, join(g, follower))
	})
	versions(e, 0, 5, func(s *diff.Script, v int16) {
		g := s.Group("g")
		id := stable(s, g)
		s.AliasMember(id)
		s.Ask(v, leave(g, id))
		s.Say("again").Ask(v, leave(g, id))
	})
	return append(append(l.cases, h.cases...), e.cases...)
}

func groupAdmin() []diff.Case {
	l := &list{api: "describe_groups"}
	l.add("unknown", func(s *diff.Script) {
		g := s.Group("g")
		for _, v := range []int16{4, 5, 6} {
			s.Ask(v, describeGroups(g))
			s.Say("empty name").Ask(v, describeGroups(""))
		}
		s.Say("nothing").Ask(5, describeGroups())
		s.Say("one twice").Ask(5, describeGroups(g, g))
	})
	l.add("states", func(s *diff.Script) {
		g := s.Group("g")
		id := member(s, s.Peer, g)
		s.Say("CompletingRebalance").Ask(5, describeGroups(g))
		s.Quiet(3, sync(g, id, 1, id, "a"))
		s.Say("Stable").Ask(5, describeGroups(g))
		s.On("b").Send(3, join(g, ""))
		s.AwaitState(g, "PreparingRebalance")
		s.Say("PreparingRebalance").Ask(5, describeGroups(g))
		s.Quiet(5, leave(g, id))
		s.Say("one left, waiting for its sync").Until(func(r kmsg.Response) bool {
			return r.(*kmsg.DescribeGroupsResponse).Groups[0].State == "CompletingRebalance"
		}, 5, describeGroups(g))
	})
	l.add("of-offsets-only", func(s *diff.Script) {
		g := s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(s.Topic("t", 1), offset(0, 1))))
		s.Ask(5, describeGroups(g))
		s.Ask(6, describeGroups(g))
	})
	l.add("authorized-operations", func(s *diff.Script) {
		g := s.Group("g")
		stable(s, g)
		req := describeGroups(g, s.Name("none"))
		req.IncludeAuthorizedOperations = true
		s.Ask(3, req)
		s.Ask(5, req)
	})
	versions(l, 0, 6, func(s *diff.Script, v int16) {
		g := s.Group("g")
		stable(s, g)
		s.Ask(v, describeGroups(g))
	})

	n := &list{api: "list_groups"}
	listed := func(states, types []string) *kmsg.ListGroupsRequest {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter, req.TypesFilter = states, types
		return req
	}
	n.add("filters", func(s *diff.Script) {
		full, empty := s.Group("full"), s.Group("empty")
		stable(s, full)
		s.Quiet(8, commit(empty, "", -1, topicOffsets(s.Topic("t", 1), offset(0, 1))))
		for _, states := range [][]string{{"Stable"}, {"Empty"}, {"stable"}, {"Stable", "Empty"}, {"Dead"}, {"Nonsense"}, {""}} {
			s.Say("states %v", states).Ask(5, listed(states, nil))
		}
		for _, types := range [][]string{{"classic"}, {"Classic"}, {"consumer"}, {"nonsense"}, {"classic", "consumer"}} {
			s.Say("types %v", types).Ask(5, listed(nil, types))
		}
		s.Say("both").Ask(5, listed([]string{"Empty"}, []string{"classic"}))
	})
	versions(n, 0, 5, func(s *diff.Script, v int16) {
		full, empty := s.Group("full"), s.Group("empty")
		stable(s, full)
		s.Quiet(8, commit(empty, "", -1, topicOffsets(s.Topic("t", 1), offset(0, 1))))
		s.Ask(v, listed(nil, nil))
	})

	d := &list{api: "delete_groups"}
	remove := func(groups ...string) *kmsg.DeleteGroupsRequest {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = groups
		return req
	}
	d.add("errors", func(s *diff.Script) {
		g := s.Group("g")
		s.Say("unknown").Ask(3, remove(g))
		s.Say("empty name").Ask(3, remove(""))
		s.Say("nothing").Ask(3, remove())
		stable(s, g)
		s.Say("not empty").Ask(3, remove(g))
		s.Say("not empty and unknown").Ask(3, remove(g, s.Name("none")))
		s.Say("one twice").Ask(3, remove(g, g))
	})
	d.add("after-members-left", func(s *diff.Script) {
		g := s.Group("g")
		t := s.Topic("t", 1)
		id := stable(s, g)
		s.Quiet(8, commit(g, id, 1, topicOffsets(t, offset(0, 3))))
		s.Quiet(5, leave(g, id))
		s.Ask(3, remove(g))
		s.Ask(5, describeGroups(g))
		s.Say("its offsets are gone").Ask(7, offsetFetch(g, t, 0))
	})
	versions(d, 0, 3, func(s *diff.Script, v int16) {
		g := s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(s.Topic("t", 1), offset(0, 1))))
		s.Ask(v, remove(g, s.Name("none")))
	})
	return append(append(l.cases, n.cases...), d.cases...)
}
