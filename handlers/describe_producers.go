package handlers

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// handleDescribeProducers, version 0: the producers that partitions remember (KIP-664).
func handleDescribeProducers(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeProducersRequest)
	resp := kmsg.NewPtrDescribeProducersResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewDescribeProducersResponseTopic()
		out.Topic = t.Topic
		for _, partition := range t.Partitions {
			answer := kmsg.NewDescribeProducersResponseTopicPartition()
			answer.Partition = partition
			producers, err := describeProducers(d, t.Topic, partition)
			if err != nil {
				answer.ErrorCode = d.codeOf(err, "describe producers", "topic", t.Topic, "partition", partition)
				answer.ErrorMessage = kerror.MessageOf(err)
			}
			for _, p := range producers {
				a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
				a.ProducerID, a.ProducerEpoch, a.LastSequence = p.ProducerID, int32(p.ProducerEpoch), p.LastSequence
				a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = p.LastTimestampMs, p.CoordinatorEpoch, p.CurrentTxnStartOffset
				answer.ActiveProducers = append(answer.ActiveProducers, a)
			}
			out.Partitions = append(out.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, out)
	}
	r.Reply(resp)
}

// describeProducers refuses names that no topic has, and topics that aren't there, in words; a
// partition that isn't there, without.
func describeProducers(d *Deps, topic string, partition int32) ([]replica.ProducerState, error) {
	if err := image.ValidateTopicName(topic); err != nil {
		return nil, err
	}
	if d.Image().Topic(topic) == nil {
		return nil, kerror.New(kerr.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	return d.Replicas.ActiveProducers(topic, partition)
}
