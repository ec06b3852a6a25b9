package diff

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic creates a topic under a fresh name and waits until its partitions answer. Configs are names and
// values in turn.
func (s *Script) Topic(alias string, partitions int32, configs ...string) string {
	name := s.Name(alias)
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	for i := 0; i+1 < len(configs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i], &configs[i+1]
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp := s.Quiet(7, req).(*kmsg.CreateTopicsResponse)
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		s.fail("create topic <"+alias+">", describeCreate(resp))
	}
	s.aliases.bindID(resp.Topics[0].TopicID, "<id-of-"+alias+">")
	s.AwaitTopic(name, partitions)
	return name
}

func describeCreate(resp *kmsg.CreateTopicsResponse) string {
	if len(resp.Topics) == 0 {
		return "no topic in the answer"
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return err.Error()
	}
	return "several topics in the answer"
}

// AwaitTopic waits until each partition of a topic has a leader and a log.
func (s *Script) AwaitTopic(name string, partitions int32) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = name
	for i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = i, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	s.await("topic ready", func() bool {
		resp := s.Quiet(7, req).(*kmsg.ListOffsetsResponse)
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return false
				}
			}
		}
		return true
	})
}

// AwaitNoTopic waits until a deleted topic is gone.
func (s *Script) AwaitNoTopic(name string) {
	s.await("topic gone", func() bool {
		resp := s.Quiet(12, MetadataOf(name)).(*kmsg.MetadataResponse)
		return len(resp.Topics) == 1 && resp.Topics[0].ErrorCode == kerr.UnknownTopicOrPartition.Code
	})
}

// TopicID asks for a topic's id.
func (s *Script) TopicID(name string) [16]byte {
	resp := s.Quiet(12, MetadataOf(name)).(*kmsg.MetadataResponse)
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		s.fail("topic id", "no such topic")
	}
	return resp.Topics[0].TopicID
}

// MetadataOf asks for topics without creating them.
func MetadataOf(names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// Group is a fresh group name whose coordinator is ready.
func (s *Script) Group(alias string) string {
	name := s.Name(alias)
	s.AwaitCoordinator(name)
	return name
}

// AwaitCoordinator waits until a group's coordinator answers for it.
func (s *Script) AwaitCoordinator(name string) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = name, "nobody", 1
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{name}
	s.await("coordinator ready", func() bool {
		s.Quiet(4, find) // Makes the offsets topic at first use.
		switch s.Quiet(4, req).(*kmsg.HeartbeatResponse).ErrorCode {
		case kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code:
			return false
		}
		return true
	})
}

// Producer is a fresh idempotent producer id.
func (s *Script) Producer() int64 {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = -1, -1
	var id int64
	s.await("producer id", func() bool {
		resp := s.Quiet(4, req).(*kmsg.InitProducerIDResponse)
		id = resp.ProducerID
		return resp.ErrorCode == 0
	})
	return id
}

// await polls until done, or fails the script.
func (s *Script) await(what string, done func() bool) {
	for deadline := time.Now().Add(settleTimeout); !done(); pause() {
		if time.Now().After(deadline) {
			s.fail(what, "not within "+settleTimeout.String())
		}
	}
}

// AwaitState waits until a classic group is in a state.
func (s *Script) AwaitState(group, state string) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	s.await("group in state "+state, func() bool {
		resp := s.Quiet(5, req).(*kmsg.DescribeGroupsResponse)
		return len(resp.Groups) == 1 && resp.Groups[0].State == state
	})
}

// AliasMember numbers a member that no recorded answer has shown yet, so that lists of members have a
// fixed order.
func (s *Script) AliasMember(id string) { s.aliases.text(id) }
