package decide

import (
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createPartitions decides as ReplicationControlManager.createPartitions does.
func createPartitions(env *Env, req *kmsg.CreatePartitionsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	seen := map[string]int{}
	for i := range req.Topics {
		seen[req.Topics[i].Topic]++
	}
	for i := range req.Topics {
		if name := req.Topics[i].Topic; seen[name] > 1 {
			seen[name] = 0
			resp.Topics = append(resp.Topics, partitionsResult(name, errDuplicateTopic))
		}
	}
	var placer *placer
	var records []metadata.Record
	for i := range req.Topics {
		t := &req.Topics[i]
		if seen[t.Topic] == 0 {
			continue
		}
		if placer == nil {
			placer = newPlacer(env.Image, env.Rand)
		}
		made, err := addPartitions(env, placer, t)
		records = append(records, made...)
		resp.Topics = append(resp.Topics, partitionsResult(t.Topic, err))
	}
	if req.ValidateOnly {
		records = nil
	}
	return Decision{Records: records, Response: resp}
}

func partitionsResult(name string, err error) kmsg.CreatePartitionsResponseTopic {
	r := kmsg.NewCreatePartitionsResponseTopic()
	r.Topic = name
	r.ErrorCode, r.ErrorMessage = codeAndMessage(err)
	return r
}

// addPartitions decides on one topic.
func addPartitions(env *Env, placer *placer, req *kmsg.CreatePartitionsRequestTopic) ([]metadata.Record, error) {
	t := env.Image.Topic(req.Topic)
	if t == nil {
		return nil, kerr.UnknownTopicOrPartition
	}
	current := t.NumPartitions()
	switch {
	case int(req.Count) == current:
		return nil, kerror.New(kerr.InvalidPartitions, "Topic already has %d partition(s).", current)
	case int(req.Count) < current:
		return nil, kerror.New(kerr.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Name, current, req.Count)
	case int(req.Count)-current > maxPartitionsPerBatch:
		return nil, kerror.New(kerr.PolicyViolation, "Excessively large number of additional partitions per request.")
	}
	additional, factor := int(req.Count)-current, t.ReplicationFactor()
	if req.Assignment != nil && len(req.Assignment) != additional {
		return nil, kerror.New(kerr.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", additional, len(req.Assignment))
	}
	if req.Assignment == nil {
		if err := placer.check(factor); err != nil {
			return nil, err
		}
	}
	records := make([]metadata.Record, 0, additional)
	for i := range additional {
		index := int32(current + i)
		var replicas []int32
		if req.Assignment != nil {
			replicas = req.Assignment[i].Replicas
			if err := validateAssignment(env.Image, replicas, factor); err != nil {
				return nil, err
			}
			if len(activeOf(env.Image, replicas)) == 0 {
				return nil, allInactive(index)
			}
		} else {
			replicas = placer.place(factor)
		}
		records = append(records, newPartition(env.Image, t.ID, index, replicas))
	}
	return records, nil
}
