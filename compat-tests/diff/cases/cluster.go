package cases

import (
	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// quorum and the other small APIs of administrators.
func admin() []diff.Case {
	var all []diff.Case
	for _, api := range []func() []diff.Case{
		describeQuorum, describeACLs, describeQuotas, describeSCRAM, electLeaders, listReassignments, describeLogDirs,
	} {
		all = append(all, api()...)
	}
	return all
}

func describeQuorum() []diff.Case {
	l := &list{api: "describe_quorum"}
	request := func(topic string, partitions ...int32) *kmsg.DescribeQuorumRequest {
		req := kmsg.NewPtrDescribeQuorumRequest()
		t := kmsg.NewDescribeQuorumRequestTopic()
		t.Topic = topic
		for _, n := range partitions {
			p := kmsg.NewDescribeQuorumRequestTopicPartition()
			p.Partition = n
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("unknown", func(s *diff.Script) {
		s.Say("another topic").Ask(2, request(s.Topic("t", 1), 0))
		s.Say("another partition").Ask(2, request("__cluster_metadata", 1))
		s.Say("nothing").Ask(2, kmsg.NewPtrDescribeQuorumRequest())
	})
	versions(l, 0, 2, func(s *diff.Script, v int16) { s.Ask(v, request("__cluster_metadata", 0)) })
	return l.cases
}

func describeACLs() []diff.Case {
	l := &list{api: "describe_acls"}
	versions(l, 1, 3, func(s *diff.Script, v int16) {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 1, 1, 1, 1
		s.Say("all").Ask(v, req)
		req.ResourceType, req.ResourceName = 2, str("t")
		s.Say("of a topic").Ask(v, req)
	})
	l.add("filters-wrong", func(s *diff.Script) {
		req := kmsg.NewPtrDescribeACLsRequest()
		s.Say("unknown types").Ask(3, req)
		req.ResourceType, req.ResourcePatternType, req.Operation, req.PermissionType = 99, 1, 1, 1
		s.Say("a type that doesn't exist").Ask(3, req)
		s.Fate("after them")
	})
	return l.cases
}

func describeQuotas() []diff.Case {
	l := &list{api: "describe_client_quotas"}
	request := func(kind string, match int8, name *string) *kmsg.DescribeClientQuotasRequest {
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		c := kmsg.NewDescribeClientQuotasRequestComponent()
		c.EntityType, c.MatchType, c.Match = kind, kmsg.QuotasMatchType(match), name
		req.Components = append(req.Components, c)
		return req
	}
	l.add("errors", func(s *diff.Script) {
		s.Say("unknown entity type").Ask(1, request("planet", 0, str("x")))
		s.Say("empty entity type").Ask(1, request("", 0, str("x")))
		s.Say("unknown match type").Ask(1, request("user", 9, str("x")))
		s.Say("exact without a name").Ask(1, request("user", 0, nil))
		s.Say("default with a name").Ask(1, request("user", 1, str("x")))
		s.Say("any with a name").Ask(1, request("user", 2, str("x")))
		req := request("user", 0, str("x"))
		req.Components = append(req.Components, req.Components[0])
		s.Say("type twice").Ask(1, req)
		req = request("user", 0, str("x"))
		req.Components = append(req.Components, request("ip", 0, str("1.2.3.4")).Components...)
		s.Say("user and ip").Ask(1, req)
	})
	versions(l, 0, 1, func(s *diff.Script, v int16) {
		s.Say("no filter").Ask(v, kmsg.NewPtrDescribeClientQuotasRequest())
		s.Say("user").Ask(v, request("user", 0, str("x")))
		req := request("client-id", 2, nil)
		req.Strict = true
		s.Say("any client id, strict").Ask(v, req)
	})
	return l.cases
}

func describeSCRAM() []diff.Case {
	l := &list{api: "describe_user_scram_credentials"}
	request := func(users ...string) *kmsg.DescribeUserSCRAMCredentialsRequest {
		req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
		req.Users = []kmsg.DescribeUserSCRAMCredentialsRequestUser{}
		for _, name := range users {
			u := kmsg.NewDescribeUserSCRAMCredentialsRequestUser()
			u.Name = name
			req.Users = append(req.Users, u)
		}
		return req
	}
	versions(l, 0, 0, func(s *diff.Script, v int16) {
		all := request()
		all.Users = nil
		s.Say("all, null list").Ask(v, all)
		s.Say("all, empty list").Ask(v, request())
		s.Say("unknown").Ask(v, request("nobody"))
		s.Say("twice").Ask(v, request("nobody", "nobody"))
		s.Say("empty name").Ask(v, request(""))
	})
	return l.cases
}

func electLeaders() []diff.Case {
	l := &list{api: "elect_leaders"}
	request := func(kind int8, topic string, partitions ...int32) *kmsg.ElectLeadersRequest {
		req := kmsg.NewPtrElectLeadersRequest()
		req.ElectionType, req.TimeoutMillis = kind, 5_000
		t := kmsg.NewElectLeadersRequestTopic()
		t.Topic, t.Partitions = topic, partitions
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Say("topic").Ask(2, request(0, s.Name("none"), 0))
		s.Say("partitions").Ask(2, request(0, t, 5, -1))
		s.Say("type of election").Ask(2, request(7, t, 0))
		s.Fate("after it")
	})
	l.add("nothing", func(s *diff.Script) {
		req := request(0, "")
		req.Topics = []kmsg.ElectLeadersRequestTopic{}
		s.Ask(2, req)
	})
	versions(l, 0, 2, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		s.Say("preferred").Ask(v, request(0, t, 0, 1))
		if v > 0 {
			s.Say("unclean").Ask(v, request(1, t, 0))
		}
		all := request(0, "")
		all.Topics = nil
		s.Say("all").Ask(v, all)
	})
	return l.cases
}

func listReassignments() []diff.Case {
	l := &list{api: "list_partition_reassignments"}
	versions(l, 0, 0, func(s *diff.Script, v int16) {
		req := kmsg.NewPtrListPartitionReassignmentsRequest()
		req.TimeoutMillis = 5_000
		s.Say("all").Ask(v, req)
		t := kmsg.NewListPartitionReassignmentsRequestTopic()
		t.Topic, t.Partitions = s.Topic("t", 1), []int32{0, 7}
		req.Topics = append(req.Topics, t)
		s.Say("of a topic").Ask(v, req)
		req.Topics[0].Topic = s.Name("none")
		s.Say("of an unknown topic").Ask(v, req)
	})
	return l.cases
}

func describeLogDirs() []diff.Case {
	l := &list{api: "describe_log_dirs"}
	request := func(topic string, partitions ...int32) *kmsg.DescribeLogDirsRequest {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = topic, partitions
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Say("topic").Ask(4, request(s.Name("none"), 0))
		s.Say("partition").Ask(4, request(t, 7))
		req := request(t)
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
		s.Say("empty list").Ask(4, req)
	})
	l.add("all", func(s *diff.Script) {
		s.Topic("t", 2)
		req := kmsg.NewPtrDescribeLogDirsRequest()
		s.Ask(4, req)
	})
	versions(l, 1, 5, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		fill(s, t, 3)
		s.Ask(v, request(t, 0, 1))
	})
	return l.cases
}
