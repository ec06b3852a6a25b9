package cases

import (
	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Types of configuration resources.
const (
	ofTopic         = 2
	ofBroker        = 4
	ofLogger        = 8
	ofClientMetrics = 16
	ofGroup         = 32
)

// resource asks for the named keys of a resource, or for all.
func resource(kind int8, name string, keys ...string) kmsg.DescribeConfigsRequestResource {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceType(kind), name, keys
	return r
}

// describeConfigs asks with synonyms.
func describeConfigs(resources ...kmsg.DescribeConfigsRequestResource) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources, req.IncludeSynonyms = resources, true
	return req
}

func describeConfigsCases() []diff.Case {
	l := &list{api: "describe_configs"}
	l.add("unknown", func(s *diff.Script) {
		s.Say("no such topic").Ask(4, describeConfigs(resource(ofTopic, s.Name("none"))))
		s.Say("no such topic, v1").Ask(1, describeConfigs(resource(ofTopic, s.Name("none"))))
		s.Say("illegal topic name").Ask(4, describeConfigs(resource(ofTopic, "bad name!")))
		s.Say("empty topic name").Ask(4, describeConfigs(resource(ofTopic, "")))
		s.Say("no such broker").Ask(4, describeConfigs(resource(ofBroker, "77")))
		s.Say("broker name is no number").Ask(4, describeConfigs(resource(ofBroker, "x")))
		s.Say("no such type").Ask(4, describeConfigs(resource(3, "x")))
		s.Say("type 0").Ask(4, describeConfigs(resource(0, "x")))
		s.Say("logger of another broker").Ask(4, describeConfigs(resource(ofLogger, "77")))
		s.Say("logger without a broker").Ask(4, describeConfigs(resource(ofLogger, "")))
		s.Say("empty group").Ask(4, describeConfigs(resource(ofGroup, "")))
		s.Say("empty client metrics").Ask(4, describeConfigs(resource(ofClientMetrics, "")))
		s.Say("nothing").Ask(4, describeConfigs())
	})
	l.add("some-keys-A03", func(s *diff.Script) {
		t := s.Topic("t", 1, "retention.ms", "1000")
		s.Ask(4, describeConfigs(resource(ofTopic, t, "retention.ms", "cleanup.policy", "no.such.key")))
		s.Say("an empty list of keys").Ask(4, describeConfigs(resource(ofTopic, t, []string{}...)))
		s.Say("of the broker").Ask(4, describeConfigs(resource(ofBroker, "1", "log.retention.hours", "log.retention.ms", "log.cleanup.policy", "compression.type", "num.io.threads", "message.max.bytes", "no.such.key")))
	})
	l.add("no-keys-asked", func(s *diff.Script) {
		r := resource(ofTopic, s.Topic("t", 1))
		r.ConfigNames = []string{}
		s.Ask(4, describeConfigs(r))
	})
	l.add("topic-set-A03-A05", func(s *diff.Script) {
		t := s.Topic("t", 1, "cleanup.policy", "compact,delete", "min.insync.replicas", "1", "compression.type", "zstd")
		s.Ask(4, describeConfigs(resource(ofTopic, t)))
	})
	l.add("several-resources", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(4, describeConfigs(resource(ofTopic, t, "retention.ms"), resource(ofBroker, "1", "num.io.threads"), resource(ofTopic, s.Name("none"))))
		s.Say("one twice").Ask(4, describeConfigs(resource(ofTopic, t, "retention.ms"), resource(ofTopic, t, "retention.bytes")))
	})
	l.add("group", func(s *diff.Script) { s.Ask(4, describeConfigs(resource(ofGroup, s.Name("g")))) })
	l.add("client-metrics", func(s *diff.Script) { s.Ask(4, describeConfigs(resource(ofClientMetrics, s.Name("m")))) })
	l.add("documentation", func(s *diff.Script) {
		req := describeConfigs(resource(ofTopic, s.Topic("t", 1), "retention.ms"))
		req.IncludeDocumentation = true
		s.Ask(4, req)
	})
	l.alone("broker-A03", func(s *diff.Script) { s.Ask(4, describeConfigs(resource(ofBroker, "1"))) })
	l.alone("broker-default", func(s *diff.Script) { s.Ask(4, describeConfigs(resource(ofBroker, ""))) })
	versions(l, 1, 4, func(s *diff.Script, v int16) {
		t := s.Topic("t", 1, "retention.ms", "1000")
		s.Ask(v, describeConfigs(resource(ofTopic, t)))
		req := describeConfigs(resource(ofTopic, t, "retention.ms", "segment.bytes"))
		req.IncludeSynonyms = false
		s.Say("without synonyms").Ask(v, req)
	})
	return l.cases
}

