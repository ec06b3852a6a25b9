package decide

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cmdSettings sets static settings: key=value.
func (s *script) cmdSettings(_ *datadriven.TestData, in [][]string) {
	all := map[string]string{}
	for _, words := range in {
		for k, v := range options(words) {
			all[k] = v
		}
	}
	s.load(all)
}

// cmdBrokers registers brokers: id [rack=r] [fenced] [shutdown] [cordoned].
func (s *script) cmdBrokers(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		o := options(words[1:])
		r := &metadata.RegisterBrokerRecord{BrokerID: int32(s.number(words[0], 0)), BrokerEpoch: s.image.Offset() + 1}
		r.LogDirs = []image.ID{{byte(r.BrokerID), 1}}
		for _, f := range kafkaFeatures() {
			r.Features = append(r.Features, metadata.RegisterBrokerRecordBrokerFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
		}
		if _, ok := o["cordoned"]; ok {
			r.CordonedLogDirs = r.LogDirs
		}
		if rack, ok := o["rack"]; ok {
			r.Rack = &rack
		}
		_, r.Fenced = o["fenced"]
		_, r.InControlledShutdown = o["shutdown"]
		next, _, err := s.image.Apply(1, []metadata.Record{r})
		if err != nil {
			s.t.Fatal(err)
		}
		s.image = next
	}
}

// cmdFeatures sets feature levels: name=level.
func (s *script) cmdFeatures(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		for k, v := range options(words) {
			next, _, err := s.image.Apply(1, []metadata.Record{&metadata.FeatureLevelRecord{Name: k, FeatureLevel: int16(s.number(v, 0))}})
			if err != nil {
				s.t.Fatal(err)
			}
			s.image = next
		}
	}
}

// cmdTopics shows the image's topics.
func (s *script) cmdTopics(*datadriven.TestData, [][]string) {
	for t := range s.image.Topics() {
		s.printf("%s %s\n", t.Name, s.alias(t.ID))
		for i, p := range t.Partitions() {
			s.printf("  %d: %s\n", i, describePartition(p))
		}
		for k, v := range s.image.Config(image.ResourceTopic, t.Name).All() {
			s.printf("  %s=%s\n", k, v)
		}
	}
}

// cmdCreateTopics: name [p=n] [rf=n] [c:key=value] [c:key (null)] [a:partition=ids]; argument validate.
func (s *script) cmdCreateTopics(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly = d.HasArg("validate")
	for _, words := range in {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name(words[0]), 1, 1
		for _, w := range words[1:] {
			k, v, isSet := strings.Cut(w, "=")
			kind, key, _ := strings.Cut(k, ":")
			switch kind {
			case "p":
				t.NumPartitions = int32(s.number(v, 0))
			case "rf":
				t.ReplicationFactor = int16(s.number(v, 0))
			case "c":
				c := kmsg.NewCreateTopicsRequestTopicConfig()
				c.Name = key
				if isSet {
					c.Value = &v
				}
				t.Configs = append(t.Configs, c)
			case "a":
				a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
				a.Partition, a.Replicas = int32(s.number(key, 0)), s.brokerIDs(v)
				t.ReplicaAssignment = append(t.ReplicaAssignment, a)
			}
		}
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
			extra := fmt.Sprintf(" (%d partitions, factor %d)", t.NumPartitions, t.ReplicationFactor)
			if t.ErrorCode == 0 && t.TopicID == (image.ID{}) {
				extra += " without an id"
			}
			for _, c := range t.Configs {
				if c.Source == 1 {
					extra += fmt.Sprintf(" %s=%s", c.Name, *c.Value)
				}
			}
			if t.ErrorCode == 0 {
				extra += fmt.Sprintf(" %d keys", len(t.Configs))
			}
			s.result(t.Topic, t.ErrorCode, t.ErrorMessage, extra)
		}
	})
}

