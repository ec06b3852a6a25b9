package decide

import (
	"strings"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/ottla/ottla/internal/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxPartitionsPerBatch bounds the partitions that one request creates, as in Kafka: a request is one
// batch of records.
const maxPartitionsPerBatch = 10_000

// createTopics decides as ReplicationControlManager.createTopics does: topics that are fine are
// created though others of the request aren't.
func createTopics(env *Env, req *kmsg.CreateTopicsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	c := &topicCreator{env: env, settings: env.settings(), collisions: collisions{image: env.Image}}
	seen := map[string]int{}
	for i := range req.Topics {
		seen[req.Topics[i].Topic]++
	}
	var records []metadata.Record
	var duplicates []kmsg.CreateTopicsResponseTopic
	tooMany := c.exceedsBatch(req, seen)
	for i := range req.Topics {
		t := &req.Topics[i]
		switch n := seen[t.Topic]; {
		case n == 0:
			continue // a duplicate that was answered
		case n > 1:
			seen[t.Topic] = 0
			duplicates = append(duplicates, failedTopic(t.Topic, errDuplicateTopic))
			continue
		}
		made, topic, err := c.create(t, tooMany)
		if err != nil {
			resp.Topics = append(resp.Topics, failedTopic(t.Topic, err))
			continue
		}
		records = append(records, made...)
		resp.Topics = append(resp.Topics, topic)
	}
	resp.Topics = append(resp.Topics, duplicates...)
	if req.ValidateOnly {
		records = nil
	}
	return Decision{Records: records, Response: resp}
}

func failedTopic(name string, err error) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	t.ErrorCode, t.ErrorMessage = codeAndMessage(err)
	t.Configs = []kmsg.CreateTopicsResponseTopicConfig{}
	return t
}

// topicCreator decides on the topics of one request.
type topicCreator struct {
	env        *Env
	settings   *config.Broker
	collisions collisions
	placer     *placer
}

// exceedsBatch tells whether the request asks for too many partitions altogether, in which case none
// is created.
func (c *topicCreator) exceedsBatch(req *kmsg.CreateTopicsRequest, seen map[string]int) bool {
	total := int64(0)
	for i := range req.Topics {
		t := &req.Topics[i]
		if seen[t.Topic] > 1 {
			continue
		}
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += int64(c.settings.Topics.NumPartitions)
		case t.NumPartitions > 0:
			total += int64(t.NumPartitions)
		}
	}
	return total > maxPartitionsPerBatch
}

// create decides on one topic. The order of the checks is the oracle's.
func (c *topicCreator) create(t *kmsg.CreateTopicsRequestTopic, tooMany bool) ([]metadata.Record, kmsg.CreateTopicsResponseTopic, error) {
	none := kmsg.CreateTopicsResponseTopic{}
	if tooMany {
		return nil, none, kerror.New(kerr.PolicyViolation, "Excessively large number of partitions per request.")
	}
	if t.Topic == clusterMetadataTopic {
		return nil, none, kerror.New(kerr.InvalidRequest, "Creation of internal topic %s is prohibited.", clusterMetadataTopic)
	}
	if err := c.checkName(t.Topic); err != nil {
		return nil, none, err
	}
	configs, err := c.checkConfigs(t)
	if err != nil {
		return nil, none, err
	}
	assignments, err := c.assign(t)
	if err != nil {
		return nil, none, err
	}
	id := uuid.New(c.env.Rand.Uint64)
	records := []metadata.Record{&metadata.TopicRecord{Name: t.Topic, TopicID: id}}
	for i, replicas := range assignments {
		records = append(records, newPartition(c.env.Image, id, int32(i), replicas))
	}
	for _, e := range configs {
		records = append(records, &metadata.ConfigRecord{ResourceType: image.ResourceTopic, ResourceName: t.Topic, Name: e.Key, Value: &e.Value})
	}
	return records, c.describe(t.Topic, id, assignments, configs), nil
}