// set is a change of one key; del and others are the remaining operations.
type change struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

func set(key, value string) change      { return change{key, 0, &value} }
func del(key string) change             { return change{key, 1, nil} }
func appendTo(key, value string) change { return change{key, 2, &value} }
func subtract(key, value string) change { return change{key, 3, &value} }

// incrementally changes keys of one resource.
func incrementally(kind int8, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(kind), name
	for _, c := range changes {
		k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		k.Name, k.Op, k.Value = c.key, c.op, c.value
		r.Configs = append(r.Configs, k)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// alterConfigs replaces the keys of one resource.
func alterConfigs(kind int8, name string, changes ...change) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(kind), name
	for _, c := range changes {
		k := kmsg.NewAlterConfigsRequestResourceConfig()
		k.Name, k.Value = c.key, c.value
		r.Configs = append(r.Configs, k)
	}
	req.Resources = append(req.Resources, r)
	return req
}

// isSet says whether the first key of the first resource has a value.
func isSet(value string) func(kmsg.Response) bool {
	return func(resp kmsg.Response) bool {
		r := resp.(*kmsg.DescribeConfigsResponse).Resources
		return len(r) > 0 && len(r[0].Configs) > 0 && r[0].Configs[0].Value != nil && *r[0].Configs[0].Value == value
	}
}

func incrementalAlterConfigs() []diff.Case {
	l := &list{api: "incremental_alter_configs"}
	onTopic := func(name string, changes ...change) {
		l.add(name, func(s *diff.Script) { s.Ask(1, incrementally(ofTopic, s.Topic("t", 1), changes...)) })
	}
	onTopic("key-unknown", set("no.such.key", "1"))
	onTopic("value-wrong", set("retention.ms", "abc"))
	onTopic("value-out-of-range", set("segment.bytes", "1"))
	onTopic("value-null", change{"retention.ms", 0, nil})
	onTopic("key-twice", set("retention.ms", "1"), set("retention.ms", "2"))
	onTopic("key-set-and-deleted", set("retention.ms", "1"), del("retention.ms"))
	onTopic("key-empty", set("", "1"))
	onTopic("append-null", change{"cleanup.policy", 2, nil})
	onTopic("append-to-no-list", appendTo("retention.ms", "1"))
	onTopic("subtract-from-no-list", subtract("retention.ms", "1"))
	onTopic("append-wrong-value", appendTo("cleanup.policy", "nonsense"))
	onTopic("delete-what-isnt-set", del("retention.ms"))
	onTopic("delete-unknown-key", del("no.such.key"))
	onTopic("subtract-all", subtract("cleanup.policy", "delete"))
	onTopic("nothing")
	l.add("resource-unknown", func(s *diff.Script) {
		s.Say("topic").Ask(1, incrementally(ofTopic, s.Name("none"), set("retention.ms", "1")))
		s.Say("illegal topic name").Ask(1, incrementally(ofTopic, "bad name!", set("retention.ms", "1")))
		s.Say("empty topic name").Ask(1, incrementally(ofTopic, "", set("retention.ms", "1")))
		s.Say("broker").Ask(1, incrementally(ofBroker, "77", set("log.cleaner.threads", "1")))
		s.Say("broker name is no number").Ask(1, incrementally(ofBroker, "x", set("log.cleaner.threads", "1")))
		s.Say("type").Ask(1, incrementally(3, "x", set("a", "1")))
		s.Say("type 0").Ask(1, incrementally(0, "x", set("a", "1")))
		s.Say("nothing").Ask(1, kmsg.NewPtrIncrementalAlterConfigsRequest())
	})
	l.add("resource-twice", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := incrementally(ofTopic, t, set("retention.ms", "1"))
		req.Resources = append(req.Resources, incrementally(ofTopic, t, set("retention.ms", "2")).Resources...)
		s.Ask(1, req)
	})
	l.add("good-and-bad-together", func(s *diff.Script) {
		t, u := s.Topic("t", 1), s.Topic("u", 1)
		req := incrementally(ofTopic, t, set("retention.ms", "4321"))
		req.Resources = append(req.Resources, incrementally(ofTopic, u, set("retention.ms", "x")).Resources...)
		s.Ask(1, req)
		s.Until(isSet("4321"), 4, describeConfigs(resource(ofTopic, t, "retention.ms")))
		s.Ask(4, describeConfigs(resource(ofTopic, u, "retention.ms")))
	})
	l.add("list-operations", func(s *diff.Script) {
		t := s.Topic("t", 1)
		key := resource(ofTopic, t, "cleanup.policy")
		s.Say("append").Ask(1, incrementally(ofTopic, t, appendTo("cleanup.policy", "compact")))
		s.Until(isSet("delete,compact"), 4, describeConfigs(key))
		s.Say("append what is there").Ask(1, incrementally(ofTopic, t, appendTo("cleanup.policy", "compact")))
		s.Say("subtract").Ask(1, incrementally(ofTopic, t, subtract("cleanup.policy", "delete")))
		s.Until(isSet("compact"), 4, describeConfigs(key))
		s.Say("subtract what isn't there").Ask(1, incrementally(ofTopic, t, subtract("cleanup.policy", "delete")))
		s.Say("delete").Ask(1, incrementally(ofTopic, t, del("cleanup.policy")))
		s.Until(isSet("delete"), 4, describeConfigs(key))
	})
	l.add("validate-only", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := incrementally(ofTopic, t, set("retention.ms", "77"))
		req.ValidateOnly = true
		s.Ask(1, req)
		s.Ask(4, describeConfigs(resource(ofTopic, t, "retention.ms")))
		req = incrementally(ofTopic, t, set("retention.ms", "x"))
		req.ValidateOnly = true
		s.Say("wrong value").Ask(1, req)
	})
	l.add("effect-on-produce", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(1, incrementally(ofTopic, t, set("max.message.bytes", "50")))
		s.Until(isSet("50"), 4, describeConfigs(resource(ofTopic, t, "max.message.bytes")))
		s.Until(func(r kmsg.Response) bool {
			return r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode != 0
		}, 9, produceBatch(t, plain(s, 0, 2)))
	})
	l.alone("operation-unknown", func(s *diff.Script) {
		s.Ask(1, incrementally(ofTopic, s.Topic("t", 1), change{"retention.ms", 9, str("1")}))
	})
	l.alone("broker-keys", func(s *diff.Script) {
		defer func() {
			for _, key := range []string{"no.such.key", "retention.ms"} {
				s.Quiet(1, incrementally(ofBroker, "1", del(key)))
				s.Quiet(1, incrementally(ofBroker, "", del(key)))
			}
		}()
		for _, c := range []change{
			set("no.such.key", "1"), set("listeners", "PLAINTEXT://:1"), set("node.id", "5"), set("log.retention.ms", "abc"),
			set("num.io.threads", "1000"), set("retention.ms", "5"), set("message.max.bytes", "-1"),
		} {
			s.Say("%s of a broker", c.key).Ask(1, incrementally(ofBroker, "1", c))
			s.Say("%s of all brokers", c.key).Ask(1, incrementally(ofBroker, "", c))
		}
	})
	l.alone("broker-dynamic-defaults", func(s *diff.Script) {
		t := s.Topic("t", 1)
		key := describeConfigs(resource(ofTopic, t, "retention.ms"))
		s.Say("all brokers").Ask(1, incrementally(ofBroker, "", set("log.retention.ms", "86400000")))
		s.Until(isSet("86400000"), 4, key)
		s.Say("one broker").Ask(1, incrementally(ofBroker, "1", set("log.retention.ms", "96400000")))
		s.Until(isSet("96400000"), 4, key)
		s.Ask(4, describeConfigs(resource(ofBroker, "1", "log.retention.ms")))
		s.Ask(4, describeConfigs(resource(ofBroker, "")))
		s.Say("back").Ask(1, incrementally(ofBroker, "1", del("log.retention.ms")))
		s.Ask(1, incrementally(ofBroker, "", del("log.retention.ms")))
		s.Until(isSet("604800000"), 4, key)
	})
	l.add("group-and-client-metrics", func(s *diff.Script) {
		g, m := s.Name("g"), s.Name("m")
		s.Say("group").Ask(1, incrementally(ofGroup, g, set("consumer.session.timeout.ms", "50000")))
		s.Until(isSet("50000"), 4, describeConfigs(resource(ofGroup, g, "consumer.session.timeout.ms")))
		s.Say("group, out of range").Ask(1, incrementally(ofGroup, g, set("consumer.session.timeout.ms", "1")))
		s.Say("group, unknown key").Ask(1, incrementally(ofGroup, g, set("no.such.key", "1")))
		s.Say("empty group").Ask(1, incrementally(ofGroup, "", set("consumer.session.timeout.ms", "50000")))
		s.Say("client metrics").Ask(1, incrementally(ofClientMetrics, m, set("interval.ms", "5000")))
		s.Until(isSet("5000"), 4, describeConfigs(resource(ofClientMetrics, m, "interval.ms")))
		s.Say("client metrics, wrong").Ask(1, incrementally(ofClientMetrics, m, set("interval.ms", "1")))
		req := kmsg.NewPtrListConfigResourcesRequest()
		s.Say("they are listed").Ask(1, req)
		s.Quiet(1, incrementally(ofGroup, g, del("consumer.session.timeout.ms")))
		s.Quiet(1, incrementally(ofClientMetrics, m, del("interval.ms")))
	})
	versions(l, 0, 1, func(s *diff.Script, v int16) {
		t := s.Topic("t", 1)
		s.Ask(v, incrementally(ofTopic, t, set("retention.ms", "1234"), set("segment.bytes", "2000000")))
		s.Until(isSet("1234"), 4, describeConfigs(resource(ofTopic, t, "retention.ms")))
		s.Ask(v, incrementally(ofTopic, s.Name("none"), set("retention.ms", "1234")))
	})
	return append(l.cases, alterConfigsCases()...)
}

