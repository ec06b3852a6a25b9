package handlers

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/log/batch"
	"github.com/ottla/ottla/log/validate"
	"github.com/ottla/ottla/replica"
	"github.com/ottla/ottla/wire"
)

// produceVersions that matter here.
const (
	produceErrors     = 8  // record errors and a message a partition (KIP-467)
	produceLeaderHint = 10 // current leader and its endpoint (KIP-951)
	produceTopicIDs   = 13 // topic ids in place of names (KIP-516)
)

// adminClientID is the client id that may write internal topics, as in Kafka.
const adminClientID = "__admin_client"

// produce is one Produce request under way.
type produce struct {
	d    *Deps
	r    *wire.Request
	plan replica.ProducePlan
	// slots says where each partition of the plan is in resp: topic and partition index.
	slots []produceSlot
	// resp is the response, in memory that is used again: it is encoded when the request is completed.
	resp kmsg.ProduceResponse
	img  *image.Image
}

type produceSlot struct {
	topic, partition int
	name             string
}

// producePool keeps what a request needs besides its response. A produce that parked isn't put
// back: its waiter may still be running.
type producePool struct{ pool sync.Pool }

// handleProduce, versions 3 to 13: append record batches.
//
//	3  magic 2 batches, transactional id (KIP-98)   9  flexible
//	5  log start offset                            10  leader hints
//	7  zstd                                        12  transactions without AddPartitionsToTxn (KIP-890)
//	8  record errors                               13  topic ids
func handleProduce(d *Deps, r *wire.Request) {
	req := r.Body.(*kmsg.ProduceRequest)
	p := d.produces.get()
	p.d, p.r, p.img = d, r, d.Image()
	p.resolve(req)
	if r.Inline() && d.Replicas.ProduceFlushes(&p.plan) {
		r.Offload(func() {
			defer d.guard(r)
			p.run(req)
		})
		return
	}
	p.run(req)
}

// run appends and answers, or waits for the replicas.
func (p *produce) run(req *kmsg.ProduceRequest) {
	d, r := p.d, p.r
	wait := false
	if len(p.plan.Partitions) > 0 {
		wait = d.Replicas.Produce(&p.plan)
	}
	acks, timeout := req.Acks, time.Duration(req.TimeoutMillis)*time.Millisecond
	if !wait {
		p.finish(acks)
		d.produces.put(p)
		return
	}
	r.ReleaseFrame()
	r.Proceed()
	d.Replicas.AwaitProduce(&p.plan, timeout, func() {
		defer d.guard(r)
		d.Replicas.CancelProduce(&p.plan)
		p.finish(acks)
	})
	r.OnClose(func() {
		if d.Replicas.CancelProduce(&p.plan) {
			r.NoReply()
		}
	})
}

// resolve fills the plan and lays the response out.
func (p *produce) resolve(req *kmsg.ProduceRequest) {
	p.plan.Acks = req.Acks
	refused := p.refuseAll(req)
	for i := range req.Topics {
		t := &req.Topics[i]
		if len(t.Partitions) == 0 {
			continue // Kafka answers by partition: a topic without any vanishes.
		}
		name, topicErr := t.Topic, refused
		if req.Version >= produceTopicIDs {
			var ok bool
			if name, ok = topicName(p.img, t.TopicID); !ok && topicErr == nil {
				topicErr = kerr.UnknownTopicID
			}
		}
		at := p.responseTopic(t)
		for j := range t.Partitions {
			if pp := p.add(at, name, &t.Partitions[j], topicErr); topicErr == nil {
				pp.Err = p.check(req, pp)
			}
		}
	}
}

// responseTopic finds or adds the topic in the response: one that is named twice is answered once.
func (p *produce) responseTopic(t *kmsg.ProduceRequestTopic) int {
	for i := range p.resp.Topics {
		if p.resp.Topics[i].Topic == t.Topic && p.resp.Topics[i].TopicID == t.TopicID {
			return i
		}
	}
	n := len(p.resp.Topics)
	if n < cap(p.resp.Topics) {
		p.resp.Topics = p.resp.Topics[:n+1] // With the memory of its partitions.
	} else {
		p.resp.Topics = append(p.resp.Topics, kmsg.NewProduceResponseTopic())
	}
	out := &p.resp.Topics[n]
	out.Topic, out.TopicID, out.Partitions = t.Topic, t.TopicID, out.Partitions[:0]
	return n
}

