package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Trickle is a load of single records to many partitions, one a second each: a request has a batch of one
// record for every partition of one topic, and each topic has a request a second, evenly spread, on one
// connection with acks=all.
type Trickle struct {
	Address     string
	Topics      []string
	Partitions  int // of each topic
	RecordBytes int
	Seconds     int64
	// Late is how long after the end of these seconds requests are still sent to a broker that doesn't keep up;
	// the others are left out.
	Late time.Duration
}

// Run sends the requests and waits for the answers. Latencies count from when a request was due.
func (t Trickle) Run() (Result, error) {
	c, err := dial(t.Address)
	if err != nil {
		return Result{}, err
	}
	defer c.Close()
	batch := makeRecords(1, t.RecordBytes, time.Now())
	frames := make([][]byte, len(t.Topics))
	for i, name := range t.Topics {
		frames[i] = appendFrame(nil, toAll(name, t.Partitions, -1, batch))
	}
	n := int64(len(t.Topics))
	p := pace{time.Now().Add(50 * time.Millisecond), n}
	var r Result
	r.Requests, err = paced(c, p, n*t.Seconds, 1, p.due(n*t.Seconds).Add(t.Late), streamDepth, func(f flight) []byte {
		return frames[f.first%n]
	}, func(answer []byte, f flight) error {
		r.latencies = append(r.latencies, time.Since(p.due(f.first)))
		r.Records += int64(t.Partitions)
		r.Bytes += int64(t.Partitions * len(batch))
		return allWritten(answer, t.Partitions)
	})
	r.Elapsed = time.Since(p.start)
	return *r.sorted(), err
}

// SentShare is the share of the requests that were sent.
func (t *Trickle) SentShare(r *Result) float64 {
	return float64(r.Requests) / float64(int64(len(t.Topics))*t.Seconds)
}

// toAll is a Produce request with the same batch for each partition of a topic.
func toAll(topic string, partitions int, acks int16, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, acks, 60_000
	t := kmsg.ProduceRequestTopic{Topic: topic}
	for p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.ProduceRequestTopicPartition{Partition: int32(p), Records: batch})
	}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	return req
}

// allWritten looks whether an answer to toAll has no error for any partition.
func allWritten(answer []byte, partitions int) error {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = produceVersion
	if len(answer) < 5 {
		return errors.New("a Produce answer that ends early")
	}
	if err := resp.ReadFrom(answer[5:]); err != nil { // behind correlation id and tags
		return err
	}
	return written(resp, partitions)
}

// written looks whether all partitions of the one topic are answered without an error.
func written(resp *kmsg.ProduceResponse, partitions int) error {
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != partitions {
		return errors.New("not every partition is answered")
	}
	for _, p := range resp.Topics[0].Partitions {
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return fmt.Errorf("partition %d: %w", p.Partition, err)
		}
	}
	return nil
}