func alterConfigsCases() []diff.Case {
	l := &list{api: "alter_configs"}
	l.add("errors", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Say("unknown key").Ask(2, alterConfigs(ofTopic, t, set("no.such.key", "1")))
		s.Say("wrong value").Ask(2, alterConfigs(ofTopic, t, set("retention.ms", "abc")))
		s.Say("null value").Ask(2, alterConfigs(ofTopic, t, change{"retention.ms", 0, nil}))
		s.Say("key twice").Ask(2, alterConfigs(ofTopic, t, set("retention.ms", "1"), set("retention.ms", "2")))
		s.Say("unknown topic").Ask(2, alterConfigs(ofTopic, s.Name("none"), set("retention.ms", "1")))
		s.Say("unknown type").Ask(2, alterConfigs(3, "x", set("retention.ms", "1")))
		s.Say("unknown broker").Ask(2, alterConfigs(ofBroker, "77", set("log.retention.ms", "1")))
		s.Say("logger").Ask(2, alterConfigs(ofLogger, "1", set("x", "INFO")))
		req := alterConfigs(ofTopic, t, set("retention.ms", "1"))
		req.Resources = append(req.Resources, req.Resources[0])
		s.Say("nothing").Ask(2, kmsg.NewPtrAlterConfigsRequest())
		s.Say("resource twice")
		s.Send(2, req).AnswerOrNone()
	})
	l.add("replaces-all", func(s *diff.Script) {
		t := s.Topic("t", 1, "retention.ms", "1000", "cleanup.policy", "compact")
		s.Ask(2, alterConfigs(ofTopic, t, set("segment.bytes", "3000000")))
		s.Until(isSet("604800000"), 4, describeConfigs(resource(ofTopic, t, "retention.ms", "cleanup.policy", "segment.bytes")))
	})
	l.add("validate-only", func(s *diff.Script) {
		t := s.Topic("t", 1, "retention.ms", "1000")
		req := alterConfigs(ofTopic, t)
		req.ValidateOnly = true
		s.Ask(2, req)
		s.Ask(4, describeConfigs(resource(ofTopic, t, "retention.ms")))
	})
	versions(l, 0, 2, func(s *diff.Script, v int16) {
		t := s.Topic("t", 1)
		s.Ask(v, alterConfigs(ofTopic, t, set("retention.ms", "1234")))
		s.Until(isSet("1234"), 4, describeConfigs(resource(ofTopic, t, "retention.ms")))
		s.Ask(v, alterConfigs(ofTopic, s.Name("none"), set("retention.ms", "1234")))
	})
	return l.cases
}

func listConfigResources() []diff.Case {
	l := &list{api: "list_config_resources"}
	request := func(kinds ...int8) *kmsg.ListConfigResourcesRequest {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = kinds
		return req
	}
	l.add("types", func(s *diff.Script) {
		s.Topic("t", 1)
		s.Adopt("1")
		for _, kind := range []int8{ofTopic, ofBroker, ofLogger, ofClientMetrics, ofGroup, 0, 3, -1} {
			s.Say("type %d", kind).Ask(1, request(kind))
		}
		s.Say("two types").Ask(1, request(ofTopic, ofBroker))
		s.Say("one twice").Ask(1, request(ofTopic, ofTopic))
		s.Say("one unknown").Ask(1, request(ofTopic, 99))
	})
	versions(l, 0, 1, func(s *diff.Script, v int16) {
		s.Topic("t", 1)
		s.Adopt("1")
		s.Ask(v, request())
	})
	return l.cases
}
