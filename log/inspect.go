package commitlog

import "slices"

// CheckpointEntry is one line of an offset checkpoint.
type CheckpointEntry struct {
	Topic     string
	Partition int32
	Offset    int64
}

// ParseOffsetCheckpoint reads one of a log dir's offset checkpoints, for tools; the entries are
// sorted.
func ParseOffsetCheckpoint(file []byte) ([]CheckpointEntry, error) {
	offsets, err := parseOffsetCheckpoint(file)
	if err != nil {
		return nil, err
	}
	keys := make([]topicPartition, 0, len(offsets))
	for tp := range offsets {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, topicPartition.compare)
	out := make([]CheckpointEntry, len(keys))
	for i, tp := range keys {
		out[i] = CheckpointEntry{Topic: tp.topic, Partition: tp.partition, Offset: offsets[tp]}
	}
	return out, nil
}

// MetaProperties is what a meta.properties file says: NodeID is -1, ClusterID empty and DirectoryID
// zero where it doesn't.
type MetaProperties struct {
	NodeID      int32
	ClusterID   string
	DirectoryID [16]byte
}

// ParseMetaProperties reads a meta.properties file, for tools.
func ParseMetaProperties(file []byte) (MetaProperties, error) {
	p, err := parseMetaProperties(file)
	return MetaProperties{NodeID: p.nodeID, ClusterID: p.clusterID, DirectoryID: p.directoryID}, err
}

// ParsePartitionMetadata reads the topic id of a partition.metadata file, for tools.
func ParsePartitionMetadata(file []byte) (topicID [16]byte, err error) {
	return parsePartitionMetadata(file)
}

// ParseCleanShutdown reads the broker epoch of a .kafka_cleanshutdown file, for tools; -1 if there
// is none to be read, which a broker takes for a clean stop all the same.
func ParseCleanShutdown(file []byte) int64 { return parseCleanShutdown(file) }
