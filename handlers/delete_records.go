package handlers

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/wire"
)

// handleDeleteRecords, versions 0 to 2: move log start offsets up (KIP-107).
func handleDeleteRecords(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DeleteRecordsRequest)
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for _, t := range deletions(req) {
		out := kmsg.NewDeleteRecordsResponseTopic()
		out.Topic = t.topic
		for _, p := range t.partitions {
			answer := kmsg.NewDeleteRecordsResponseTopicPartition()
			answer.Partition, answer.LowWatermark = p.Partition, -1
			low, err := deleteRecords(d, t.topic, p.Partition, p.Offset)
			if err != nil {
				answer.ErrorCode = d.codeOf(err, "delete records", "topic", t.topic, "partition", p.Partition)
			} else {
				answer.LowWatermark = low
			}
			out.Partitions = append(out.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, out)
	}
	r.Reply(resp)
}

// topicDeletions is what a request asks of one topic.
type topicDeletions struct {
	topic      string
	partitions []kmsg.DeleteRecordsRequestTopicPartition
}

// deletions gathers a request by partition, as Kafka does: one that is named twice is asked the last
// time, and a topic without partitions vanishes.
func deletions(req *kmsg.DeleteRecordsRequest) []topicDeletions {
	var list []topicDeletions
	topics := make(map[string]int)
	places := make(map[topicPartitionName]int)
	for i := range req.Topics {
		t := &req.Topics[i]
		for _, p := range t.Partitions {
			at, ok := topics[t.Topic]
			if !ok {
				at = len(list)
				topics[t.Topic] = at
				list = append(list, topicDeletions{topic: t.Topic})
			}
			key := topicPartitionName{t.Topic, p.Partition}
			if place, twice := places[key]; twice {
				list[at].partitions[place] = p
				continue
			}
			places[key] = len(list[at].partitions)
			list[at].partitions = append(list[at].partitions, p)
		}
	}
	return list
}

func deleteRecords(d *Deps, topic string, partition int32, offset int64) (int64, error) {
	switch {
	case d.Image().Partition(topic, partition) == nil:
		return -1, kerr.UnknownTopicOrPartition
	case isInternalTopic(topic):
		return -1, kerr.InvalidTopicException
	}
	return d.Replicas.DeleteRecords(topic, partition, offset)
}
