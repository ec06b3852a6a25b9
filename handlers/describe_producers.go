package handlers

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/wire"
)

// handleDescribeProducers, version 0: the producers that partitions remember (KIP-664).
func handleDescribeProducers(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DescribeProducersRequest)
	resp := kmsg.NewPtrDescribeProducersResponse()
	img := d.Image()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewDescribeProducersResponseTopic()
		out.Topic = t.Topic
		for _, partition := range t.Partitions {
			answer := kmsg.NewDescribeProducersResponseTopicPartition()
			answer.Partition = partition
			producers, err := d.Replicas.ActiveProducers(t.Topic, partition)
			if err != nil {
				answer.ErrorCode = d.codeOf(err, "describe producers", "topic", t.Topic, "partition", partition)
				if answer.ErrorCode == kerr.UnknownTopicOrPartition.Code && img.Topic(t.Topic) == nil {
					// Kafka tells of an unknown topic in words, not of an unknown partition.
					message := "This server does not host this topic-partition."
					answer.ErrorMessage = &message
				}
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
