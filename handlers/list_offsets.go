package handlers

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// offsetNotAvailableFrom is the version whose clients know OFFSET_NOT_AVAILABLE (KIP-207).
const offsetNotAvailableFrom = 5

// handleListOffsets, versions 1 to 11: offsets by time.
//
//	2  isolation level           8  earliest local, -4 (KIP-405)
//	4  leader epochs (KIP-320)   9  latest tiered, -5 (KIP-1005)
//	6  flexible                 10  timeout (KIP-1075)
//	7  max timestamp, -3        11  earliest pending upload, -6 (KIP-1023)
func handleListOffsets(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.ListOffsetsRequest)
	resp := kmsg.NewPtrListOffsetsResponse()
	duplicates := duplicatePartitions(req)
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = t.Topic
		for j := range t.Partitions {
			p := &t.Partitions[j]
			key := topicPartitionName{t.Topic, p.Partition}
			answer := kmsg.NewListOffsetsResponseTopicPartition()
			answer.Partition, answer.Offset, answer.Timestamp, answer.LeaderEpoch = p.Partition, -1, -1, -1
			if told, twice := duplicates[key]; twice {
				if told {
					continue
				}
				duplicates[key] = true
				answer.ErrorCode = kerr.InvalidRequest.Code
			} else {
				listOffset(d, req, t.Topic, p, &answer)
			}
			out.Partitions = append(out.Partitions, answer)
		}
		if len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	r.Reply(resp)
}

type topicPartitionName struct {
	topic     string
	partition int32
}

// duplicatePartitions lists the partitions that a request names more than once; each is answered
// once, with an error. The value is for the caller, to mark what it answered.
func duplicatePartitions(req *kmsg.ListOffsetsRequest) map[topicPartitionName]bool {
	seen := make(map[topicPartitionName]struct{})
	var duplicates map[topicPartitionName]bool
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			key := topicPartitionName{t.Topic, p.Partition}
			if _, ok := seen[key]; ok {
				if duplicates == nil {
					duplicates = make(map[topicPartitionName]bool)
				}
				duplicates[key] = false
			}
			seen[key] = struct{}{}
		}
	}
	return duplicates
}

// minVersionOfTimestamp is the request version that introduced a special timestamp, a version that
// doesn't exist for unknown ones.
func minVersionOfTimestamp(timestamp int64) int16 {
	switch timestamp {
	case replica.LatestTimestamp, replica.EarliestTimestamp:
		return 1
	case replica.MaxTimestamp:
		return 7
	case replica.EarliestLocalTimestamp:
		return 8
	case replica.LatestTieredTimestamp:
		return 9
	case replica.EarliestPendingUploadTimestamp:
		return 11
	}
	if timestamp >= 0 {
		return 1
	}
	return 1<<15 - 1
}

// listOffset answers one partition.
func listOffset(d *Deps, req *kmsg.ListOffsetsRequest, topic string, p *kmsg.ListOffsetsRequestTopicPartition, answer *kmsg.ListOffsetsResponseTopicPartition) {
	if req.Version < minVersionOfTimestamp(p.Timestamp) {
		answer.ErrorCode = kerr.UnsupportedVersion.Code
		return
	}
	if req.IsolationLevel != replica.ReadUncommitted && req.IsolationLevel != replica.ReadCommitted {
		answer.ErrorCode = kerr.UnknownServerError.Code
		return
	}
	epoch := p.CurrentLeaderEpoch
	if req.Version < 4 {
		epoch = replica.NoLeaderEpoch
	}
	found, err := d.Replicas.ListOffset(topic, p.Partition, replica.OffsetQuery{
		Timestamp: p.Timestamp, Isolation: req.IsolationLevel, ReplicaID: req.ReplicaID, CurrentLeaderEpoch: epoch,
	})
	if err != nil {
		if req.Version < offsetNotAvailableFrom && errors.Is(err, kerr.OffsetNotAvailable) {
			err = kerr.LeaderNotAvailable
		}
		answer.ErrorCode = d.codeOf(err, "list offsets", "topic", topic, "partition", p.Partition)
		return
	}
	answer.Offset, answer.Timestamp, answer.LeaderEpoch = found.Offset, found.TimestampMs, found.LeaderEpoch
}
