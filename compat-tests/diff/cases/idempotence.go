package cases

import (
	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// idempotence is about sequence numbers, producer ids and epochs.
func idempotence() []diff.Case {
	l := &list{api: "produce"}
	numbered := func(s *diff.Script, id int64, epoch int16, sequence int32, n int64) *diff.Batch {
		b := plain(s, int64(max(sequence, 0)%1000), n)
		b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, sequence
		return b
	}
	l.add("idempotent-duplicates-T10", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		for i := range int32(6) {
			s.Say("batch %d", i).Ask(9, produceBatch(t, numbered(s, id, 0, i*2, 2)))
		}
		for i := range int32(6) {
			s.Say("batch %d again", i).Ask(9, produceBatch(t, numbered(s, id, 0, i*2, 2)))
		}
		s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("idempotent-duplicate-of-other-length", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Ask(9, produceBatch(t, numbered(s, id, 0, 0, 3)))
		s.Say("shorter").Ask(9, produceBatch(t, numbered(s, id, 0, 0, 2)))
		s.Say("longer").Ask(9, produceBatch(t, numbered(s, id, 0, 0, 4)))
		s.Say("overlapping").Ask(9, produceBatch(t, numbered(s, id, 0, 2, 2)))
	})
	l.add("idempotent-gap", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Ask(9, produceBatch(t, numbered(s, id, 0, 0, 2)))
		s.Say("gap").Ask(9, produceBatch(t, numbered(s, id, 0, 3, 1)))
		s.Say("next").Ask(9, produceBatch(t, numbered(s, id, 0, 2, 1)))
	})
	l.add("idempotent-unknown-producer-starts-anywhere-T09", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Ask(9, produceBatch(t, numbered(s, id, 0, 100, 1)))
		s.Say("next").Ask(9, produceBatch(t, numbered(s, id, 0, 101, 1)))
		s.Say("an id that nobody was given").Ask(9, produceBatch(t, numbered(s, 1<<40, 3, 5, 1)))
	})
	l.add("idempotent-epochs", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Ask(9, produceBatch(t, numbered(s, id, 0, 0, 1)))
		s.Say("new epoch with a sequence other than 0").Ask(9, produceBatch(t, numbered(s, id, 1, 1, 1)))
		s.Say("new epoch from 0").Ask(9, produceBatch(t, numbered(s, id, 1, 0, 1)))
		s.Say("old epoch").Ask(9, produceBatch(t, numbered(s, id, 0, 1, 1)))
		s.Say("old epoch, v8").Ask(8, produceBatch(t, numbered(s, id, 0, 1, 1)))
		s.Say("epoch far ahead").Ask(9, produceBatch(t, numbered(s, id, 32767, 0, 1)))
		s.Ask(0, describeProducers(t, 0))
	})
	l.add("idempotent-sequence-wraps", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Ask(9, produceBatch(t, numbered(s, id, 0, 1<<31-2, 1)))
		s.Say("over the end").Ask(9, produceBatch(t, numbered(s, id, 0, 1<<31-1, 2)))
		s.Say("after it").Ask(9, produceBatch(t, numbered(s, id, 0, 1, 1)))
		s.Say("the wrapped one again").Ask(9, produceBatch(t, numbered(s, id, 0, 1<<31-1, 2)))
	})
	l.add("idempotent-negative-fields", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Say("sequence -1").Ask(9, produceBatch(t, numbered(s, id, 0, -1, 1)))
		s.Say("sequence -2").Ask(9, produceBatch(t, numbered(s, id, 0, -2, 1)))
		s.Say("epoch -1").Ask(9, produceBatch(t, numbered(s, id, -1, 0, 1)))
		s.Say("id -2").Ask(9, produceBatch(t, numbered(s, -2, 0, 0, 1)))
	})
	l.add("idempotent-two-batches-in-partition", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		data := append(numbered(s, id, 0, 0, 1).Encode(), numbered(s, id, 0, 1, 1).Encode()...)
		s.Ask(9, produce(t, -1, partitionData(0, data)))
		s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("idempotent-mixed-with-plain", func(s *diff.Script) {
		t, id := s.Topic("t", 2), s.Producer()
		s.Ask(9, produce(t, -1, partitionData(0, numbered(s, id, 0, 0, 1).Encode()), partitionData(1, plain(s, 0, 1).Encode())))
	})
	l.add("idempotent-partitions-are-apart", func(s *diff.Script) {
		t, id := s.Topic("t", 2), s.Producer()
		data := numbered(s, id, 0, 0, 1).Encode()
		s.Ask(9, produce(t, -1, partitionData(0, data), partitionData(1, data)))
		s.Say("again").Ask(9, produce(t, -1, partitionData(0, data), partitionData(1, data)))
	})
	l.add("idempotent-compressed", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		b := numbered(s, id, 0, 0, 3)
		b.Codec = diff.CodecZstd
		s.Ask(9, produceBatch(t, b))
		s.Say("again").Ask(9, produceBatch(t, b))
		s.Ask(12, fetch(t, from(0, 0)))
	})
	l.add("idempotent-state-survives-delete-records", func(s *diff.Script) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Ask(9, produceBatch(t, numbered(s, id, 0, 0, 2)))
		s.Ask(2, deleteRecords(t, deleteTo(0, -1)))
		s.Say("duplicate").Ask(9, produceBatch(t, numbered(s, id, 0, 0, 2)))
		s.Say("gap").Ask(9, produceBatch(t, numbered(s, id, 0, 7, 1)))
		s.Say("next").Ask(9, produceBatch(t, numbered(s, id, 0, 2, 1)))
	})
	return append(l.cases, initProducerID()...)
}

