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
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewDeleteRecordsResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			answer := kmsg.NewDeleteRecordsResponseTopicPartition()
			answer.Partition, answer.LowWatermark = p.Partition, -1
			low, err := deleteRecords(d, t.Topic, p.Partition, p.Offset)
			if err != nil {
				answer.ErrorCode = d.codeOf(err, "delete records", "topic", t.Topic, "partition", p.Partition)
			} else {
				answer.LowWatermark = low
			}
			out.Partitions = append(out.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, out)
	}
	r.Reply(resp)
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
