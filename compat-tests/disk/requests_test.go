package disk

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/compat-tests/diff"
)

// topic has one partition with small segments.
const topic = "full"

func (r *rig) createTopic() {
	r.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, 1, 1
	for k, v := range map[string]string{"segment.bytes": "1048576", "retention.ms": "-1"} {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, kmsg.StringPtr(v)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(r.t.Context(), r.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.topicID = resp.Topics[0].TopicID
}

// produceRaw asks once and returns code and message of the answer.
func (r *rig) produceRaw() (code int16, message string) {
	r.t.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	rt, rp := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	rt.Topic, rt.TopicID = topic, r.topicID
	rp.Records = diff.NewBatch(diff.Record{Time: time.Now().UnixMilli(), Value: make([]byte, 100_000)}).Encode()
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(r.t.Context(), r.client)
	if err != nil {
		r.t.Fatal(err)
	}
	p := resp.Topics[0].Partitions[0]
	if p.ErrorMessage != nil {
		message = *p.ErrorMessage
	}
	return p.ErrorCode, message
}

// deleteRecords deletes all records below an offset.
func (r *rig) deleteRecords(offset int64) {
	r.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	rt, rp := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	rt.Topic, rp.Offset = topic, offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(r.t.Context(), r.newClient())
	if err != nil {
		r.t.Fatal(err)
	}
	if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.LowWatermark != offset {
		r.t.Fatalf("delete records below %d: error %d, low watermark %d", offset, p.ErrorCode, p.LowWatermark)
	}
}

// describeLogDir is the room of the broker's log directory.
func (r *rig) describeLogDir() (total, usable int64) {
	r.t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = nil
	resp, err := req.RequestWith(r.t.Context(), r.client.Broker(1))
	if err != nil {
		r.t.Fatal(err)
	}
	if len(resp.Dirs) != 1 || resp.Dirs[0].ErrorCode != 0 || resp.Dirs[0].Dir != r.data {
		r.t.Fatalf("log directories %+v", resp.Dirs)
	}
	return resp.Dirs[0].TotalBytes, resp.Dirs[0].UsableBytes
}

// commitOffset commits an offset of a group.
func (r *rig) commitOffset() {
	r.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = "g", -1
	rt, rp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	rt.Topic, rt.TopicID, rp.Offset = topic, r.topicID, 1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(r.t.Context(), r.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		r.t.Errorf("commit of an offset below the floor: %v", err)
	}
}
