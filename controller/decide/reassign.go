package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterPartitionReassignments changes the order of a partition's replicas. Moving to other brokers
// needs followers that copy, which a single node can't have; such a target is refused.
func alterPartitionReassignments(env *Env, req *kmsg.AlterPartitionAssignmentsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = req.AllowReplicationFactorChange
	if len(req.Topics) == 0 {
		resp.ErrorMessage = new(string) // As Kafka, which has null here otherwise.
	}
	var records []metadata.Record
	for _, rt := range req.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			change, err := reassign(env.Image, rt.Topic, rp.Partition, rp.Replicas)
			if change != nil {
				records = append(records, change)
			}
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition = rp.Partition
			p.ErrorCode, p.ErrorMessage = codeAndMessage(err)
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return Decision{Records: records, Response: resp}
}

// reassign decides on one partition; nil target cancels.
func reassign(m *image.Image, topic string, index int32, target []int32) (metadata.Record, error) {
	t := m.Topic(topic)
	if t == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "Unable to find a topic named %s.", topic)
	}
	p := t.Partition(index)
	switch {
	case p == nil:
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topic, index)
	case target == nil:
		return nil, kerr.NoReassignmentInProgress
	}
	if err := validateAssignment(m, target, 0); err != nil {
		return nil, err
	}
	switch {
	case slices.Equal(target, p.Replicas):
		return nil, nil
	case !slices.Equal(slices.Sorted(slices.Values(target)), slices.Sorted(slices.Values(p.Replicas))):
		return nil, kerror.New(kerr.InvalidReplicaAssignment, "Moving partitions between brokers is not supported.")
	}
	c := partitionChange(t.ID, index)
	c.Replicas = target
	c.Directories = make([]image.ID, len(target))
	for i, id := range target {
		c.Directories[i] = p.Directories[slices.Index(p.Replicas, id)]
	}
	return c, nil
}

// listPartitionReassignments lists the partitions that have replicas to add or to remove; with no
// topics named, all of them.
func listPartitionReassignments(env *Env, req *kmsg.ListPartitionReassignmentsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	add := func(t *image.Topic, wanted func(int32) bool) {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		out.Topic = t.Name
		for i, p := range t.Partitions() {
			if !wanted(i) || len(p.Adding)+len(p.Removing) == 0 {
				continue
			}
			x := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			x.Partition, x.Replicas, x.AddingReplicas, x.RemovingReplicas = i, p.Replicas, p.Adding, p.Removing
			out.Partitions = append(out.Partitions, x)
		}
		if len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	if req.Topics == nil {
		for t := range env.Image.Topics() {
			add(t, func(int32) bool { return true })
		}
	}
	for _, rt := range req.Topics {
		if t := env.Image.Topic(rt.Topic); t != nil {
			add(t, func(i int32) bool { return slices.Contains(rt.Partitions, i) })
		}
	}
	return Decision{Response: resp}
}
