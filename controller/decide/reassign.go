package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// alterPartitionReassignments decides as ReplicationControlManager.alterPartitionReassignments does
// (KIP-455). The target's replicas are added beside those that leave; the change ends when a leader
// reports all of the target in sync (alterPartition), at once if only the order changes or replicas
// are only taken away.
//
//	1  may forbid a change of the replication factor (KIP-860)
func alterPartitionReassignments(env *Env, req *kmsg.AlterPartitionAssignmentsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	mayResize := req.Version < 1 || req.AllowReplicationFactorChange
	resp.AllowReplicationFactorChange = mayResize
	if len(req.Topics) == 0 {
		resp.ErrorMessage = new(string) // As Kafka, which has null here otherwise.
	}
	w := newWork(env)
	rules := newTopicRules(env, env.Image)
	for _, rt := range req.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			rules.m = w.image
			change, err := reassign(rules, rt.Topic, rp.Partition, rp.Replicas, mayResize)
			if change != nil {
				w.add(change)
			}
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition = rp.Partition
			p.ErrorCode, p.ErrorMessage = codeAndMessage(err)
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return Decision{Records: w.records, Response: resp}
}

// reassign decides on one partition; a nil target cancels.
func reassign(rules *topicRules, topic string, index int32, target []int32, mayResize bool) (*metadata.PartitionChangeRecord, error) {
	t := rules.m.Topic(topic)
	if t == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "Unable to find a topic named %s.", topic)
	}
	p := t.Partition(index)
	if p == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topic, index)
	}
	ref := image.PartitionRef{Topic: t, Index: index, Partition: p}
	if target == nil {
		return cancelReassignment(rules, ref)
	}
	return startReassignment(rules, ref, target, mayResize)
}

func isReassigning(p *image.Partition) bool { return len(p.Adding)+len(p.Removing) > 0 }

// startReassignment sets a partition's target, also in place of another that isn't reached yet: what
// that one was adding then leaves like everything else that isn't in the target.
func startReassignment(rules *topicRules, ref image.PartitionRef, target []int32, mayResize bool) (*metadata.PartitionChangeRecord, error) {
	p := ref.Partition
	if err := validateAssignment(rules.m, target, 0); err != nil {
		return nil, err
	}
	if size := settledSize(p); !mayResize && len(target) != size {
		return nil, kerror.New(kerr.InvalidReplicationFactor, "The replication factor is changed from %d to %d", size, len(target))
	}
	c := newPartitionChange(rules, ref)
	removing, adding := exclude(p.Replicas, target), exclude(target, p.Replicas)
	slices.Sort(removing)
	slices.Sort(adding)
	c.replicas = slices.Concat(target, removing)
	if len(removing) > 0 {
		c.removing = removing
	}
	if len(adding) > 0 {
		c.adding = adding
	}
	return c.record(), nil
}

// settledSize is the replication factor that a partition has or, during a reassignment, aims at.
func settledSize(p *image.Partition) int {
	return len(exclude(p.Replicas, p.Removing))
}

// cancelReassignment goes back to the replicas of before.
func cancelReassignment(rules *topicRules, ref image.PartitionRef) (*metadata.PartitionChangeRecord, error) {
	p := ref.Partition
	if !isReassigning(p) {
		return nil, kerr.NoReassignmentInProgress
	}
	c := newPartitionChange(rules, ref)
	c.election = rules.electionOf(ref.Topic)
	c.replicas, c.isr = exclude(p.Replicas, p.Adding), exclude(p.ISR, p.Adding)
	c.adding, c.removing = nil, nil
	if len(c.isr) == 0 {
		// Only replicas that were being added are in sync: going back would lose what they alone have.
		if c.election != electUnclean {
			return nil, kerror.New(kerr.InvalidReplicaAssignment,
				"Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", ref.Topic.Name, ref.Index)
		}
		// The oracle puts the first replica into the ISR, alive or not. Here the election finds one that is.
		if !c.hasELR {
			c.isr = c.replicas[:1]
		}
	}
	return c.record(), nil
}

// listPartitionReassignments lists the partitions that have replicas to add or to remove; with no
// topics named, all of them.
func listPartitionReassignments(env *Env, req *kmsg.ListPartitionReassignmentsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	add := func(t *image.Topic, indexes []int32) {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		out.Topic = t.Name
		for _, i := range indexes {
			p := t.Partition(i)
			if p == nil || !isReassigning(p) {
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
			indexes := make([]int32, t.NumPartitions())
			for i := range indexes {
				indexes[i] = int32(i)
			}
			add(t, indexes)
		}
	}
	for _, rt := range req.Topics {
		if t := env.Image.Topic(rt.Topic); t != nil {
			add(t, rt.Partitions)
		}
	}
	return Decision{Response: resp}
}
