package image

import "fmt"

// Check verifies the invariants that Apply keeps; tests and the offline check call it. It walks the
// whole image.
func (m *Image) Check() error {
	partitions, replicas := 0, map[replicaKey]int{}
	for t := range m.Topics() {
		if m.TopicByID(t.ID) != t {
			return fmt.Errorf("topic %s isn't found by its id", t.Name)
		}
		for i, p := range t.Partitions() {
			if err := p.check(); err != nil {
				return fmt.Errorf("topic %s partition %d: %w", t.Name, i, err)
			}
			for _, r := range p.Replicas {
				replicas[replicaKey{broker: r, topic: t.ID}]++
			}
			if len(p.Directories) != len(p.Replicas) {
				return fmt.Errorf("topic %s partition %d: %d directories for %d replicas", t.Name, i, len(p.Directories), len(p.Replicas))
			}
		}
		partitions += t.NumPartitions()
	}
	if partitions != m.numPartitions {
		return fmt.Errorf("%d partitions are counted, there are %d", m.numPartitions, partitions)
	}
	if a, b := m.topicsByName.len(), m.topicsByID.len(); a != b {
		return fmt.Errorf("%d topics by name, %d by id", a, b)
	}
	for key, n := range m.replicas.all(nil) {
		if replicas[key] != n {
			return fmt.Errorf("broker %d is said to have %d partitions of topic %x, it has %d", key.broker, n, key.topic, replicas[key])
		}
	}
	if m.replicas.len() != len(replicas) {
		return fmt.Errorf("%d pairs of broker and topic are indexed, there are %d", m.replicas.len(), len(replicas))
	}
	for res, c := range m.configs.all(nil) {
		if c.Len() == 0 {
			return fmt.Errorf("resource %v has an empty config", res)
		}
	}
	return nil
}
