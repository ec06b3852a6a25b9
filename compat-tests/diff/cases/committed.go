package cases

import (
	"fmt"
	"strings"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offset is a commit for one partition.
func offset(partition int32, n int64) kmsg.OffsetCommitRequestTopicPartition {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = partition, n, str("")
	return p
}

func topicOffsets(topic string, partitions ...kmsg.OffsetCommitRequestTopicPartition) kmsg.OffsetCommitRequestTopic {
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	return t
}

// commit commits as a member, or as nobody with an empty member and generation -1.
func commit(group, member string, generation int32, topics ...kmsg.OffsetCommitRequestTopic) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.RetentionTimeMillis = group, member, generation, -1
	req.Topics = topics
	return req
}

// offsetFetch asks for one topic's partitions, in the fields of all versions.
func offsetFetch(group, topic string, partitions ...int32) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	req.Groups = append(req.Groups, groupOffsets(group, topic, partitions...))
	return req
}

func groupOffsets(group, topic string, partitions ...int32) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = topic, partitions
	g.Topics = append(g.Topics, t)
	return g
}

func offsetCommit() []diff.Case {
	l := &list{api: "offset_commit"}
	l.add("members-wrong", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		one := topicOffsets(t, offset(0, 1))
		s.Say("unknown group, with a generation").Ask(8, commit(g, "nobody", 1, one))
		s.Say("unknown group, member without a generation").Ask(8, commit(g, "nobody", -1, one))
		s.Say("empty group, with a generation").Ask(8, commit("", "nobody", 1, one))
		id := stable(s, g)
		s.Say("unknown member").Ask(8, commit(g, "nobody", 1, one))
		s.Say("nobody, though there are members").Ask(8, commit(g, "", -1, one))
		s.Say("old generation").Ask(8, commit(g, id, 0, one))
		s.Say("future generation").Ask(8, commit(g, id, 2, one))
		s.Say("generation -1 of a member").Ask(8, commit(g, id, -1, one))
		s.Say("right").Ask(8, commit(g, id, 1, one))
		s.Quiet(5, leave(g, id))
		s.Say("left").Ask(8, commit(g, id, 1, one))
		s.Say("nobody, group empty").Ask(8, commit(g, "", -1, one))
	})
	l.alone("group-without-a-name", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Adopt("")
		s.AwaitCoordinator("")
		s.Say("Kafka takes it").Ask(8, commit("", "", -1, topicOffsets(t, offset(0, 1))))
		s.Ask(7, offsetFetch("", t, 0))
		s.Ask(5, kmsg.NewPtrListGroupsRequest())
		s.Ask(6, describeGroups(""))
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{""}
		s.Ask(2, req)
	})
	l.add("during-rebalance", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		id := stable(s, g)
		s.On("b").Send(3, join(g, ""))
		s.AwaitState(g, "PreparingRebalance")
		s.Say("PreparingRebalance").Ask(8, commit(g, id, 1, topicOffsets(t, offset(0, 1))))
	})
	l.add("before-sync", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		id := member(s, s.Peer, g)
		s.Say("CompletingRebalance").Ask(8, commit(g, id, 1, topicOffsets(t, offset(0, 1))))
	})
	l.add("partitions-wrong-P26", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		s.Ask(8, commit(g, "", -1,
			topicOffsets(s.Name("none"), offset(0, 1)), topicOffsets(t, offset(5, 1), offset(0, 1), offset(-1, 1)),
			topicOffsets("bad name!", offset(0, 1)), topicOffsets("", offset(0, 1)),
		))
		s.Say("nothing").Ask(8, commit(g, "", -1))
		s.Say("no partitions").Ask(8, commit(g, "", -1, topicOffsets(t)))
		s.Say("partition twice").Ask(8, commit(g, "", -1, topicOffsets(t, offset(0, 1), offset(0, 2))))
		s.Ask(7, offsetFetch(g, t, 0))
	})
	l.add("offsets-wrong", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		for _, n := range []int64{-1, -2, 1 << 60} {
			s.Say("offset %d", n).Ask(8, commit(g, "", -1, topicOffsets(t, offset(0, n))))
		}
		s.Ask(7, offsetFetch(g, t, 0))
	})
	l.add("metadata-sizes", func(s *diff.Script) {
		t, g := s.Topic("t", 2), s.Group("g")
		with := func(partition int32, metadata *string) kmsg.OffsetCommitRequestTopicPartition {
			p := offset(partition, 1)
			p.Metadata = metadata
			return p
		}
		s.Say("4096 and 4097 bytes").Ask(8, commit(g, "", -1, topicOffsets(t, with(0, str(strings.Repeat("m", 4096))), with(1, str(strings.Repeat("m", 4097))))))
		s.Say("null").Ask(8, commit(g, "", -1, topicOffsets(t, with(0, nil))))
		s.Ask(7, offsetFetch(g, t, 0, 1))
	})
	l.add("leader-epochs-C06-C13", func(s *diff.Script) {
		t, g := s.Topic("t", 2), s.Group("g")
		p := offset(0, 3)
		p.LeaderEpoch = 5
		s.Ask(8, commit(g, "", -1, topicOffsets(t, p, offset(1, 4))))
		for _, v := range []int16{4, 5, 7} {
			s.Ask(v, offsetFetch(g, t, 0, 1))
		}
	})
	l.add("topic-ids-P24", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		known, unknown := topicOffsets("", offset(0, 1)), topicOffsets("", offset(0, 1), offset(1, 2))
		known.TopicID, unknown.TopicID = s.TopicID(t), noID
		s.Ask(10, commit(g, "", -1, unknown, known))
		s.Say("zero id").Ask(10, commit(g, "", -1, topicOffsets("", offset(0, 1))))
	})
	l.add("simple-consumer", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		s.Ask(8, commit(g, "", -1, topicOffsets(t, offset(0, 42))))
		s.Ask(7, offsetFetch(g, t, 0))
		s.Say("a member joins such a group").Ask(3, join(g, ""))
		s.Say("nobody's commit is now refused").Ask(8, commit(g, "", -1, topicOffsets(t, offset(0, 43))))
	})
	versions(l, 2, 10, func(s *diff.Script, v int16) {
		t, g := s.Topic("t", 2), s.Group("g")
		topic := topicOffsets(t, offset(0, 7), offset(1, 8))
		topic.TopicID = s.TopicID(t)
		s.Ask(v, commit(g, "", -1, topic))
		s.Say("unknown member").Ask(v, commit(g, "nobody", 3, topic))
		s.Ask(7, offsetFetch(g, t, 0, 1))
	})
	return l.cases
}

