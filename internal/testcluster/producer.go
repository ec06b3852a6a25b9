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

// maxInFlight is how many batches of a producer may be under way: as many as brokers remember (KIP-98).
const maxInFlight = 5

// producer writes numbered records to one partition with acks=all, idempotently and with several batches in flight:
// those whose fate it wasn't told are sent again, in order and with the same sequence numbers, until they are
// acknowledged.
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
	// waiting are the batches that aren't acknowledged, in order; at most maxInFlight.
	waiting []sentBatch
	// known says that a batch was acknowledged: the partition knows the producer.
	known bool
}

// sentBatch is a batch of a producer.
type sentBatch struct {
	raw    []byte
	values []string
	// attempts is how often it was sent.
	attempts int
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
		for range 1 + p.rng.IntN(maxInFlight) {
			p.build(1 + p.rng.IntN(3))
		}
		if !p.produce(ctx) {
			return
		}
	}
}

// build makes a batch, which waits to be acknowledged from then on.
func (p *producer) build(records int) {
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
	p.waiting = append(p.waiting, sentBatch{raw: raw, values: values})
}

// produce sends what waits until all of it is acknowledged; false if that will never be.
func (p *producer) produce(ctx context.Context) bool {
	for attempt := 0; len(p.waiting) > 0; attempt++ {
		if ctx.Err() != nil {
			return false
		}
		node, epoch, ok := p.leader(p.partition)
		if !ok {
			_ = p.refresh() // Tried again below.
			if node, epoch, ok = p.leader(p.partition); !ok {
				p.backoff(attempt)
				continue
			}
		}
		err := p.send(node)
		switch {
		case err == nil:
			continue
		case errors.Is(err, kerr.OutOfOrderSequenceNumber), errors.Is(err, kerr.UnknownProducerID), errors.Is(err, kerr.InvalidProducerEpoch),
			errors.Is(err, kerr.InvalidProducerIDMapping):
			if !p.known {
				// Of a producer that isn't known any sequence number is taken (KIP-360), as in Kafka: where the first
				// batch was refused for want of replicas and the second one wasn't, the first can't come any more.
				p.cluster.events.add(p.name, "gives up: %v came too late", p.waiting[0].values)
				return false
			}
			// All batches before were acknowledged: the leader should have them.
			p.cluster.violate("%s: n%d, believed to lead epoch %d of partition %d, refuses %v: %v", p.name, node, epoch, p.partition, p.waiting[0].values, err)
			return false
		}
		p.cluster.events.add(p.name, "%v not acknowledged by n%d (epoch %d): %v", p.waiting[0].values, node, epoch, err)
		_ = p.refresh() // Tried again with the next attempt.
		p.backoff(attempt)
	}
	return true
}

// send sends all that waits to a node, and takes away what it acknowledges in order. It returns the error of the
// first batch that it doesn't acknowledge; what it makes of those behind that one doesn't count.
func (p *producer) send(node int32) error {
	var reqs []kmsg.Request
	for i := range p.waiting {
		p.waiting[i].attempts++
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = 11, -1, int32(requestTimeout/time.Millisecond)-500
		t := kmsg.NewProduceRequestTopic()
		t.Topic = topic
		pt := kmsg.NewProduceRequestTopicPartition()
		pt.Partition, pt.Records = p.partition, p.waiting[i].raw
		t.Partitions = append(t.Partitions, pt)
		req.Topics = append(req.Topics, t)
		reqs = append(reqs, req)
	}
	responses, err := p.askAll(node, reqs)
	for _, resp := range responses {
		r := &resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return err
		}
		b := &p.waiting[0]
		p.history.acked(p.partition, node, r.BaseOffset, b.values, b.attempts == 1)
		p.cluster.events.add(p.name, "%v acknowledged by n%d at %d-%d, attempt %d", b.values, node, p.partition, r.BaseOffset, b.attempts)
		p.waiting, p.known = p.waiting[1:], true
	}
	return err
}
