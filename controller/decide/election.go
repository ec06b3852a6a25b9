package decide

import (
	"errors"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Election types of ElectLeaders.
const (
	typePreferred int8 = 0
	typeUnclean   int8 = 1
)

// electLeaders decides as ReplicationControlManager.electLeaders does. A request for all partitions
// names those only whose leader changed or can't be had.
func electLeaders(env *Env, req *kmsg.ElectLeadersRequest) Decision {
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	if req.ElectionType != typePreferred && req.ElectionType != typeUnclean {
		err := kerror.New(kerr.InvalidRequest, "Unknown election type %d", req.ElectionType)
		resp.ErrorCode = kerr.InvalidRequest.Code
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				addElection(resp, t.Topic, p, err)
			}
		}
		return Decision{Response: resp}
	}
	var records []metadata.Record
	rules := newTopicRules(env, env.Image)
	if req.Topics == nil {
		for t := range env.Image.Topics() {
			resp.Topics = append(resp.Topics, electionTopic(t.Name))
			for i, p := range t.Partitions() {
				change, err := electOne(rules, image.PartitionRef{Topic: t, Index: i, Partition: p}, req.ElectionType)
				if change != nil {
					records = append(records, change)
				}
				if !errors.Is(err, errElectionNotNeeded) {
					addElection(resp, t.Name, i, err)
				}
			}
		}
		return Decision{Records: records, Response: resp, Divisible: true}
	}
	done := map[*image.Partition]bool{}
	for _, rt := range req.Topics {
		resp.Topics = append(resp.Topics, electionTopic(rt.Topic))
		t := env.Image.Topic(rt.Topic)
		for _, i := range rt.Partitions {
			change, err := electNamed(rules, t, rt.Topic, i, req.ElectionType, done)
			if change != nil {
				records = append(records, change)
			}
			addElection(resp, rt.Topic, i, err)
		}
	}
	return Decision{Records: records, Response: resp, Divisible: true}
}

// errElectionNotNeeded is compared by identity.
var errElectionNotNeeded error = kerror.New(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")

func electNamed(rules *topicRules, t *image.Topic, name string, index int32, kind int8, done map[*image.Partition]bool) (*metadata.PartitionChangeRecord, error) {
	if t == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "No such topic as %s", name)
	}
	p := t.Partition(index)
	if p == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "No such partition as %s-%d", name, index)
	}
	if done[p] {
		return nil, errElectionNotNeeded
	}
	done[p] = true
	return electOne(rules, image.PartitionRef{Topic: t, Index: index, Partition: p}, kind)
}

// electOne returns the change that gives a partition the leader asked for. An unclean election that an
// operator asks for needs no leave from the topic's settings.
func electOne(rules *topicRules, ref image.PartitionRef, kind int8) (*metadata.PartitionChangeRecord, error) {
	p := ref.Partition
	c := newPartitionChange(rules, ref)
	c.election = electPreferred
	isNeeded, unavailable := p.Leader != p.PreferredLeader(), errPreferredUnavailable
	if kind == typeUnclean {
		c.election = electUnclean
		isNeeded, unavailable = p.Leader == image.NoLeader, errNobodyEligible
	}
	if !isNeeded {
		return nil, errElectionNotNeeded
	}
	r := c.record()
	if r == nil {
		return nil, unavailable
	}
	return r, nil
}

var (
	errPreferredUnavailable = kerror.New(kerr.PreferredLeaderNotAvailable, "The preferred leader was not available.")
	errNobodyEligible       = kerror.New(kerr.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
)

// electForLeaderless are elections for the partitions without a leader, unclean ones where the topic
// allows them; no more than a bound.
func electForLeaderless(env *Env) []metadata.Record {
	return electAll(env, func(rules *topicRules, ref image.PartitionRef) *partitionChange {
		if ref.Partition.Leader != image.NoLeader {
			return nil
		}
		c := newPartitionChange(rules, ref)
		c.election = rules.electionOf(ref.Topic)
		return c
	})
}

// electPreferredReplicas gives leadership back to preferred replicas that are in sync; no more than a
// bound.
func electPreferredReplicas(env *Env) []metadata.Record {
	return electAll(env, func(rules *topicRules, ref image.PartitionRef) *partitionChange {
		if ref.Partition.Leader == ref.Partition.PreferredLeader() {
			return nil
		}
		c := newPartitionChange(rules, ref)
		c.election = electPreferred
		return c
	})
}

func electAll(env *Env, change func(*topicRules, image.PartitionRef) *partitionChange) []metadata.Record {
	var records []metadata.Record
	rules := newTopicRules(env, env.Image)
	for t := range env.Image.Topics() {
		for i, p := range t.Partitions() {
			c := change(rules, image.PartitionRef{Topic: t, Index: i, Partition: p})
			if c == nil {
				continue
			}
			if r := c.record(); r != nil {
				records = append(records, r)
			}
			if len(records) == maxChangesPerTick {
				return records
			}
		}
	}
	return records
}

func electionTopic(name string) kmsg.ElectLeadersResponseTopic {
	t := kmsg.NewElectLeadersResponseTopic()
	t.Topic = name
	return t
}

// addElection adds a partition's outcome to the last topic of the response, or to a new one.
func addElection(resp *kmsg.ElectLeadersResponse, topic string, index int32, err error) {
	if n := len(resp.Topics); n == 0 || resp.Topics[n-1].Topic != topic {
		resp.Topics = append(resp.Topics, electionTopic(topic))
	}
	p := kmsg.NewElectLeadersResponseTopicPartition()
	p.Partition = index
	p.ErrorCode, p.ErrorMessage = codeAndMessage(err)
	last := &resp.Topics[len(resp.Topics)-1]
	last.Partitions = append(last.Partitions, p)
}