// add puts a partition into the plan, and returns its entry, valid until the next one. Of a partition that is named twice the last
// one counts.
func (p *produce) add(topic int, name string, in *kmsg.ProduceRequestTopicPartition, err error) *replica.ProducePartition {
	entry := replica.ProducePartition{Topic: name, Partition: in.Partition, Records: in.Records, Err: err,
		FirstOffset: -1, LogAppendTimeMs: -1, LogStartOffset: -1}
	out := &p.resp.Topics[topic]
	// Duplicates are rare and requests have few partitions of a topic in general; the search is
	// skipped while partitions come in growing order, as all clients send them.
	if n := len(out.Partitions); n > 0 && out.Partitions[n-1].Partition >= in.Partition {
		for i := range p.slots {
			if s := &p.slots[i]; s.topic == topic && out.Partitions[s.partition].Partition == in.Partition {
				p.plan.Partitions[i] = entry
				return &p.plan.Partitions[i]
			}
		}
	}
	answer := kmsg.NewProduceResponseTopicPartition()
	answer.Partition = in.Partition
	out.Partitions = append(out.Partitions, answer)
	p.slots = append(p.slots, produceSlot{topic: topic, partition: len(out.Partitions) - 1, name: name})
	p.plan.Partitions = append(p.plan.Partitions, entry)
	return &p.plan.Partitions[len(p.plan.Partitions)-1]
}

// refuseAll is why no partition of the request can be served, or nil: Kafka looks at the head of every
// partition's first batch before anything else, and what it can't read there fails the whole request.
func (p *produce) refuseAll(req *kmsg.ProduceRequest) error {
	transactional, err := hasTransactionalBatch(req)
	if err != nil || !transactional {
		return err
	}
	if req.TransactionID == nil {
		return kerr.TransactionalIDAuthorizationFailed
	}
	p.d.Logger.Warn("refused transactional records: transactions are not served", "transactional_id", *req.TransactionID,
		"client", p.r.Session.ClientAddr)
	return kerror.New(kerr.InvalidTxnState, "Transactions are not served by this broker.")
}

func hasTransactionalBatch(req *kmsg.ProduceRequest) (transactional bool, err error) {
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			h, ok, err := validate.FirstBatch(req.Topics[i].Partitions[j].Records)
			if err != nil {
				return false, err
			}
			if ok && h.Magic == batch.MagicV2 && h.Attributes.IsTransactional() {
				return true, nil // What follows isn't looked at, and then not an error of all.
			}
		}
	}
	return false, nil
}

// check refuses what can be refused without the partition, which it looks up.
func (p *produce) check(req *kmsg.ProduceRequest, pp *replica.ProducePartition) error {
	t := p.img.Topic(pp.Topic)
	if t == nil || t.Partition(pp.Partition) == nil {
		return kerr.UnknownTopicOrPartition
	}
	p.d.Replicas.Find(pp, t.ID)
	if err := validate.Produce(req.Version, pp.Records); err != nil {
		return err
	}
	if req.Acks < -1 || req.Acks > 1 {
		return kerr.InvalidRequiredAcks
	}
	if isInternalTopic(pp.Topic) && (p.r.ClientID == nil || *p.r.ClientID != adminClientID) {
		return kerr.InvalidTopicException
	}
	return nil
}

