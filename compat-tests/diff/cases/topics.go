package cases

import (
	"strings"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newTopic describes a topic to create; configs are names and values in turn.
func newTopic(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	return t
}

// assigned places a topic's partitions by hand, the n-th list being partition first+n's replicas.
func assigned(name string, first int32, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	t := newTopic(name, -1, -1)
	for i, r := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = first+int32(i), r
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	return t
}

func createTopics(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.Topics = 10_000, topics
	return req
}

func createTopicsCases() []diff.Case {
	l := &list{api: "create_topics"}
	bad := func(name string, topics func(s *diff.Script) []kmsg.CreateTopicsRequestTopic) {
		l.add(name, func(s *diff.Script) { s.Ask(7, createTopics(topics(s)...)) })
	}
	one := func(name string, topic func(name string) kmsg.CreateTopicsRequestTopic) {
		bad(name, func(s *diff.Script) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{topic(s.Name("t"))}
		})
	}
	l.add("name-illegal", func(s *diff.Script) {
		for _, name := range []string{"", ".", "..", "a b", "a/b", "ä", strings.Repeat("a", 250), "a:b"} {
			s.Say("%d bytes", len(name)).Ask(7, createTopics(newTopic(name, 1, 1)))
		}
	})
	l.add("name-longest", func(s *diff.Script) {
		name := s.Name(strings.Repeat("a", 240))
		s.Ask(7, createTopics(newTopic(name, 1, 1)))
	})
	l.add("name-collides", func(s *diff.Script) {
		s.Topic("a.b", 1)
		s.Ask(7, createTopics(newTopic(s.Name("a_b"), 1, 1)))
	})
	l.add("exists", func(s *diff.Script) {
		s.Topic("t", 1)
		s.Ask(7, createTopics(newTopic(s.Name("t"), 1, 1)))
		s.Say("v2").Ask(2, createTopics(newTopic(s.Name("t"), 1, 1)))
	})
	l.add("internal-name-exists", func(s *diff.Script) {
		s.Group("g")
		s.Ask(7, createTopics(newTopic("__consumer_offsets", 1, 1)))
	})
	bad("name-twice", func(s *diff.Script) []kmsg.CreateTopicsRequestTopic {
		return []kmsg.CreateTopicsRequestTopic{newTopic(s.Name("t"), 1, 1), newTopic(s.Name("u"), 1, 1), newTopic(s.Name("t"), 2, 1)}
	})
	one("partitions-zero", func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, 0, 1) })
	one("partitions-negative", func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, -2, 1) })
	one("partitions-too-many", func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, 20_000, 1) })
	one("replicas-zero", func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, 1, 0) })
	one("replicas-negative", func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, 1, -2) })
	one("replicas-more-than-brokers", func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, 1, 2) })
	one("assignment-unknown-broker", func(t string) kmsg.CreateTopicsRequestTopic { return assigned(t, 0, []int32{77}) })
	one("assignment-broker-twice", func(t string) kmsg.CreateTopicsRequestTopic { return assigned(t, 0, []int32{1, 1}) })
	one("assignment-negative-broker", func(t string) kmsg.CreateTopicsRequestTopic { return assigned(t, 0, []int32{-1}) })
	one("assignment-empty", func(t string) kmsg.CreateTopicsRequestTopic { return assigned(t, 0, []int32{}) })
	one("assignment-not-from-0", func(t string) kmsg.CreateTopicsRequestTopic { return assigned(t, 1, []int32{1}) })
	one("assignment-partition-twice", func(t string) kmsg.CreateTopicsRequestTopic {
		a := assigned(t, 0, []int32{1}, []int32{1})
		a.ReplicaAssignment[1].Partition = 0
		return a
	})
	one("assignment-of-different-lengths", func(t string) kmsg.CreateTopicsRequestTopic {
		return assigned(t, 0, []int32{1}, []int32{1, 2})
	})
	one("assignment-with-partition-count", func(t string) kmsg.CreateTopicsRequestTopic {
		a := assigned(t, 0, []int32{1})
		a.NumPartitions = 1
		return a
	})
	one("assignment-with-replication-factor", func(t string) kmsg.CreateTopicsRequestTopic {
		a := assigned(t, 0, []int32{1})
		a.ReplicationFactor = 1
		return a
	})
	one("assignment-good", func(t string) kmsg.CreateTopicsRequestTopic { return assigned(t, 0, []int32{1}, []int32{1}) })
	for name, c := range map[string][]string{
		"config-unknown": {"no.such.key", "1"}, "config-not-a-number": {"retention.ms", "abc"},
		"config-out-of-range": {"retention.ms", "-2"}, "config-not-in-list": {"compression.type", "lzma"},
		"config-boolean-wrong": {"unclean.leader.election.enable", "yes"}, "config-empty-value": {"cleanup.policy", ""},
		"config-list-wrong": {"cleanup.policy", "compact,nonsense"}, "config-list-repeats": {"cleanup.policy", "compact,compact"},
		"config-broker-key": {"log.retention.ms", "1"}, "config-int-too-large": {"segment.bytes", "2147483648"},
		"config-segment-bytes-small": {"segment.bytes", "10"}, "config-double": {"min.cleanable.dirty.ratio", "1.5"},
		"config-spaces": {"retention.ms", " 1000 "}, "config-remote-storage": {"remote.storage.enable", "true"},
		"config-local-retention-above-retention": {"retention.ms", "1000", "local.retention.ms", "2000"},
		"config-lag-min-above-max":               {"min.compaction.lag.ms", "10", "max.compaction.lag.ms", "5"},
		"config-throttled-replicas-wrong":        {"leader.replication.throttled.replicas", "x"},
		"config-name-empty":                      {"", "1"},
		"config-removed-format-version":          {"message.format.version", "3.0"},
		"config-compression-level-wrong":         {"compression.gzip.level", "10"},
	} {
		one(name, func(t string) kmsg.CreateTopicsRequestTopic { return newTopic(t, 1, 1, c...) })
	}
	one("config-null-value", func(t string) kmsg.CreateTopicsRequestTopic {
		topic := newTopic(t, 1, 1, "retention.ms", "")
		topic.Configs[0].Value = nil
		return topic
	})
	one("config-twice", func(t string) kmsg.CreateTopicsRequestTopic {
		return newTopic(t, 1, 1, "retention.ms", "1000", "retention.ms", "2000")
	})
	one("configs-equal-to-defaults-A04", func(t string) kmsg.CreateTopicsRequestTopic {
		return newTopic(t, -1, -1, "cleanup.policy", "delete", "retention.ms", "604800000", "max.message.bytes", "2000000")
	})
	l.add("validate-only", func(s *diff.Script) {
		req := createTopics(newTopic(s.Name("t"), 3, 1, "cleanup.policy", "compact"), newTopic(s.Name("u"), 0, 1))
		req.ValidateOnly = true
		for _, v := range []int16{2, 5, 7} {
			s.Ask(v, req)
		}
		s.Say("it wasn't made").Ask(12, diff.MetadataOf(s.Name("t")))
	})
	l.add("good-and-bad-together", func(s *diff.Script) {
		s.Ask(7, createTopics(newTopic(s.Name("good"), 2, 1), newTopic("bad name!", 1, 1), newTopic(s.Name("many"), 1, 9)))
	})
	l.add("timeout-zero", func(s *diff.Script) {
		req := createTopics(newTopic(s.Name("t"), 1, 1))
		req.TimeoutMillis = 0
		s.Ask(7, req)
	})
	l.add("nothing", func(s *diff.Script) { s.Ask(7, createTopics()) })
	l.add("recreate-C10", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for range 3 {
			s.Ask(6, deleteTopics(t))
			s.Ask(7, createTopics(newTopic(t, 1, 1)))
		}
	})
	versions(l, 2, 7, func(s *diff.Script, v int16) {
		s.Ask(v, createTopics(newTopic(s.Name("t"), 2, 1, "retention.ms", "1000"), newTopic("bad name!", 1, 1)))
		s.AwaitTopic(s.Name("t"), 2)
		if v >= 4 {
			s.Say("defaults").Ask(v, createTopics(newTopic(s.Name("u"), -1, -1)))
		}
	})
	return l.cases
}

