package testcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/log/batch"
)

// producer writes numbered records to one partition with acks=all, idempotently: a batch whose fate it wasn't
// told is sent again, with the same sequence numbers, until it is acknowledged.
type producer struct {
	*client
	partition int32
	codecs    *batch.Codecs
	// pause is the longest time between two batches.
	pause time.Duration

	id       int64
	epoch    int16
	sequence int32
	number   int
}

// init gets a producer id.
func (p *producer) init(ctx context.Context) bool {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.ProducerID, req.ProducerEpoch = 4, -1, -1
		if resp, err := p.ask(p.anyNode(), req); err == nil {
			if r := resp.(*kmsg.InitProducerIDResponse); r.ErrorCode == 0 {
				p.id, p.epoch = r.ProducerID, r.ProducerEpoch
				return true
			}
		}
		p.backoff(attempt)
	}
	return false
}

// run produces until stop is closed, or ctx ends; a batch that was begun is finished unless ctx ends.
func (p *producer) run(ctx context.Context, stop <-chan struct{}) {
	defer p.close()
	if !p.init(ctx) {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(p.rng.Int64N(int64(p.pause)))):
		}
		if !p.produce(ctx, 1+p.rng.IntN(3)) {
			return
		}
	}
}

// produce sends a batch until it is acknowledged; false if that will never be.
func (p *producer) produce(ctx context.Context, records int) bool {
	o := batch.DefaultOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = p.id, p.epoch, p.sequence
	b := p.codecs.NewBuilder(nil, o)
	var values []string
	for range records {
		p.number++
		v := fmt.Sprintf("%s.%d", p.name, p.number)
		values = append(values, v)
		b.Append(time.Now().UnixMilli(), nil, []byte(v))
	}
	raw, err := b.Build()
	if err != nil {
		panic(err) // The simulation's own mistake.
	}
	p.history.try(values)
	p.sequence += int32(records)
	for attempt := 0; ctx.Err() == nil; attempt++ {
		node, epoch, ok := p.leader(p.partition)
		if !ok {
			_ = p.refresh() // Tried again below.
			if node, epoch, ok = p.leader(p.partition); !ok {
				p.backoff(attempt)
				continue
			}
		}
		base, err := p.send(node, raw)
		switch {
		case err == nil:
			p.history.acked(p.partition, node, base, values, attempt == 0)
			p.cluster.events.add(p.name, "%v acknowledged by n%d at %d-%d, attempt %d", values, node, p.partition, base, attempt+1)
			return true
		case errors.Is(err, kerr.OutOfOrderSequenceNumber), errors.Is(err, kerr.UnknownProducerID), errors.Is(err, kerr.InvalidProducerEpoch),
			errors.Is(err, kerr.InvalidProducerIDMapping):
			// All batches before were acknowledged: the leader should have them.
			p.cluster.violate("%s: n%d, believed to lead epoch %d of partition %d, refuses %v: %v", p.name, node, epoch, p.partition, values, err)
			return false
		}
		p.cluster.events.add(p.name, "%v not acknowledged by n%d (epoch %d): %v", values, node, epoch, err)
		_ = p.refresh() // Tried again with the next attempt.
		p.backoff(attempt)
	}
	return false
}

// send sends a batch to a node once.
func (p *producer) send(node int32, raw []byte) (base int64, err error) {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 11, -1, int32(requestTimeout/time.Millisecond)-500
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	pt := kmsg.NewProduceRequestTopicPartition()
	pt.Partition, pt.Records = p.partition, raw
	t.Partitions = append(t.Partitions, pt)
	req.Topics = append(req.Topics, t)
	resp, err := p.ask(node, req)
	if err != nil {
		return 0, err
	}
	r := &resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return r.BaseOffset, kerr.ErrorForCode(r.ErrorCode)
}