// cmdDeleteTopics: name=n | id=#n | both; argument v=version.
func (s *script) cmdDeleteTopics(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	if d.HasArg("v") {
		var v int
		d.ScanArgs(s.t, "v", &v)
		req.Version = int16(v)
	}
	for _, words := range in {
		o := options(words)
		t := kmsg.NewDeleteTopicsRequestTopic()
		if n, ok := o["name"]; ok {
			t.Topic = &n
			req.TopicNames = append(req.TopicNames, n)
		}
		if id, ok := o["id"]; ok {
			if n := s.number(strings.TrimPrefix(id, "#"), 0); int(n) <= len(s.byAlias) {
				t.TopicID = s.byAlias[n-1]
			} else {
				t.TopicID = image.ID{15: byte(n)}
			}
		}
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		for _, t := range resp.(*kmsg.DeleteTopicsResponse).Topics {
			what := "null"
			if t.Topic != nil {
				what = *t.Topic
			}
			if _, ok := s.ids[t.TopicID]; ok {
				what += " " + s.alias(t.TopicID)
			}
			s.result(what, t.ErrorCode, t.ErrorMessage, "")
		}
	})
}

// cmdCreatePartitions: name count [ids ...]; argument validate.
func (s *script) cmdCreatePartitions(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.ValidateOnly = d.HasArg("validate")
	for _, words := range in {
		t := kmsg.NewCreatePartitionsRequestTopic()
		t.Topic, t.Count = words[0], int32(s.number(words[1], 0))
		for _, w := range words[2:] {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = s.brokerIDs(strings.Trim(w, "[]"))
			t.Assignment = append(t.Assignment, a)
		}
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		for _, t := range resp.(*kmsg.CreatePartitionsResponse).Topics {
			s.result(t.Topic, t.ErrorCode, t.ErrorMessage, "")
		}
	})
}

var resourceTypes = map[string]kmsg.ConfigResourceType{"topic": 2, "broker": 4, "logger": 8, "metrics": 16, "group": 32, "seven": 7}

var opNames = map[string]kmsg.IncrementalAlterConfigOp{"set": 0, "delete": 1, "append": 2, "subtract": 3, "nine": 9}

// cmdAlter (IncrementalAlterConfigs): type name [op:key[=value]]; argument validate.
func (s *script) cmdAlter(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = d.HasArg("validate")
	for _, words := range in {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = resourceTypes[words[0]], words[1]
		for _, w := range words[2:] {
			op, kv, _ := strings.Cut(w, ":")
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			k, v, ok := strings.Cut(kv, "=")
			c.Op, c.Name = opNames[op], k
			if v = name(v); ok {
				c.Value = &v
			}
			r.Configs = append(r.Configs, c)
		}
		req.Resources = append(req.Resources, r)
	}
	s.decide(req, func(resp kmsg.Response) {
		for _, r := range resp.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			s.result(strconv.Quote(r.ResourceName), r.ErrorCode, r.ErrorMessage, "")
		}
	})
}

// cmdReplace (AlterConfigs): type name [key[=value]]; argument validate.
func (s *script) cmdReplace(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrAlterConfigsRequest()
	req.ValidateOnly = d.HasArg("validate")
	for _, words := range in {
		r := kmsg.NewAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = resourceTypes[words[0]], words[1]
		for _, w := range words[2:] {
			c := kmsg.NewAlterConfigsRequestResourceConfig()
			k, v, ok := strings.Cut(w, "=")
			if c.Name = k; ok {
				c.Value = &v
			}
			r.Configs = append(r.Configs, c)
		}
		req.Resources = append(req.Resources, r)
	}
	s.decide(req, func(resp kmsg.Response) {
		for _, r := range resp.(*kmsg.AlterConfigsResponse).Resources {
			s.result(strconv.Quote(r.ResourceName), r.ErrorCode, r.ErrorMessage, "")
		}
	})
}

// cmdElect: topic partitions...; arguments type=n, all.
func (s *script) cmdElect(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrElectLeadersRequest()
	if d.HasArg("type") {
		var kind int
		d.ScanArgs(s.t, "type", &kind)
		req.ElectionType = int8(kind)
	}
	if !d.HasArg("all") {
		req.Topics = []kmsg.ElectLeadersRequestTopic{}
	} else {
		req.Topics = nil
	}
	for _, words := range in {
		t := kmsg.NewElectLeadersRequestTopic()
		t.Topic, t.Partitions = words[0], s.brokerIDs(strings.Join(words[1:], ","))
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		r := resp.(*kmsg.ElectLeadersResponse)
		s.result("request", r.ErrorCode, nil, "")
		for _, t := range r.Topics {
			s.printf("%s\n", t.Topic)
			for _, p := range t.Partitions {
				s.result(fmt.Sprint(p.Partition), p.ErrorCode, p.ErrorMessage, "")
			}
		}
	})
}

