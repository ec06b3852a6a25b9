package load

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestNext(t *testing.T) {
	at := func(offset int64, n int) []byte {
		b := makeRecords(n, 100, time.UnixMilli(1))
		binary.BigEndian.PutUint64(b, uint64(offset))
		return b
	}
	join := func(all ...[]byte) (out []byte) {
		for _, b := range all {
			out = append(out, b...)
		}
		return out
	}
	whole := join(at(4, 3), at(7, 1), at(8, 2))
	for _, c := range []struct {
		name    string
		records []byte
		want    int64
		end     int64 // -1 for an error
	}{
		{"none", nil, 4, 4},
		{"three batches", whole, 4, 10},
		{"from the middle of the first", whole, 6, 10},
		{"the last one cut", whole[:len(whole)-1], 4, 8},
		{"the first one cut", whole[:100], 4, 4},
		{"cut in a header", whole[:30], 4, 4},
		{"a hole before", whole, 3, -1},
		{"a hole between", join(at(4, 1), at(6, 1)), 4, -1},
		{"an old batch", at(4, 3), 7, -1},
	} {
		end, err := next(c.records, c.want)
		if (err != nil) != (c.end < 0) || err == nil && end != c.end {
			t.Errorf("%s: got %d, %v; want %d", c.name, end, err, c.end)
		}
	}
}

func TestQuota(t *testing.T) {
	now := time.Unix(10, 0)
	for _, c := range []struct {
		q    quota
		sent int64
		want bool
	}{
		{quota{total: 2}, 1, true}, {quota{total: 2}, 2, false}, {quota{}, 0, false},
		{quota{until: now.Add(1)}, 1e9, true}, {quota{until: now}, 1, false}, {quota{until: now}, 0, true},
	} {
		if got := c.q.more(c.sent, now); got != c.want {
			t.Errorf("%+v after %d: %v", c.q, c.sent, got)
		}
	}
}

func TestSetPartition(t *testing.T) {
	for _, size := range []int{100, 2 << 10, 16 << 10, 512 << 10} {
		p := Produce{Topic: "topic", Acks: 1}
		batch, _ := makeBatch(size, 1024, time.UnixMilli(1))
		frame := p.frame(0, batch)
		setPartition(frame, len(batch), 7777)
		req := kmsg.NewPtrProduceRequest()
		req.Version = produceVersion
		if err := req.ReadFrom(frame[4+8+2+len("ottla-bench")+1:]); err != nil {
			t.Fatal(err)
		}
		if got := req.Topics[0].Partitions[0]; got.Partition != 7777 || len(got.Records) != len(batch) {
			t.Errorf("%d: partition %d with %d bytes", size, got.Partition, len(got.Records))
		}
	}
}

func TestAllWritten(t *testing.T) {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = produceVersion
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = "topic"
	for i := range 3 {
		p := kmsg.NewProduceResponseTopicPartition()
		p.Partition = int32(i)
		topic.Partitions = append(topic.Partitions, p)
	}
	resp.Topics = append(resp.Topics, topic)
	answer := func() []byte { return resp.AppendTo([]byte{0, 0, 0, 1, 0}) }
	if err := allWritten(answer(), 3); err != nil {
		t.Error(err)
	}
	if err := allWritten(answer(), 4); err == nil {
		t.Error("a partition is missing, and nobody minds")
	}
	if err := allWritten([]byte{0, 0, 0, 1}, 3); err == nil {
		t.Error("an answer without a body was taken")
	}
	resp.Topics[0].Partitions[1].ErrorCode = 6
	if err := allWritten(answer(), 3); err == nil {
		t.Error("an error was taken for success")
	}
}
