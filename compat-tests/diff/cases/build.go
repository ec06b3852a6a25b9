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

// noID is the id of a topic that nobody has.
var noID = [16]byte{0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}

func str(s string) *string { return &s }

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

// partitionData is what a Produce request holds for one partition.
func partitionData(partition int32, records []byte) kmsg.ProduceRequestTopicPartition {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	return p
}

// produce sends records to partitions of one topic.
func produce(topic string, acks int16, partitions ...kmsg.ProduceRequestTopicPartition) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 5_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}

// produceBatch sends one batch to partition 0 with acks=all.
func produceBatch(topic string, b *diff.Batch) *kmsg.ProduceRequest {
	return produce(topic, -1, partitionData(0, b.Encode()))
}

// keyed is a record at start+n with a key and a value of that number.
func keyed(s *diff.Script, n int64) diff.Record {
	return diff.Record{Time: s.Time(n), Key: fmt.Appendf(nil, "k%d", n), Value: fmt.Appendf(nil, "v%d", n)}
}

// plain is a batch of n records from start+from on.
func plain(s *diff.Script, from, n int64) *diff.Batch {
	b := diff.NewBatch()
	for i := range n {
		b.Records = append(b.Records, keyed(s, from+i))
	}
	return b
}

// fill writes batches of the given numbers of records to partition 0.
func fill(s *diff.Script, topic string, counts ...int64) {
	var from int64
	for _, n := range counts {
		s.Quiet(9, produceBatch(topic, plain(s, from, n)))
		from += n
	}
}

// fetch reads as a consumer without a session.
func fetch(topic string, partitions ...kmsg.FetchRequestTopicPartition) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, 50, 1, 1<<20
	req.SessionID, req.SessionEpoch = 0, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}

func from(partition int32, offset int64) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	return p
}
