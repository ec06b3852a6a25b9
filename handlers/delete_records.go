package handlers

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// handleDeleteRecords, versions 0 to 2: move log start offsets up (KIP-107). The answer leaves when the
// followers on live brokers have followed.
func handleDeleteRecords(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.DeleteRecordsRequest)
	topics := deletions(req)
	plan := &replica.DeletePlan{}
	for _, t := range topics {
		for _, p := range t.partitions {
			plan.Partitions = append(plan.Partitions, replica.DeletePartition{
				Topic: t.topic, Partition: p.Partition, Offset: p.Offset, Err: refusedDeletion(d, t.topic, p.Partition),
			})
		}
	}
	if !d.Replicas.Delete(plan) {
		replyDeleteRecords(d, r, topics, plan)
		return
	}
	timeout := time.Duration(req.TimeoutMillis) * time.Millisecond
	r.ReleaseFrame()
	waits := d.Replicas.AwaitDelete(plan, timeout, func() {
		defer d.guard(r)
		d.Replicas.CancelDelete(plan) // The timer isn't needed any more.
		replyDeleteRecords(d, r, topics, plan)
	})
	if !waits {
		r.NoReply()
		return
	}
	r.OnClose(func() {
		if d.Replicas.CancelDelete(plan) {
			r.NoReply()
		}
	})
}

// replyDeleteRecords answers what came of a plan, which has the partitions of topics in order.
func replyDeleteRecords(d *Deps, r *wire.Request, topics []topicDeletions, plan *replica.DeletePlan) {
	resp := kmsg.NewPtrDeleteRecordsResponse()
	i := 0
	for _, t := range topics {
		out := kmsg.NewDeleteRecordsResponseTopic()
		out.Topic = t.topic
		for range t.partitions {
			dp := &plan.Partitions[i]
			i++
			answer := kmsg.NewDeleteRecordsResponseTopicPartition()
			answer.Partition, answer.LowWatermark = dp.Partition, dp.LowWatermark
			if dp.Err != nil {
				answer.ErrorCode = d.codeOf(dp.Err, "delete records", "topic", t.topic, "partition", dp.Partition)
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

// refusedDeletion is why a partition's records can't be deleted whatever its state, nil if they may be.
func refusedDeletion(d *Deps, topic string, partition int32) error {
	switch {
	case d.Image().Partition(topic, partition) == nil:
		return kerr.UnknownTopicOrPartition
	case isInternalTopic(topic):
		return kerr.InvalidTopicException
	}
	return nil
}