// deleteTopics deletes by name, in the fields of all versions.
func deleteTopics(names ...string) *kmsg.DeleteTopicsRequest {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis, req.TopicNames = 10_000, names
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func deleteTopicsCases() []diff.Case {
	l := &list{api: "delete_topics"}
	byID := func(id [16]byte, name *string) *kmsg.DeleteTopicsRequest {
		req := deleteTopics()
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.TopicID, t.Topic = id, name
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("unknown", func(s *diff.Script) {
		s.Ask(6, deleteTopics(s.Name("none")))
		s.Say("v1").Ask(1, deleteTopics(s.Name("none")))
		s.Say("illegal name").Ask(6, deleteTopics("bad name!"))
		s.Say("empty name").Ask(6, deleteTopics(""))
		s.Say("nothing").Ask(6, deleteTopics())
	})
	l.add("by-id", func(s *diff.Script) {
		t := s.Topic("t", 1)
		id := s.TopicID(t)
		s.Say("unknown id").Ask(6, byID(noID, nil))
		s.Say("neither id nor name").Ask(6, byID([16]byte{}, nil))
		s.Say("id and name").Ask(6, byID(id, &t))
		s.Ask(6, byID(id, nil))
		s.AwaitNoTopic(t)
		s.Say("again").Ask(6, byID(id, nil))
	})
	l.add("twice-in-request", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Say("name twice").Ask(6, deleteTopics(t, t))
		req := byID(s.TopicID(t), nil)
		req.Topics = append(req.Topics, deleteTopics(t).Topics...)
		s.Say("id and its name").Ask(6, req)
		s.Say("it is still there").Ask(12, diff.MetadataOf(t))
	})
	l.add("good-and-bad-together", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(6, deleteTopics(s.Name("none"), t))
	})
	versions(l, 1, 6, func(s *diff.Script, v int16) {
		t := s.Topic("t", 1)
		s.Ask(v, deleteTopics(t, s.Name("none")))
		s.AwaitNoTopic(t)
		s.Say("again").Ask(v, deleteTopics(t))
	})
	return l.cases
}

