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
	for _, rd := range req.Directories {
		dir := kmsg.NewAssignReplicasToDirsResponseDirectory()
		dir.ID = rd.ID
		for _, rt := range rd.Topics {
			topic := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			topic.TopicID = rt.TopicID
			for _, rp := range rt.Partitions {
				change, err := assignDirectory(env.Image, b, rd.ID, rt.TopicID, rp.Partition)
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
func assignDirectory(m *image.Image, b *image.Broker, dir, topic image.ID, index int32) (metadata.Record, error) {
	t := m.TopicByID(topic)
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
	c := partitionChange(topic, index)
	online := b.DirectoryOnline(dir)
	switch {
	case !online && p.Leader == b.ID:
		withoutLeader(m, p, b.ID, c)
	case online && p.Leader == image.NoLeader && slices.Contains(p.ISR, b.ID) && isActive(b):
		c.Leader = b.ID // What held it back was where it was said to lie.
	case p.Directories[i] == dir:
		return nil, nil
	}
	c.Directories = slices.Clone(p.Directories)
	c.Directories[i] = dir
	return c, nil
}

// directoriesOffline are the changes for log directories of a broker that failed: its replicas there lead nothing
// any more, and its registration has only the others. Nil if it is known already. (Kafka:
// ReplicationControlManager.handleDirectoriesOffline.)
func directoriesOffline(m *image.Image, b *image.Broker, failed []image.ID) []metadata.Record {
	var left []image.ID
	for _, id := range b.LogDirs {
		if !slices.Contains(failed, id) {
			left = append(left, id)
		}
	}
	if len(left) == len(b.LogDirs) || len(left) == 0 {
		return nil // The broker whose last directory failed ends.
	}
	var records []metadata.Record
	for t := range m.Topics() {
		for i, p := range t.Partitions() {
			if !slices.Contains(failed, p.Directory(b.ID)) || p.Leader != b.ID && !(slices.Contains(p.ISR, b.ID) && len(p.ISR) > 1) {
				continue
			}
			c := partitionChange(t.ID, i)
			withoutLeader(m, p, b.ID, c)
			records = append(records, c)
		}
	}
	return append(records, &metadata.BrokerRegistrationChangeRecord{BrokerID: b.ID, BrokerEpoch: b.Epoch, LogDirs: left})
}

// withoutLeader takes a replica out of leadership and, unless it is the last of it, out of the ISR.
func withoutLeader(m *image.Image, p *image.Partition, id int32, c *metadata.PartitionChangeRecord) {
	rest := without(p.ISR, id)
	if len(rest) > 0 {
		c.ISR = rest
	}
	if p.Leader == id {
		q := *p
		q.ISR = rest
		c.Leader = cleanLeader(m, &q)
	}
}