func (c *topicCreator) checkName(name string) error {
	if err := image.ValidateTopicName(name); err != nil {
		return err
	}
	if c.env.Image.Topic(name) != nil {
		return kerror.New(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if other, ok := c.collisions.with(name); ok {
		return kerror.New(kerr.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return nil
}

// checkConfigs returns the request's keys in order of their first appearance; the last value of a
// key counts.
func (c *topicCreator) checkConfigs(t *kmsg.CreateTopicsRequestTopic) ([]image.ConfigEntry, error) {
	var entries []image.ConfigEntry
	var null []string
	values := map[string]string{}
	for _, kv := range t.Configs {
		if kv.Value == nil {
			null = append(null, kv.Name)
			continue
		}
		if _, ok := values[kv.Name]; !ok {
			entries = append(entries, image.ConfigEntry{Key: kv.Name})
		}
		values[kv.Name] = *kv.Value
	}
	if len(null) > 0 {
		return nil, kerror.New(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(null, ","))
	}
	for i := range entries {
		entries[i].Value = values[entries[i].Key]
	}
	if err := checkValueSizes(values); err != nil {
		return nil, err
	}
	return entries, c.settings.ValidateTopic(values)
}

// assign returns the replicas of each partition.
func (c *topicCreator) assign(t *kmsg.CreateTopicsRequestTopic) ([][]int32, error) {
	if len(t.ReplicaAssignment) > 0 {
		return c.assignManually(t)
	}
	partitions, factor := int(t.NumPartitions), int(t.ReplicationFactor)
	switch {
	case factor < -1 || factor == 0:
		return nil, kerror.New(kerr.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions < -1 || partitions == 0:
		return nil, kerror.New(kerr.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	if partitions == -1 {
		partitions = int(c.settings.Topics.NumPartitions)
	}
	if factor == -1 {
		factor = int(c.settings.Topics.DefaultReplicationFactor)
	}
	if c.placer == nil {
		c.placer = newPlacer(c.env.Image, c.env.Rand)
	}
	if err := c.placer.check(factor); err != nil {
		return nil, err
	}
	list := make([][]int32, partitions)
	for i := range list {
		list[i] = c.placer.place(factor)
	}
	return list, nil
}

func (c *topicCreator) assignManually(t *kmsg.CreateTopicsRequestTopic) ([][]int32, error) {
	if t.ReplicationFactor != -1 {
		return nil, kerror.New(kerr.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.NumPartitions != -1 {
		return nil, kerror.New(kerr.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	byPartition := map[int32][]int32{}
	factor := 0
	for _, a := range t.ReplicaAssignment {
		if _, ok := byPartition[a.Partition]; ok {
			return nil, kerror.New(kerr.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		}
		if err := validateAssignment(c.env.Image, a.Replicas, factor); err != nil {
			return nil, err
		}
		factor = len(a.Replicas)
		if len(activeOf(c.env.Image, a.Replicas)) == 0 {
			return nil, allInactive(a.Partition)
		}
		byPartition[a.Partition] = a.Replicas
	}
	list := make([][]int32, len(byPartition))
	for i := range list {
		replicas, ok := byPartition[int32(i)]
		if !ok {
			return nil, kerror.New(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		list[i] = replicas
	}
	return list, nil
}

func allInactive(partition int32) error {
	return kerror.New(kerr.InvalidReplicaAssignment,
		"All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", partition)
}

// newPartition is the record of a partition that begins on these replicas.
func newPartition(m *image.Image, topic image.ID, index int32, replicas []int32) *metadata.PartitionRecord {
	isr := activeOf(m, replicas)
	r := &metadata.PartitionRecord{
		PartitionID: index, TopicID: topic, Replicas: replicas, ISR: isr, Leader: image.NoLeader, Directories: make([]image.ID, len(replicas)),
	}
	if len(isr) > 0 {
		r.Leader = isr[0]
	}
	for i, id := range replicas {
		r.Directories[i] = image.DirectoryMigrating
		if b := m.Broker(id); b != nil && len(b.LogDirs) == 1 {
			r.Directories[i] = b.LogDirs[0]
		} else if b != nil && len(b.LogDirs) > 1 {
			r.Directories[i] = image.DirectoryUnassigned
		}
	}
	return r
}

// describe is the answer for a topic that is, or would be, created.
func (c *topicCreator) describe(name string, id image.ID, assignments [][]int32, configs []image.ConfigEntry) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.TopicID = name, id
	t.NumPartitions, t.ReplicationFactor = int32(len(assignments)), int16(len(assignments[0]))
	overrides := make(map[string]string, len(configs))
	for _, e := range configs {
		overrides[e.Key] = e.Value
	}
	rows := c.settings.DescribeTopic(overrides)
	t.Configs = make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(rows))
	for i := range rows {
		r := &rows[i]
		kv := kmsg.NewCreateTopicsResponseTopicConfig()
		kv.Name, kv.Value, kv.ReadOnly, kv.Source, kv.IsSensitive = r.Name, r.Value, r.ReadOnly, int8(r.Source), r.Sensitive
		// What was set is answered as it was sent, where DescribeConfigs shows it as it is understood.
		if text, ok := overrides[r.Name]; ok && !r.Sensitive {
			kv.Value = &text
		}
		t.Configs = append(t.Configs, kv)
	}
	return t
}
