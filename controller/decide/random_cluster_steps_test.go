package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/ottla/ottla/controller/image"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is one random thing that happens.
func (c *randomCluster) step() {
	c.mayLose, c.proposed = false, nil
	p := c.brokers[c.rng.IntN(len(c.brokers))]
	switch c.rng.IntN(24) {
	case 0, 1, 2, 3, 4:
		c.beat(p, false)
	case 5:
		c.beat(p, true)
	case 6, 7, 8:
		if !p.running {
			c.boot(p)
			c.beat(p, false)
		}
	case 9:
		c.crash(p)
	case 10:
		c.pass(time.Duration(c.rng.IntN(7000)) * time.Millisecond)
	case 11:
		c.live = NewLiveness(c.image, c.settings, c.now)
	case 12:
		c.changeSettings()
	case 13:
		c.changeTopics()
	case 14:
		c.elect()
	case 15, 16:
		c.reassign()
	case 17, 18:
		c.commit()
	default:
		c.changeISR()
	}
}

// crash ends a process; what it hadn't flushed is lost, and now and then a disk with all it held.
func (c *randomCluster) crash(p *testProcess) {
	if !p.running {
		return
	}
	c.last = fmt.Sprintf("crash of %d", p.id)
	p.running, p.cleanEpoch = false, -1
	c.stale[p.id] = p.epoch
	c.lose(p.id, nil)
}

// pass lets time go by; what is due is decided.
func (c *randomCluster) pass(d time.Duration) {
	end := c.now.Add(d)
	for range 1000 {
		due := NextDue(c.env(), c.live)
		if due.After(end) {
			c.now = end
			return
		}
		if due.After(c.now) {
			c.now = due
		}
		c.last = "tick"
		decision := Tick(c.env(), c.live)
		c.apply(&decision)
	}
	c.t.Fatal("something is always due")
}

func (c *randomCluster) changeSettings() {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(image.ResourceTopic), c.topicName()
	if c.rng.IntN(3) == 0 {
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(image.ResourceBroker), ""
	}
	kv := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	kv.Name = minInsync
	value := fmt.Sprint(1 + c.rng.IntN(3))
	if kv.Value = &value; c.rng.IntN(6) == 0 {
		value = fmt.Sprint(c.rng.IntN(3) == 0)
		kv.Name = uncleanElection
	}
	r.Configs = append(r.Configs, kv)
	req.Resources = append(req.Resources, r)
	c.ask(req)
}

func (c *randomCluster) topicName() string { return fmt.Sprint("t", c.rng.IntN(4)) }

func (c *randomCluster) changeTopics() {
	switch name := c.topicName(); c.rng.IntN(5) {
	case 0:
		req := kmsg.NewPtrDeleteTopicsRequest()
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Version = 6
		req.Topics = append(req.Topics, t)
		c.ask(req)
	case 1:
		req := kmsg.NewPtrUnregisterBrokerRequest()
		if req.BrokerID = 1 + int32(c.rng.IntN(5)); !c.isUp(req.BrokerID) {
			c.ask(req)
		}
	default:
		req := kmsg.NewPtrCreateTopicsRequest()
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(1+c.rng.IntN(3)), int16(1+c.rng.IntN(4))
		req.Topics = append(req.Topics, t)
		c.ask(req)
	}
}

func (c *randomCluster) elect() {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = int8(c.rng.IntN(5) / 4)
	req.Topics = nil
	c.mayLose = req.ElectionType == typeUnclean
	c.ask(req)
}

// somePartition is one of the image's; false if there is none.
func (c *randomCluster) somePartition() (image.PartitionRef, bool) {
	n := c.image.NumPartitions()
	if n == 0 {
		return image.PartitionRef{}, false
	}
	k := c.rng.IntN(n)
	for t := range c.image.Topics() {
		for i, p := range t.Partitions() {
			if k == 0 {
				return image.PartitionRef{Topic: t, Index: i, Partition: p}, true
			}
			k--
		}
	}
	return image.PartitionRef{}, false
}

func (c *randomCluster) reassign() {
	ref, ok := c.somePartition()
	if !ok {
		return
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version, req.AllowReplicationFactorChange = 1, true
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = ref.Topic.Name
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition = ref.Index
	if c.rng.IntN(4) > 0 {
		for _, id := range c.rng.Perm(5)[:1+c.rng.IntN(4)] {
			p.Replicas = append(p.Replicas, int32(id+1))
		}
	}
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	c.mayLose = p.Replicas == nil && newTopicRules(c.env(), c.image).of(ref.Topic).unclean
	c.ask(req)
}

// commit lets a leader commit a record: everybody in sync has it, nobody else.
func (c *randomCluster) commit() {
	ref, ok := c.somePartition()
	if !ok || ref.Partition.Leader == image.NoLeader {
		return
	}
	for _, id := range ref.Partition.ISR {
		if !c.isUp(id) {
			return
		}
	}
	topic := c.env().settings().Topic(c.image.Configs(image.ResourceTopic, ref.Topic.Name))
	if len(ref.Partition.ISR) < min(int(topic.MinInsyncReplicas), len(ref.Partition.Replicas)) {
		return
	}
	c.last = "commit"
	h := c.history[partitionKey{ref.Topic.ID, ref.Index}]
	for id := range h.complete {
		if !slices.Contains(ref.Partition.ISR, id) {
			delete(h.complete, id)
		}
	}
}

// changeISR lets a leader ask for another ISR. It adds who has caught up, and now and then somebody of whom
// it doesn't know that he crashed since.
func (c *randomCluster) changeISR() {
	ref, ok := c.somePartition()
	if !ok || ref.Partition.Leader == image.NoLeader || !c.isUp(ref.Partition.Leader) {
		return
	}
	leader := c.brokers[ref.Partition.Leader-1]
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, leader.id, leader.epoch
	p := kmsg.NewAlterPartitionRequestTopicPartition()
	p.Partition, p.LeaderEpoch, p.PartitionEpoch = ref.Index, ref.Partition.LeaderEpoch, ref.Partition.PartitionEpoch
	var caughtUp []int32
	for _, id := range ref.Partition.Replicas {
		if id != leader.id && c.rng.IntN(3) == 0 {
			continue
		}
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = id, c.brokers[id-1].epoch
		if old, ok := c.stale[id]; ok && c.rng.IntN(10) == 0 && id != leader.id {
			member.BrokerEpoch = old
		} else if !c.isUp(id) {
			continue
		}
		p.NewEpochISR = append(p.NewEpochISR, member)
		if member.BrokerEpoch == c.brokers[id-1].epoch {
			caughtUp = append(caughtUp, id)
		}
	}
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.TopicID, rt.Partitions = ref.Topic.ID, append(rt.Partitions, p)
	req.Topics = append(req.Topics, rt)
	h := c.history[partitionKey{ref.Topic.ID, ref.Index}]
	before := map[int32]bool{}
	for _, id := range caughtUp {
		before[id] = h.complete[id]
		h.complete[id] = true
	}
	offset := c.image.Offset()
	c.proposed = caughtUp
	c.ask(req)
	if c.image.Offset() == offset {
		for id, was := range before {
			if !was && id != leader.id {
				delete(h.complete, id)
			}
		}
	}
}