// cmdReassign: topic partition ids|cancel; argument fixed forbids another replication factor.
func (s *script) cmdReassign(d *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version, req.AllowReplicationFactorChange = 1, !d.HasArg("fixed")
	for _, words := range in {
		t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
		t.Topic = words[0]
		p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
		p.Partition = int32(s.number(words[1], 0))
		if words[2] != "cancel" {
			p.Replicas = s.brokerIDs(strings.Trim(words[2], "[]"))
		}
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		r := resp.(*kmsg.AlterPartitionAssignmentsResponse)
		s.result("request", r.ErrorCode, r.ErrorMessage, "")
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s.result(fmt.Sprintf("%s-%d", t.Topic, p.Partition), p.ErrorCode, p.ErrorMessage, "")
			}
		}
	})
}

// cmdListReassignments: topic partitions...; nothing for all.
func (s *script) cmdListReassignments(_ *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	for _, words := range in {
		t := kmsg.NewListPartitionReassignmentsRequestTopic()
		t.Topic, t.Partitions = words[0], s.brokerIDs(strings.Join(words[1:], ","))
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		r := resp.(*kmsg.ListPartitionReassignmentsResponse)
		s.result("request", r.ErrorCode, r.ErrorMessage, fmt.Sprintf(", %d topics", len(r.Topics)))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s.printf("%s-%d replicas=%v adding=%v removing=%v\n", t.Topic, p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas)
			}
		}
	})
}

// cmdUnregister: broker ids.
func (s *script) cmdUnregister(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		req := kmsg.NewPtrUnregisterBrokerRequest()
		req.BrokerID = int32(s.number(words[0], 0))
		s.decide(req, func(resp kmsg.Response) {
			r := resp.(*kmsg.UnregisterBrokerResponse)
			s.result("unregistration", r.ErrorCode, r.ErrorMessage, "")
		})
	}
}

// cmdProducerIDs: broker=id [epoch=n].
func (s *script) cmdProducerIDs(_ *datadriven.TestData, in [][]string) {
	for _, words := range in {
		o := options(words)
		req := kmsg.NewPtrAllocateProducerIDsRequest()
		req.BrokerID = int32(s.number(o["broker"], 0))
		if b := s.image.Broker(req.BrokerID); b != nil {
			req.BrokerEpoch = b.Epoch
		}
		req.BrokerEpoch = s.number(o["epoch"], req.BrokerEpoch)
		s.decide(req, func(resp kmsg.Response) {
			r := resp.(*kmsg.AllocateProducerIDsResponse)
			s.result("block", r.ErrorCode, nil, fmt.Sprintf(" %d+%d", r.ProducerIDStart, r.ProducerIDLen))
		})
	}
}

// cmdQuorum: topic partition.
func (s *script) cmdQuorum(_ *datadriven.TestData, in [][]string) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	for _, words := range in {
		t := kmsg.NewDescribeQuorumRequestTopic()
		t.Topic = words[0]
		t.Partitions = append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: int32(s.number(words[1], 0))})
		req.Topics = append(req.Topics, t)
	}
	s.decide(req, func(resp kmsg.Response) {
		r := resp.(*kmsg.DescribeQuorumResponse)
		s.result("request", r.ErrorCode, r.ErrorMessage, fmt.Sprintf(", %d nodes", len(r.Nodes)))
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s.result(fmt.Sprintf("%s-%d", t.Topic, p.Partition), p.ErrorCode, p.ErrorMessage,
					fmt.Sprintf(" leader=%d epoch=%d highWatermark=%d voters=%d", p.LeaderID, p.LeaderEpoch, p.HighWatermark, len(p.CurrentVoters)))
			}
		}
	})
}
