package decide

import (
	"slices"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// assignReplicasToDirs notes which of a broker's log directories hold its replicas (KIP-858). One in a directory
// that isn't online leads nothing. (Kafka: ReplicationControlManager.handleAssignReplicasToDirs.)
func assignReplicasToDirs(env *Env, req *kmsg.AssignReplicasToDirsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.AssignReplicasToDirsResponse)
	b := env.Image.Broker(req.BrokerID)
	switch {
	case b == nil:
		resp.ErrorCode = kerr.BrokerIDNotRegistered.Code
		return Decision{Response: resp}
	case b.Epoch != req.BrokerEpoch:
		resp.ErrorCode = kerr.StaleBrokerEpoch.Code
		return Decision{Response: resp}
	}
	var records []metadata.Record
	rules := newTopicRules(env, env.Image)
	for _, rd := range req.Directories {
		dir := kmsg.NewAssignReplicasToDirsResponseDirectory()
		dir.ID = rd.ID
		for _, rt := range rd.Topics {
			topic := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			topic.TopicID = rt.TopicID
			for _, rp := range rt.Partitions {
				change, err := assignDirectory(rules, b, rd.ID, rt.TopicID, rp.Partition)
				if change != nil {
					records = append(records, change)
				}
				p := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				p.Partition = rp.Partition
				p.ErrorCode, _ = codeAndMessage(err)
				topic.Partitions = append(topic.Partitions, p)
			}
			dir.Topics = append(dir.Topics, topic)
		}
		resp.Directories = append(resp.Directories, dir)
	}
	return Decision{Records: records, Response: resp}
}

// assignDirectory is the change of one partition, nil if it is there already.
func assignDirectory(rules *topicRules, b *image.Broker, dir, topic image.ID, index int32) (*metadata.PartitionChangeRecord, error) {
	t := rules.m.TopicByID(topic)
	if t == nil {
		return nil, kerr.UnknownTopicID
	}
	p := t.Partition(index)
	if p == nil {
		return nil, kerr.UnknownTopicOrPartition
	}
	i := slices.Index(p.Replicas, b.ID)
	if i < 0 {
		return nil, kerr.NotLeaderForPartition
	}
	c := newPartitionChange(rules, image.PartitionRef{Topic: t, Index: index, Partition: p})
	c.election = rules.electionOf(t)
	c.directories = slices.Clone(p.Directories)
	c.directories[i] = dir
	if !b.HasOnlineDir(dir) {
		c.remove, c.isr = b.ID, exclude(c.isr, []int32{b.ID})
	}
	return c.record(), nil
}
