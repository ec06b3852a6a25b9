package cases

import (
	"fmt"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// versions adds one case for each version of an API.
func versions(l *list, from, to int16, play func(s *diff.Script, version int16)) {
	for v := from; v <= to; v++ {
		l.add(fmt.Sprintf("versions-%02d", v), func(s *diff.Script) { play(s, v) })
	}
}

// listOffsets asks for offsets as a consumer.
func listOffsets(topics ...kmsg.ListOffsetsRequestTopic) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.TimeoutMillis = -1, 5_000
	req.Topics = topics
	return req
}

func offsetsOf(topic string, partitions ...kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsRequestTopic {
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	return t
}

func at(partition int32, timestamp int64) kmsg.ListOffsetsRequestTopicPartition {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, timestamp
	return p
}
