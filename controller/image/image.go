package image

import (
	"bytes"
	"iter"
	"strings"
)

// Image is the cluster's metadata as of one record. Made by Apply, Empty and Restore only.
type Image struct {
	// offset is the number of the last record applied, counted from 0; -1 before the first one.
	// It is what Kafka calls the metadata offset; broker epochs and the finalized features' epoch
	// are such offsets.
	offset int64
	// epoch is the controller epoch (raft term) of the last batch of records; 0 before the first one.
	epoch int32

	clusterID string

	// Invariant: topicsByName and topicsByID hold the same topics.
	topicsByName tree[string, *Topic]
	topicsByID   tree[ID, *Topic]
	// numPartitions is the sum over all topics.
	numPartitions int
	// replicas counts, for each broker and topic, the topic's partitions that the broker is assigned.
	// Invariant: no count is 0.
	replicas tree[replicaKey, int]

	// brokers and controllers are sorted by id.
	brokers     []*Broker
	controllers []*Controller

	configs tree[Resource, *ConfigSet]

	// features is sorted by name.
	features []Feature

	producerIDs ProducerIDs
}

// Empty is the image before the first record.
func Empty() *Image {
	return &Image{
		offset:       -1,
		topicsByName: newTree[string, *Topic](strings.Compare),
		topicsByID:   newTree[ID, *Topic](compareIDs),
		replicas:     newTree[replicaKey, int](compareReplicaKeys),
		configs:      newTree[Resource, *ConfigSet](compareResources),
		producerIDs:  ProducerIDs{BrokerID: -1, BrokerEpoch: -1},
	}
}

// Offset is the number of the last record in the image, counted from 0; -1 for an empty image.
func (m *Image) Offset() int64 { return m.offset }

// Epoch is the controller epoch in which the last record was written; 0 for an empty image.
func (m *Image) Epoch() int32 { return m.epoch }

// ClusterID is the cluster's id, a uuid as Kafka prints it; empty before bootstrap.
func (m *Image) ClusterID() string { return m.clusterID }

// Topic returns the topic of that name, nil if there is none.
func (m *Image) Topic(name string) *Topic {
	t, _ := m.topicsByName.get(name)
	return t
}

// TopicByID returns the topic with that id, nil if there is none.
func (m *Image) TopicByID(id ID) *Topic {
	t, _ := m.topicsByID.get(id)
	return t
}

// Topics yields all topics in order of their names.
func (m *Image) Topics() iter.Seq[*Topic] { return m.topicsByName.values(nil) }

// TopicsFrom yields the topics whose names are not before name, in order.
func (m *Image) TopicsFrom(name string) iter.Seq[*Topic] { return m.topicsByName.values(&name) }

// NumTopics counts the topics.
func (m *Image) NumTopics() int { return m.topicsByName.len() }

// NumPartitions counts the partitions of all topics.
func (m *Image) NumPartitions() int { return m.numPartitions }

// Partition returns a partition by topic name and index, nil if there is none.
func (m *Image) Partition(topic string, partition int32) *Partition {
	t := m.Topic(topic)
	if t == nil {
		return nil
	}
	return t.Partition(partition)
}

// Broker returns a registered broker, nil if there is none with that id.
func (m *Image) Broker(id int32) *Broker {
	if i, ok := findByID(m.brokers, id, brokerID); ok {
		return m.brokers[i]
	}
	return nil
}

// Brokers are the registered brokers in order of their ids, fenced ones too. Borrowed: not to be
// changed.
func (m *Image) Brokers() []*Broker { return m.brokers }

// LiveBrokers is how many brokers aren't fenced.
func (m *Image) LiveBrokers() int {
	n := 0
	for _, b := range m.Brokers() {
		if !b.Fenced {
			n++
		}
	}
	return n
}

// Controllers are the registered controllers in order of their ids. Borrowed: not to be changed.
func (m *Image) Controllers() []*Controller { return m.controllers }

// Controller returns a registered controller, nil if there is none with that id.
func (m *Image) Controller(id int32) *Controller {
	if i, ok := findByID(m.controllers, id, controllerID); ok {
		return m.controllers[i]
	}
	return nil
}

// ControllerListeners is where a registered controller is reached, by the names of its listeners. Borrowed:
// not to be changed.
func (m *Image) ControllerListeners(id int32) []Endpoint {
	if c := m.Controller(id); c != nil {
		return c.Listeners
	}
	return nil
}

// ProducerIDs tells which producer ids are given out next.
func (m *Image) ProducerIDs() ProducerIDs { return m.producerIDs }

func compareIDs(a, b ID) int { return bytes.Compare(a[:], b[:]) }