// finish takes the results over into the response and sends it.
func (p *produce) finish(acks int16) {
	var failed error
	var brokers endpoints
	for i := range p.plan.Partitions {
		pp, slot := &p.plan.Partitions[i], p.slots[i]
		out := &p.resp.Topics[slot.topic].Partitions[slot.partition]
		if pp.Err != nil {
			failed = fmt.Errorf("produce to %s-%d with acks=0: %w", slot.name, pp.Partition, pp.Err)
			p.answerError(pp, out, &brokers)
			continue
		}
		out.BaseOffset, out.LogAppendTime, out.LogStartOffset = pp.FirstOffset, pp.LogAppendTimeMs, pp.LogStartOffset
	}
	if acks == 0 {
		// There is no answer that could carry an error: the closed connection tells (as in Kafka).
		if failed != nil {
			p.r.Close(failed)
		} else {
			p.r.NoReply()
		}
		return
	}
	for _, e := range brokers {
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = e.id, e.host, e.port, e.rack
		p.resp.Brokers = append(p.resp.Brokers, b)
	}
	p.r.Reply(&p.resp)
}

// answerError fills in a partition's error, with what the protocol can carry of it.
func (p *produce) answerError(pp *replica.ProducePartition, out *kmsg.ProduceResponseTopicPartition, brokers *endpoints) {
	out.ErrorCode = p.d.codeOf(pp.Err, "produce", "topic", pp.Topic, "partition", pp.Partition)
	out.BaseOffset, out.LogAppendTime, out.LogStartOffset = -1, -1, pp.LogStartOffset
	if p.r.Version >= produceLeaderHint && wantsLeaderHint(pp.Err) {
		hint := leaderOf(p.img, pp.Topic, pp.Partition)
		out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = hint.id, hint.epoch
		brokers.add(p.d, p.r, p.img, hint.id)
	}
	if p.r.Version < produceErrors {
		return
	}
	var records *replica.RecordErrors
	switch {
	case errors.As(pp.Err, &records):
		out.ErrorMessage = kerror.MessageOf(pp.Err)
		for _, e := range records.Records {
			r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			r.RelativeOffset = e.Index
			if e.Message != "" {
				r.ErrorMessage = &e.Message
			}
			out.ErrorRecords = append(out.ErrorRecords, r)
		}
	case errors.Is(pp.Err, kerr.MessageTooLarge):
		message := p.tooLarge(pp)
		out.ErrorMessage = &message
		p.d.Logger.Info("refused a batch that is too large", "topic", pp.Topic, "partition", pp.Partition, "error", message,
			"client", p.r.Session.ClientAddr)
	case errors.Is(pp.Err, kerr.InvalidTxnState), errors.Is(pp.Err, kerr.CorruptMessage), errors.Is(pp.Err, kerr.KafkaStorageError):
		out.ErrorMessage = kerror.MessageOf(pp.Err)
	}
}

// tooLarge says which limit a batch broke, and where it is set. Kafka sends no text here, and its
// users search three places for the limit.
func (p *produce) tooLarge(pp *replica.ProducePartition) string {
	limit := p.d.Configs.Broker().Topic(p.img.Configs(image.ResourceTopic, pp.Topic)).MaxMessageBytes
	return fmt.Sprintf("The batch of %d bytes is larger than the %d bytes that topic %s allows: raise the topic's max.message.bytes "+
		"(its default is the broker's message.max.bytes), or lower the producer's batch.size and max.request.size.",
		len(pp.Records), limit, pp.Topic)
}

func (pool *producePool) get() *produce {
	if p, ok := pool.pool.Get().(*produce); ok {
		return p
	}
	return &produce{}
}

// put takes back a produce that never waited.
func (pool *producePool) put(p *produce) {
	if cap(p.plan.Partitions) > maxPooledPartitions {
		return
	}
	// Topics beyond the request's have memory, too, of requests before: all of it together is bounded.
	all, room := p.resp.Topics[:cap(p.resp.Topics)], cap(p.resp.Topics)
	for i := range all {
		room += cap(all[i].Partitions)
	}
	if room > 2*maxPooledPartitions {
		return
	}
	p.d, p.r, p.img = nil, nil, nil
	for i := range p.resp.Topics {
		t := &p.resp.Topics[i]
		clear(t.Partitions)
		t.Topic = ""
	}
	p.resp.Topics, p.resp.Brokers, p.resp.ThrottleMillis = p.resp.Topics[:0], nil, 0
	clear(p.plan.Partitions)
	clear(p.slots)
	p.plan.Partitions, p.slots = p.plan.Partitions[:0], p.slots[:0]
	pool.pool.Put(p)
}
