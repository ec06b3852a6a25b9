package cases

import (
	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadata() []diff.Case {
	l := &list{api: "metadata"}
	byID := func(id [16]byte, name *string) *kmsg.MetadataRequest {
		req := diff.MetadataOf()
		t := kmsg.NewMetadataRequestTopic()
		t.TopicID, t.Topic = id, name
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("unknown", func(s *diff.Script) {
		for _, v := range []int16{4, 9, 12, 13} {
			s.Ask(v, diff.MetadataOf(s.Name("none")))
		}
	})
	l.add("name-illegal", func(s *diff.Script) {
		for _, v := range []int16{1, 4, 12} {
			s.Say("not to be created").Ask(v, diff.MetadataOf("bad name!"))
			req := diff.MetadataOf("bad name!")
			req.AllowAutoTopicCreation = true
			s.Say("to be created").Ask(v, req)
		}
		s.Say("empty").Ask(12, diff.MetadataOf(""))
	})
	l.add("created-on-demand-A01", func(s *diff.Script) {
		t := s.Name("t")
		s.Say("not allowed").Ask(12, diff.MetadataOf(t))
		req := diff.MetadataOf(t)
		req.AllowAutoTopicCreation = true
		s.Say("allowed").Ask(12, req)
		s.AwaitTopic(t, 1)
		s.Say("after a while").Ask(12, diff.MetadataOf(t))
	})
	l.add("created-on-demand-by-old-version", func(s *diff.Script) {
		t := s.Name("t")
		s.Say("versions below 4 always create").Ask(1, diff.MetadataOf(t))
		s.AwaitTopic(t, 1)
		s.Ask(1, diff.MetadataOf(t))
	})
	l.add("by-id", func(s *diff.Script) {
		t := s.Topic("t", 1)
		id := s.TopicID(t)
		for _, v := range []int16{10, 11, 12, 13} {
			s.Say("known").Ask(v, byID(id, nil))
			s.Say("unknown").Ask(v, byID(noID, nil))
		}
		s.Say("id and name").Ask(12, byID(id, &t))
		s.Say("neither").Ask(12, byID([16]byte{}, nil))
	})
	l.add("several", func(s *diff.Script) {
		t, u := s.Topic("t", 3), s.Topic("u", 1)
		s.Ask(12, diff.MetadataOf(t, s.Name("none"), u))
		s.Say("one twice").Ask(12, diff.MetadataOf(t, t))
	})
	l.add("none-and-all", func(s *diff.Script) {
		s.Topic("t", 1)
		for _, v := range []int16{0, 1, 9, 12} {
			req := diff.MetadataOf()
			req.Topics = nil
			s.Say("null list").Ask(v, req)
			req.Topics = []kmsg.MetadataRequestTopic{}
			s.Say("empty list").Ask(v, req)
		}
	})
	l.add("authorized-operations-A07", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, v := range []int16{8, 10, 11, 12} {
			req := diff.MetadataOf(t)
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = true, v <= 10
			s.Ask(v, req)
		}
		req := diff.MetadataOf(s.Name("none"))
		req.IncludeTopicAuthorizedOperations = true
		s.Say("of an unknown topic").Ask(12, req)
	})
	l.add("internal-topic", func(s *diff.Script) {
		s.Group("g")
		s.Adopt("__consumer_offsets")
		s.AwaitTopic("__consumer_offsets", 50)
		s.Ask(12, diff.MetadataOf("__consumer_offsets"))
	})
	l.add("recreated-topic-has-new-id-P24", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(12, diff.MetadataOf(t))
		old := s.TopicID(t)
		s.Quiet(6, deleteTopics(t))
		s.AwaitNoTopic(t)
		s.Say("gone").Ask(12, diff.MetadataOf(t))
		s.Quiet(7, createTopics(newTopic(t, 2, 1)))
		s.AwaitTopic(t, 2)
		s.Say("new").Ask(12, diff.MetadataOf(t))
		s.Say("old id").Ask(12, byID(old, nil))
	})
	versions(l, 0, 13, func(s *diff.Script, v int16) {
		s.Ask(v, diff.MetadataOf(s.Topic("t", 2)))
	})
	return append(l.cases, describeTopicPartitions()...)
}

func describeTopicPartitions() []diff.Case {
	l := &list{api: "describe_topic_partitions"}
	request := func(limit int32, names ...string) *kmsg.DescribeTopicPartitionsRequest {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = limit
		for _, name := range names {
			t := kmsg.NewDescribeTopicPartitionsRequestTopic()
			t.Topic = name
			req.Topics = append(req.Topics, t)
		}
		return req
	}
	withCursor := func(req *kmsg.DescribeTopicPartitionsRequest, topic string, partition int32) *kmsg.DescribeTopicPartitionsRequest {
		c := kmsg.NewDescribeTopicPartitionsRequestCursor()
		c.Topic, c.Partition = topic, partition
		req.Cursor = &c
		return req
	}
	l.add("unknown", func(s *diff.Script) {
		s.Ask(0, request(2000, s.Name("none")))
		s.Say("illegal name").Ask(0, request(2000, "bad name!"))
		s.Say("empty name").Ask(0, request(2000, ""))
	})
	l.add("limits", func(s *diff.Script) {
		a, b := s.Topic("a", 3), s.Topic("b", 2)
		for _, limit := range []int32{4, 3, 1, 5, 0, -1} {
			s.Say("limit %d", limit).Ask(0, request(limit, a, b))
		}
	})
	l.add("cursors", func(s *diff.Script) {
		a, b := s.Topic("a", 3), s.Topic("b", 2)
		s.Say("inside").Ask(0, withCursor(request(10, a, b), a, 1))
		s.Say("second topic").Ask(0, withCursor(request(10, a, b), b, 0))
		s.Say("past the last partition").Ask(0, withCursor(request(10, a, b), a, 3))
		s.Say("topic that wasn't asked for").Ask(0, withCursor(request(10, b), a, 1))
		s.Say("unknown topic").Ask(0, withCursor(request(10, a, b), s.Name("aa"), 0))
		s.Say("negative partition").Ask(0, withCursor(request(10, a, b), a, -1))
	})
	l.add("order", func(s *diff.Script) {
		b, a := s.Topic("b", 1), s.Topic("a", 1)
		s.Say("asked in reverse").Ask(0, request(10, b, a, s.Name("c")))
		s.Say("one twice").Ask(0, request(10, a, a))
	})
	versions(l, 0, 0, func(s *diff.Script, v int16) { s.Ask(v, request(2000, s.Topic("t", 2))) })
	return l.cases
}

func describeCluster() []diff.Case {
	l := &list{api: "describe_cluster"}
	l.add("endpoint-types", func(s *diff.Script) {
		for _, kind := range []int8{2, 0, 3} {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = kind
			s.Say("type %d", kind).Ask(1, req)
		}
	})
	l.add("authorized-operations-A07", func(s *diff.Script) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.IncludeClusterAuthorizedOperations = true
		s.Ask(0, req)
		s.Ask(2, req)
	})
	l.add("fenced-brokers", func(s *diff.Script) {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.IncludeFencedBrokers = true
		s.Ask(2, req)
	})
	versions(l, 0, 2, func(s *diff.Script, v int16) { s.Ask(v, kmsg.NewPtrDescribeClusterRequest()) })
	return l.cases
}
