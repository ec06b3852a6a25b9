package handlers

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/wire"
)

// handleOffsetForLeaderEpoch, versions 2 to 4: where leader epochs end (KIP-101, KIP-320).
func handleOffsetForLeaderEpoch(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			answer := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			answer.Partition, answer.LeaderEpoch, answer.EndOffset = p.Partition, -1, -1
			end, err := d.Replicas.EpochEndOffset(t.Topic, p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch)
			if err != nil {
				answer.ErrorCode = d.codeOf(err, "look up leader epoch", "topic", t.Topic, "partition", p.Partition)
			} else {
				answer.LeaderEpoch, answer.EndOffset = end.Epoch, end.EndOffset
			}
			out.Partitions = append(out.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, out)
	}
	r.Reply(resp)
}
