package image

import (
	"fmt"
	"iter"

	"github.com/ottla/ottla/internal/record/metadata"
)

// Records yields records that make an equal image out of an empty one, in a fixed order: the
// contents of a snapshot. Slices in them are borrowed from the image.
func (m *Image) Records() iter.Seq[metadata.Record] {
	return func(yield func(metadata.Record) bool) {
		_ = m.yieldCluster(yield) && m.yieldNodes(yield) && m.yieldTopics(yield) && m.yieldConfigs(yield) && m.yieldProducerIDs(yield)
	}
}

// Restore makes an image out of the records of a snapshot, which was taken at an offset and epoch.
func Restore(offset int64, epoch int32, records iter.Seq2[metadata.Record, error]) (*Image, error) {
	b := newBuilder(Empty())
	for r, err := range records {
		if err != nil {
			return nil, err
		}
		if err := b.apply(r); err != nil {
			return nil, fmt.Errorf("snapshot at offset %d: record type %d: %w", offset, r.RecordType(), err)
		}
	}
	b.next.offset, b.next.epoch = offset, epoch
	m, _ := b.finish()
	return m, nil
}

type yieldFunc = func(metadata.Record) bool

func (m *Image) yieldCluster(yield yieldFunc) bool {
	if m.clusterID != "" && !yield(&metadata.ClusterRecord{ClusterID: m.clusterID}) {
		return false
	}
	for _, f := range m.features {
		if !yield(&metadata.FeatureLevelRecord{Name: f.Name, FeatureLevel: f.Level}) {
			return false
		}
	}
	return true
}

func (m *Image) yieldNodes(yield yieldFunc) bool {
	for _, c := range m.controllers {
		r := &metadata.RegisterControllerRecord{ControllerID: c.ID, IncarnationID: c.IncarnationID}
		for _, e := range c.Listeners {
			r.EndPoints = append(r.EndPoints, metadata.RegisterControllerRecordControllerEndpoint(e))
		}
		for _, f := range c.Features {
			r.Features = append(r.Features, metadata.RegisterControllerRecordControllerFeature{
				Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
		}
		if !yield(r) {
			return false
		}
	}
	for _, b := range m.brokers {
		r := &metadata.RegisterBrokerRecord{
			BrokerID: b.ID, BrokerEpoch: b.Epoch, IncarnationID: b.IncarnationID, Rack: b.Rack, Fenced: b.Fenced,
			InControlledShutdown: b.InControlledShutdown, LogDirs: b.LogDirs, CordonedLogDirs: b.CordonedLogDirs,
		}
		for _, e := range b.Listeners {
			r.EndPoints = append(r.EndPoints, metadata.RegisterBrokerRecordBrokerEndpoint(e))
		}
		for _, f := range b.Features {
			r.Features = append(r.Features, metadata.RegisterBrokerRecordBrokerFeature{
				Name: f.Name, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
		}
		if !yield(r) {
			return false
		}
	}
	return true
}

func (m *Image) yieldTopics(yield yieldFunc) bool {
	for t := range m.Topics() {
		if !yield(&metadata.TopicRecord{Name: t.Name, TopicID: t.ID}) {
			return false
		}
		for i, p := range t.Partitions() {
			if !yield(&metadata.PartitionRecord{
				PartitionID: i, TopicID: t.ID, Replicas: p.Replicas, ISR: p.ISR, RemovingReplicas: p.Removing,
				AddingReplicas: p.Adding, Leader: p.Leader, LeaderRecoveryState: p.LeaderRecovery, LeaderEpoch: p.LeaderEpoch,
				PartitionEpoch: p.PartitionEpoch, Directories: p.Directories, EligibleLeaderReplicas: p.ELR, LastKnownELR: p.LastKnownELR,
			}) {
				return false
			}
		}
	}
	return true
}

func (m *Image) yieldConfigs(yield yieldFunc) bool {
	for res, c := range m.configs.all(nil) {
		for _, e := range c.entries {
			if !yield(&metadata.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: e.Key, Value: &e.Value}) {
				return false
			}
		}
	}
	return true
}

func (m *Image) yieldProducerIDs(yield yieldFunc) bool {
	p := m.producerIDs
	if p.Next == 0 && p.BrokerID < 0 {
		return true
	}
	return yield(&metadata.ProducerIdsRecord{BrokerID: p.BrokerID, BrokerEpoch: p.BrokerEpoch, NextProducerID: p.Next})
}