func createPartitions() []diff.Case {
	l := &list{api: "create_partitions"}
	request := func(topic string, count int32, assignment ...[]int32) *kmsg.CreatePartitionsRequest {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis = 10_000
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = topic, count
		for _, r := range assignment {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = r
			t.Assignment = append(t.Assignment, a)
		}
		req.Topics = append(req.Topics, t)
		return req
	}
	l.add("counts-wrong", func(s *diff.Script) {
		t := s.Topic("t", 3)
		for _, n := range []int32{3, 2, 0, -1} {
			s.Say("%d of 3", n).Ask(3, request(t, n))
		}
		s.Say("too many").Ask(3, request(t, 50_000))
	})
	l.add("unknown", func(s *diff.Script) {
		s.Ask(3, request(s.Name("none"), 3))
		s.Say("illegal name").Ask(3, request("bad name!", 3))
		s.Say("nothing").Ask(3, kmsg.NewPtrCreatePartitionsRequest())
	})
	l.add("assignment-wrong", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Say("too few").Ask(3, request(t, 3, []int32{1}))
		s.Say("too many").Ask(3, request(t, 2, []int32{1}, []int32{1}))
		s.Say("unknown broker").Ask(3, request(t, 2, []int32{77}))
		s.Say("two replicas for a factor of one").Ask(3, request(t, 2, []int32{1, 2}))
		s.Say("broker twice").Ask(3, request(t, 2, []int32{1, 1}))
		s.Say("empty").Ask(3, request(t, 2, []int32{}))
		s.Say("good").Ask(3, request(t, 2, []int32{1}))
	})
	l.add("topic-twice", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := request(t, 2)
		req.Topics = append(req.Topics, request(t, 3).Topics...)
		s.Ask(3, req)
	})
	l.add("validate-only", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := request(t, 2)
		req.ValidateOnly = true
		s.Ask(3, req)
		s.Say("still one").Ask(12, diff.MetadataOf(t))
	})
	l.add("configs-stay-S16", func(s *diff.Script) {
		t := s.Topic("t", 1, "cleanup.policy", "compact")
		s.Ask(3, request(t, 2))
		s.AwaitTopic(t, 2)
		s.Ask(4, describeConfigs(resource(2, t, "cleanup.policy")))
	})
	versions(l, 0, 3, func(s *diff.Script, v int16) {
		t := s.Topic("t", 1)
		req := request(t, 3)
		req.Topics = append(req.Topics, request(s.Name("none"), 3).Topics...)
		s.Ask(v, req)
		s.AwaitTopic(t, 3)
		s.Ask(12, diff.MetadataOf(t))
	})
	return l.cases
}
