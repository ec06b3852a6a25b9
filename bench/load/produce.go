package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceVersion is the newest Produce version with topic names.
const produceVersion = 12

// Produce is a load of Produce requests, each with one batch for one partition.
type Produce struct {
	Address     string
	Topic       string
	Partitions  int // connections take them in turn
	BatchBytes  int
	RecordBytes int
	Connections int
	Depth       int   // requests in flight on a connection
	Acks        int16 // 1 or -1
	Requests    int64 // on all connections together
	// For is how long to send instead of a number of requests.
	For   time.Duration
	Codec Codec
}

// Run sends the requests and waits for the answers.
func (p Produce) Run() (Result, error) {
	if p.Acks == 0 {
		return Result{}, errors.New("acks 0 has no answers to wait for")
	}
	if len(p.Topic) > 126 {
		return Result{}, errors.New("the topic's name is too long")
	}
	batch, records := makeBatch(p.BatchBytes, p.RecordBytes, time.Now())
	batch, err := compress(batch, records, p.Codec, time.Now())
	if err != nil {
		return Result{}, err
	}
	q := quota{total: p.Requests / int64(p.Connections)}
	if p.For > 0 {
		q = quota{until: time.Now().Add(p.For)}
	}
	return spread(p.Address, p.Connections, func(i int, c *conn) (Result, error) {
		partition := int32(i % p.Partitions)
		frame := p.frame(partition, batch)
		want := p.answer(partition)
		return exchange(c, p.Depth, q, func(id uint32) []byte {
			setCorrelation(frame, id)
			return frame
		}, func(answer []byte, r *Result) error {
			if err := check(answer, want); err != nil {
				return err
			}
			r.Records += int64(records)
			r.Bytes += int64(len(batch))
			return nil
		})
	})
}

// frame encodes the request. The broker patches offsets into its own copy, so it can be sent often.
func (p *Produce) frame(partition int32, batch []byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, p.Acks, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{{
		Topic: p.Topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch}},
	}}
	return appendFrame(nil, req)
}

// answer is how the body of an answer without error begins: one topic, its name, one partition, its
// number and error 0.
func (p *Produce) answer(partition int32) []byte {
	b := []byte{0, 2, byte(len(p.Topic) + 1)} // no tags in the header, one topic
	b = append(append(b, p.Topic...), 2)
	b = binary.BigEndian.AppendUint32(b, uint32(partition))
	return append(b, 0, 0)
}

// check compares an answer's start with what success looks like.
func check(answer, want []byte) error {
	got := answer[4:]
	if bytes.HasPrefix(got, want) {
		return nil
	}
	if n := len(want) - 2; len(got) >= n+2 && bytes.HasPrefix(got, want[:n]) {
		return kerr.ErrorForCode(int16(binary.BigEndian.Uint16(got[n:])))
	}
	return fmt.Errorf("an answer that isn't understood: %x", got[:min(len(got), 64)])
}