func offsetFetchCases() []diff.Case {
	l := &list{api: "offset_fetch"}
	l.add("unknown", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		for _, v := range []int16{1, 2, 7, 8, 9} {
			s.Say("group without offsets").Ask(v, offsetFetch(g, t, 0))
			s.Say("unknown topic").Ask(v, offsetFetch(g, s.Name("none"), 0))
			s.Say("unknown partitions").Ask(v, offsetFetch(g, t, 5, -1))
			s.Say("empty group").Ask(v, offsetFetch("", t, 0))
		}
	})
	l.add("all-and-none", func(s *diff.Script) {
		t, u, g := s.Topic("t", 2), s.Topic("u", 1), s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7)), topicOffsets(u, offset(0, 9))))
		for _, v := range []int16{2, 5, 7, 8, 9} {
			req := offsetFetch(g, t, 0)
			req.Topics, req.Groups[0].Topics = nil, nil
			s.Say("null list").Ask(v, req)
			req.Topics, req.Groups[0].Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
			s.Say("empty list").Ask(v, req)
		}
		s.Say("all of an unknown group").Ask(2, func() *kmsg.OffsetFetchRequest {
			req := offsetFetch(s.Name("none"), t)
			req.Topics = nil
			return req
		}())
	})
	l.add("several-groups", func(s *diff.Script) {
		t, g, h := s.Topic("t", 1), s.Group("g"), s.Group("h")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		req := offsetFetch(g, t, 0)
		req.Groups = append(req.Groups, groupOffsets(h, t, 0), groupOffsets("", t, 0))
		s.Ask(8, req)
		req.Groups = nil
		s.Say("no groups").Ask(8, req)
	})
	l.add("members-and-epochs", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		id := stable(s, g)
		s.Quiet(8, commit(g, id, 1, topicOffsets(t, offset(0, 7))))
		for _, m := range []struct {
			member *string
			epoch  int32
		}{{nil, -1}, {&id, 1}, {&id, 2}, {str("nobody"), 1}, {str(""), -1}} {
			req := offsetFetch(g, t, 0)
			req.Groups[0].MemberID, req.Groups[0].MemberEpoch = m.member, m.epoch
			s.Say("epoch %d", m.epoch).Ask(9, req)
		}
	})
	l.add("topic-ids", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		req := offsetFetch(g, "", 0)
		req.Groups[0].Topics[0].TopicID = noID
		s.Say("unknown").Ask(10, req)
		req.Groups[0].Topics[0].TopicID = s.TopicID(t)
		s.Say("known").Ask(10, req)
		req.Groups[0].Topics = nil
		s.Say("all").Ask(10, req)
	})
	l.add("after-topic-deletion", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		s.Quiet(6, deleteTopics(t))
		s.AwaitNoTopic(t)
		s.Until(func(r kmsg.Response) bool {
			return r.(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset == -1
		}, 7, offsetFetch(g, t, 0))
	})
	l.add("stable-required", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		req := offsetFetch(g, t, 0)
		req.RequireStable = true
		s.Ask(7, req)
		s.Ask(8, req)
	})
	versions(l, 1, 10, func(s *diff.Script, v int16) {
		t, g := s.Topic("t", 2), s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		req := offsetFetch(g, t, 0, 1)
		req.Groups[0].Topics[0].TopicID = s.TopicID(t)
		s.Ask(v, req)
	})

	d := &list{api: "offset_delete"}
	remove := func(group, topic string, partitions ...int32) *kmsg.OffsetDeleteRequest {
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = group
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = topic
		for _, n := range partitions {
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = n
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	d.add("errors", func(s *diff.Script) {
		t, g := s.Topic("t", 2), s.Group("g")
		s.Say("unknown group").Ask(0, remove(g, t, 0))
		s.Say("empty group").Ask(0, remove("", t, 0))
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		s.Say("partition without an offset").Ask(0, remove(g, t, 1))
		s.Say("unknown partitions").Ask(0, remove(g, t, 9, -1))
		s.Say("unknown topic").Ask(0, remove(g, s.Name("none"), 0))
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = g
		s.Say("nothing").Ask(0, req)
	})
	d.add("group-with-members", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		id := s.Quiet(3, join(g, "", protocol("range", consumerSubscription(t)))).(*kmsg.JoinGroupResponse).MemberID
		s.Quiet(3, sync(g, id, 1, id, "a"))
		s.Quiet(8, commit(g, id, 1, topicOffsets(t, offset(0, 7))))
		s.Say("subscribed").Ask(0, remove(g, t, 0))
		u := s.Topic("u", 1)
		s.Quiet(8, commit(g, id, 1, topicOffsets(u, offset(0, 7))))
		s.Say("not subscribed").Ask(0, remove(g, u, 0))
	})
	d.add("group-of-other-protocol", func(s *diff.Script) {
		t, g := s.Topic("t", 1), s.Group("g")
		req := join(g, "", protocol("p", "x"))
		req.ProtocolType = "connect"
		s.Quiet(3, req)
		s.Ask(0, remove(g, t, 0))
	})
	versions(d, 0, 0, func(s *diff.Script, v int16) {
		t, g := s.Topic("t", 1), s.Group("g")
		s.Quiet(8, commit(g, "", -1, topicOffsets(t, offset(0, 7))))
		s.Ask(v, remove(g, t, 0))
		s.Ask(7, offsetFetch(g, t, 0))
		s.Say("again").Ask(v, remove(g, t, 0))
	})
	return append(l.cases, d.cases...)
}

