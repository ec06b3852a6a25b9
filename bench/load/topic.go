package load

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions of requests that Kafka 2.8 and later have, with topic names rather than ids.
const (
	createTopicsVersion = 5
	deleteTopicsVersion = 5
	metadataVersion     = 9
	listOffsetsVersion  = 6
)

// CreateTopic creates a topic with one replica a partition, and with settings (name and value) if there are
// any, and waits until it has leaders.
func CreateTopic(address, name string, partitions int, configs ...[2]string) error {
	// Deleted data must leave the disk soon: a run writes many gigabytes.
	if err := createTopic(address, name, partitions, append(configs, [2]string{"file.delete.delay.ms", "1000"})...); err != nil {
		return err
	}
	return awaitAnswers(address, []string{name}, partitions, 20*time.Second)
}

func createTopic(address, name string, partitions int, configs ...[2]string) error {
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = createTopicsVersion, 60_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
	for _, kv := range configs {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: kv[0], Value: &kv[1]})
	}
	req.Topics = append(req.Topics, t)
	r, err := c.ask(req)
	if err != nil {
		return err
	}
	topics := r.(*kmsg.CreateTopicsResponse).Topics
	if len(topics) != 1 {
		return fmt.Errorf("%d topics answered", len(topics))
	}
	return kerr.ErrorForCode(topics[0].ErrorCode)
}

// AwaitLeaders waits until every partition of the topics has a leader.
func AwaitLeaders(address string, topics []string, partitions int, limit time.Duration) error {
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	deadline := time.Now().Add(limit)
	for _, name := range topics {
		for {
			ready, err := c.led(name, partitions)
			if err != nil {
				return err
			}
			if ready {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s gets no leader", name)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// Leader is the address of a partition's leader.
func Leader(address, topic string, partition int32) (string, error) {
	c, err := dial(address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	resp, err := c.metadata(topic)
	if err != nil {
		return "", err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			for _, b := range resp.Brokers {
				if p.Partition == partition && b.NodeID == p.Leader {
					return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), nil
				}
			}
		}
	}
	return "", fmt.Errorf("%s-%d has no leader", topic, partition)
}

func (c *conn) metadata(topic string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = metadataVersion
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
	r, err := c.ask(req)
	if err != nil {
		return nil, err
	}
	return r.(*kmsg.MetadataResponse), nil
}

// led says whether all partitions have leaders.
func (c *conn) led(name string, partitions int) (bool, error) {
	resp, err := c.metadata(name)
	if err != nil {
		return false, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != partitions {
		return false, nil
	}
	for _, p := range resp.Topics[0].Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 {
			return false, nil
		}
	}
	return true, nil
}

// CreateTopics creates topics one after the other and waits until all have leaders that answer. Kafka needs
// minutes for thousands of partitions on a busy machine.
func CreateTopics(address string, names []string, partitions int, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for _, name := range names {
		if err := createTopic(address, name, partitions, [2]string{"file.delete.delay.ms", "1000"}); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return awaitAnswers(address, names, partitions, time.Until(deadline))
}

// awaitAnswers waits until every partition of the topics has a leader that answers for it: Kafka's metadata
// name a leader before the broker knows that it is it.
func awaitAnswers(address string, topics []string, partitions int, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	if err := AwaitLeaders(address, topics, partitions, limit); err != nil {
		return err
	}
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	all := make([]int32, partitions)
	for i := range all {
		all[i] = int32(i)
	}
	for _, name := range topics {
		for {
			got, err := c.endOffsets(name, all)
			if err == nil && len(got) == partitions {
				break
			}
			if err != nil && !kerr.IsRetriable(err) {
				return err
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s isn't answered for: %w", name, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// DeleteTopic deletes a topic.
func DeleteTopic(address, name string) error { return DeleteTopics(address, []string{name}) }

// DeleteTopics deletes topics. Of several some may be missing.
func DeleteTopics(address string, names []string) error {
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = deleteTopicsVersion, 30_000, names
	r, err := c.ask(req)
	if err != nil {
		return err
	}
	for _, t := range r.(*kmsg.DeleteTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !(len(names) > 1 && errors.Is(err, kerr.UnknownTopicOrPartition)) {
			return err
		}
	}
	return nil
}

// endOffset is the offset that the next record of a partition gets.
func (c *conn) endOffset(name string, partition int32) (int64, error) {
	got, err := c.endOffsets(name, []int32{partition})
	if err != nil {
		return 0, err
	}
	if len(got) != 1 {
		return 0, errors.New("the partition isn't answered")
	}
	return got[0], nil
}

// endOffsets is endOffset of several partitions, in the order of the answer.
func (c *conn) endOffsets(name string, partitions []int32) ([]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = listOffsetsVersion, -1
	t := kmsg.ListOffsetsRequestTopic{Topic: name}
	for _, i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp, p.CurrentLeaderEpoch = i, -1, -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = []kmsg.ListOffsetsRequestTopic{t}
	r, err := c.ask(req)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, t := range r.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			out = append(out, p.Offset)
		}
	}
	return out, nil
}