func initProducerID() []diff.Case {
	l := &list{api: "init_producer_id"}
	request := func(id int64, epoch int16) *kmsg.InitProducerIDRequest {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.ProducerID, req.ProducerEpoch, req.TransactionTimeoutMillis = id, epoch, 60_000
		return req
	}
	l.add("idempotent-with-id-given-T14", func(s *diff.Script) {
		id := s.Producer()
		s.Say("id and epoch").Ask(4, request(id, 0))
		s.Say("id without epoch").Ask(4, request(id, -1))
		s.Say("epoch without id").Ask(4, request(-1, 0))
		s.Say("no such id").Ask(4, request(1<<40, 0))
		s.Say("id -2").Ask(4, request(-2, -1))
		s.Say("epoch at its end").Ask(4, request(id, 32767))
	})
	l.add("timeout-doesnt-matter", func(s *diff.Script) {
		for _, timeout := range []int32{0, -1, 1<<31 - 1} {
			req := request(-1, -1)
			req.TransactionTimeoutMillis = timeout
			s.Say("timeout %d", timeout).Ask(4, req)
		}
	})
	l.add("transactional-id-empty", func(s *diff.Script) {
		req := request(-1, -1)
		req.TransactionalID = str("")
		s.Ask(4, req)
	})
	versions(l, 0, 5, func(s *diff.Script, v int16) {
		s.Producer()
		s.Ask(v, request(-1, -1))
		s.Say("another").Ask(v, request(-1, -1))
	})
	return l.cases
}

// describeProducers asks for the producers of partitions.
func describeProducers(topic string, partitions ...int32) *kmsg.DescribeProducersRequest {
	req := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}

func producers() []diff.Case {
	l := &list{api: "describe_producers"}
	l.add("unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Say("no such topic").Ask(0, describeProducers(s.Name("none"), 0))
		s.Say("no such partition").Ask(0, describeProducers(t, 1, -1, 0))
		s.Say("illegal name").Ask(0, describeProducers("bad name!", 0))
		s.Say("no topics").Ask(0, kmsg.NewPtrDescribeProducersRequest())
	})
	versions(l, 0, 0, func(s *diff.Script, v int16) {
		t, id := s.Topic("t", 1), s.Producer()
		s.Say("none yet").Ask(v, describeProducers(t, 0))
		b := plain(s, 0, 3)
		b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, 2, 4
		s.Quiet(9, produceBatch(t, b))
		s.Ask(v, describeProducers(t, 0))
		s.Say("partition twice").Ask(v, describeProducers(t, 0, 0))
	})
	return l.cases
}