// consumerSubscription is what a consumer's member metadata holds.
func consumerSubscription(topics ...string) string {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, topics
	return string(m.AppendTo(nil))
}

func findCoordinator() []diff.Case {
	l := &list{api: "find_coordinator"}
	request := func(kind int8, keys ...string) *kmsg.FindCoordinatorRequest {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = kind, keys
		if len(keys) > 0 {
			req.CoordinatorKey = keys[0]
		}
		return req
	}
	l.add("errors", func(s *diff.Script) {
		g := s.Group("g")
		for i, kind := range []int8{3, -1} {
			for _, v := range []int16{1, 4, 6} {
				p := s.On(fmt.Sprintf("kind-%d-%d", i, v))
				s.Say("type %d", kind)
				p.Ask(v, request(kind, g))
			}
		}
		s.Say("empty key").Ask(3, request(0, ""))
		s.Say("empty key").Ask(4, request(0, ""))
		s.Say("no keys").Ask(4, request(0))
		s.Say("share type before v6").Ask(5, request(2, "g:id:0"))
	})
	l.add("names-a-listed-broker-P33", func(s *diff.Script) {
		g := s.Group("g")
		s.Ask(4, request(0, g))
		req := diff.MetadataOf()
		req.Topics = []kmsg.MetadataRequestTopic{}
		s.Ask(12, req)
	})
	l.add("several", func(s *diff.Script) {
		s.Ask(4, request(0, s.Group("g"), s.Group("h"), ""))
		s.Say("one twice").Ask(4, request(0, s.Group("g"), s.Group("g")))
	})
	versions(l, 0, 6, func(s *diff.Script, v int16) { s.Ask(v, request(0, s.Group("g"))) })
	return l.cases
}
