package cases

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/ottla/ottla/compat-tests/diff"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceRecords is about what a single Produce does with its records.
func produceRecords() []diff.Case {
	l := &list{api: "produce"}

	// spoilt plays one bad batch and shows that nothing of it is in the log.
	spoilt := func(name string, change func(s *diff.Script, b *diff.Batch)) {
		l.add(name, func(s *diff.Script) {
			t := s.Topic("t", 1)
			b := plain(s, 0, 2)
			change(s, b)
			s.Ask(9, produceBatch(t, b))
			s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
			s.Fate("after it")
		})
	}
	patched := func(name string, patch func([]byte)) {
		spoilt(name, func(_ *diff.Script, b *diff.Batch) { b.Patch = patch })
	}
	raw := func(name string, change func([]byte) []byte) {
		spoilt(name, func(_ *diff.Script, b *diff.Batch) { b.Spoil = change })
	}

	raw("crc-wrong", func(b []byte) []byte { b[diff.AtCRC] ^= 1; return b })
	raw("payload-flipped", func(b []byte) []byte { b[len(b)-2] ^= 0xff; return b })
	raw("magic-3", func(b []byte) []byte { b[diff.AtMagic] = 3; return b })
	raw("magic-negative", func(b []byte) []byte { b[diff.AtMagic] = 0xff; return b })
	raw("magic-1-in-header-of-2", func(b []byte) []byte { b[diff.AtMagic] = 1; return b })
	raw("length-too-small", func(b []byte) []byte { binary.BigEndian.PutUint32(b[diff.AtLength:], 10); return b })
	raw("length-zero", func(b []byte) []byte { binary.BigEndian.PutUint32(b[diff.AtLength:], 0); return b })
	raw("length-negative", func(b []byte) []byte { binary.BigEndian.PutUint32(b[diff.AtLength:], 0xffffffff); return b })
	raw("length-beyond-data", func(b []byte) []byte {
		binary.BigEndian.PutUint32(b[diff.AtLength:], uint32(len(b)))
		return b
	})
	raw("length-just-below-header", func(b []byte) []byte { binary.BigEndian.PutUint32(b[diff.AtLength:], 48); return b })
	raw("cut-in-header", func(b []byte) []byte { return b[:30] })
	raw("cut-in-records", func(b []byte) []byte { return b[:len(b)-3] })
	raw("bytes-after-batch", func(b []byte) []byte { return append(b, 1, 2, 3) })
	raw("records-empty", func([]byte) []byte { return []byte{} })
	l.add("records-null", func(s *diff.Script) {
		s.Send(9, produce(s.Topic("t", 1), -1, partitionData(0, nil))).AnswerOrNone()
	})

	patched("record-count-too-high", diff.Put32(diff.AtNumRecords, 3))
	patched("record-count-too-low", diff.Put32(diff.AtNumRecords, 1))
	patched("record-count-zero", diff.Put32(diff.AtNumRecords, 0))
	patched("record-count-negative", diff.Put32(diff.AtNumRecords, -1))
	patched("last-offset-delta-too-high", diff.Put32(diff.AtLastDelta, 5))
	patched("last-offset-delta-negative", diff.Put32(diff.AtLastDelta, -1))
	patched("control-bit", diff.Put16(diff.AtAttributes, 0x20))
	patched("transactional-bit", diff.Put16(diff.AtAttributes, 0x10))
	patched("attributes-unknown-bits", diff.Put16(diff.AtAttributes, 0x700))
	patched("codec-5", diff.Put16(diff.AtAttributes, 5))
	patched("codec-7", diff.Put16(diff.AtAttributes, 7))
	patched("codec-gzip-but-plain-bytes", diff.Put16(diff.AtAttributes, int16(diff.CodecGzip)))
	patched("codec-snappy-but-plain-bytes", diff.Put16(diff.AtAttributes, int16(diff.CodecSnappy)))
	patched("codec-lz4-but-plain-bytes", diff.Put16(diff.AtAttributes, int16(diff.CodecLZ4)))
	patched("codec-zstd-but-plain-bytes", diff.Put16(diff.AtAttributes, int16(diff.CodecZstd)))
	patched("log-append-time-bit-from-client", diff.Put16(diff.AtAttributes, 8))
	patched("delete-horizon-bit-from-client", diff.Put16(diff.AtAttributes, 0x40))
	patched("sequence-without-producer", diff.Put32(diff.AtFirstSequence, 5))
	patched("producer-without-sequence", diff.Put64(diff.AtProducerID, 1))
	patched("epoch-without-producer", diff.Put16(diff.AtProducerEpoch, 3))
	patched("max-timestamp-wrong", diff.Put64(diff.AtMaxTime, 1))
	patched("leader-epoch-of-client-P19", func([]byte) {})
	patched("records-garbled", func(b []byte) { b[diff.AtRecords] = 0x7f })
	patched("record-attributes-set", func(b []byte) { b[diff.AtRecords+1] = 9 })
	patched("record-length-negative", func(b []byte) { b[diff.AtRecords] = 1 })

	spoilt("batch-without-records", func(_ *diff.Script, b *diff.Batch) { b.Records = nil })
	spoilt("first-offset-not-zero", func(_ *diff.Script, b *diff.Batch) { b.FirstOffset = 77 })
	spoilt("offset-deltas-with-gap", func(_ *diff.Script, b *diff.Batch) { b.Records[1].OffsetDelta = ptr(int32(5)) })
	spoilt("offset-deltas-repeat", func(_ *diff.Script, b *diff.Batch) { b.Records[1].OffsetDelta = ptr(int32(0)) })
	spoilt("compressed-count-too-high", func(_ *diff.Script, b *diff.Batch) {
		b.Codec, b.Patch = diff.CodecGzip, diff.Put32(diff.AtNumRecords, 3)
	})
	spoilt("compressed-cut", func(_ *diff.Script, b *diff.Batch) {
		b.Codec = diff.CodecGzip
		b.Patch = func(b []byte) { clear(b[len(b)-12:]) }
	})
	spoilt("timestamp-far-future-S09", func(_ *diff.Script, b *diff.Batch) {
		b.Records[1].Time = time.Now().AddDate(10, 0, 0).UnixMilli()
		b.Patch = nil
	})
	spoilt("timestamp-negative", func(_ *diff.Script, b *diff.Batch) { b.Records[0].Time, b.Records[1].Time = -5, -5 })
	spoilt("timestamp-minus-one", func(_ *diff.Script, b *diff.Batch) { b.Records[0].Time, b.Records[1].Time = -1, -1 })

	l.add("leader-epochs-of-client-P19", func(s *diff.Script) {
		t := s.Topic("t", 1)
		for _, epoch := range []int32{0, -1, 7} {
			b := plain(s, 0, 1)
			b.LeaderEpoch = epoch
			s.Say("epoch %d", epoch).Ask(9, produceBatch(t, b))
		}
		s.Ask(12, fetch(t, from(0, 0)))
	})
	l.add("two-batches-for-one-partition", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(9, produce(t, -1, partitionData(0, append(plain(s, 0, 1).Encode(), plain(s, 1, 1).Encode()...))))
		s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("partition-twice-in-request", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(9, produce(t, -1, partitionData(0, plain(s, 0, 1).Encode()), partitionData(0, plain(s, 1, 1).Encode())))
		s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("no-topics", func(s *diff.Script) {
		req := kmsg.NewPtrProduceRequest()
		req.Acks = -1
		s.Ask(9, req)
	})
	l.add("no-partitions", func(s *diff.Script) { s.Ask(9, produce(s.Topic("t", 1), -1)) })
	for _, magic := range []int8{0, 1} {
		l.add("legacy-magic-"+string('0'+byte(magic)), func(s *diff.Script) {
			t := s.Topic("t", 1)
			m := diff.LegacyMessage(magic, s.Time(0), []byte("k"), []byte("v"))
			s.Ask(3, produce(t, -1, partitionData(0, m)))
			s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
		})
	}
	l.add("acks", func(s *diff.Script) {
		t := s.Topic("t", 1)
		data := plain(s, 0, 1).Encode()
		for _, acks := range []int16{2, -2, 100} {
			s.Say("acks %d", acks).Ask(9, produce(t, acks, partitionData(0, data)))
		}
		s.Say("acks 1").Ask(9, produce(t, 1, partitionData(0, data)))
		s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("acks-0-has-no-answer", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Send(9, produce(t, 0, partitionData(0, plain(s, 0, 1).Encode())))
		s.Say("the next answer is the next request's").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("acks-0-error-closes", func(s *diff.Script) {
		s.On("a").Send(9, produce(s.Name("none"), 0, partitionData(0, plain(s, 0, 1).Encode())))
		s.On("a").Fate("after acks=0 to an unknown topic")
		t := s.Topic("t", 1)
		bad := plain(s, 0, 1)
		bad.Spoil = func(b []byte) []byte { b[diff.AtCRC] ^= 1; return b }
		s.On("b").Send(9, produce(t, 0, partitionData(0, bad.Encode())))
		s.On("b").Fate("after acks=0 with a wrong checksum")
	})
	l.add("min-insync-replicas-too-high", func(s *diff.Script) {
		t := s.Topic("t", 1, "min.insync.replicas", "2")
		for _, acks := range []int16{-1, 1} {
			s.Say("acks %d", acks).Ask(9, produce(t, acks, partitionData(0, plain(s, 0, 1).Encode())))
		}
	})
	l.add("topic-unknown", func(s *diff.Script) {
		data := plain(s, 0, 1).Encode()
		for _, v := range []int16{3, 8, 9, 12} {
			s.Ask(v, produce(s.Name("none"), -1, partitionData(0, data)))
		}
		s.Say("an illegal name").Ask(9, produce("bad name!", -1, partitionData(0, data)))
		s.Say("an empty name").Ask(9, produce("", -1, partitionData(0, data)))
	})
	l.add("topic-id-unknown-P24", func(s *diff.Script) {
		req := produce("", -1, partitionData(0, plain(s, 0, 1).Encode()))
		req.Topics[0].TopicID = noID
		s.Ask(13, req)
		req.Topics[0].TopicID = [16]byte{}
		s.Say("a zero id").Ask(13, req)
	})
	l.add("topic-id-of-deleted-topic-P24", func(s *diff.Script) {
		t := s.Topic("t", 1)
		id := s.TopicID(t)
		req := produce("", -1, partitionData(0, plain(s, 0, 1).Encode()))
		req.Topics[0].TopicID = id
		s.Ask(13, req)
		s.Quiet(6, deleteTopics(t))
		s.AwaitNoTopic(t)
		s.Say("deleted").Ask(13, req)
	})
	l.add("partition-unknown", func(s *diff.Script) {
		t := s.Topic("t", 1)
		data := plain(s, 0, 1).Encode()
		s.Ask(9, produce(t, -1, partitionData(1, data), partitionData(-1, data), partitionData(0, data)))
	})
	l.add("internal-topic", func(s *diff.Script) {
		s.Group("g") // Makes the offsets topic.
		s.Ask(9, produceBatch(s.Adopt("__consumer_offsets"), plain(s, 0, 1)))
	})
	l.add("transactional-id-without-transaction", func(s *diff.Script) {
		t := s.Topic("t", 1)
		req := produceBatch(t, plain(s, 0, 1))
		req.TransactionID = str(s.Name("tx"))
		s.Ask(9, req)
	})
	return append(l.cases, produceConfigured(l.api)...)
}

// produceConfigured is about topic settings that change what Produce accepts or stores.
func produceConfigured(api string) []diff.Case {
	l := &list{api: api}
	l.add("compacted-topic-needs-keys", func(s *diff.Script) {
		t := s.Topic("t", 1, "cleanup.policy", "compact")
		b := plain(s, 0, 3)
		b.Records[1].Key, b.Records[2].Key = nil, nil
		s.Ask(9, produceBatch(t, b))
		s.Say("v7, without details").Ask(7, produceBatch(t, b))
		s.Say("an empty key is a key").Ask(9, produceBatch(t, diff.NewBatch(diff.Record{Time: s.Time(0), Key: []byte{}})))
		t = s.Topic("both", 1, "cleanup.policy", "compact,delete")
		s.Say("compact and delete").Ask(9, produceBatch(t, b))
		b.Codec = diff.CodecLZ4
		s.Say("compressed").Ask(9, produceBatch(t, b))
	})
	l.add("message-too-large-O09", func(s *diff.Script) {
		t := s.Topic("t", 1, "max.message.bytes", "200")
		fits := func(n int) *diff.Batch {
			return diff.NewBatch(diff.Record{Time: s.Time(0), Value: slices.Repeat([]byte{'x'}, n)})
		}
		for _, n := range []int{500, 131, 130, 129, 128, 100} {
			s.Say("value of %d bytes", n).Ask(9, produceBatch(t, fits(n)))
		}
		b := fits(5000)
		b.Codec = diff.CodecGzip
		s.Say("5000 bytes that compress well").Ask(9, produceBatch(t, b))
		s.Say("log end").Ask(7, listOffsets(offsetsOf(t, at(0, -1))))
	})
	l.add("message-too-large-default", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(9, produceBatch(t, diff.NewBatch(diff.Record{Time: s.Time(0), Value: make([]byte, 2<<20)})))
	})
	l.add("larger-than-segment", func(s *diff.Script) {
		t := s.Topic("t", 1, "segment.bytes", "1048576", "max.message.bytes", "3000000")
		s.Ask(9, produceBatch(t, diff.NewBatch(diff.Record{Time: s.Time(0), Value: make([]byte, 2<<20)})))
	})
	l.add("timestamps-out-of-range", func(s *diff.Script) {
		t := s.Topic("t", 1, "message.timestamp.before.max.ms", "60000", "message.timestamp.after.max.ms", "60000")
		s.Say("two hours ago").Ask(9, produceBatch(t, plain(s, 0, 2)))
		now := time.Now().UnixMilli()
		b := diff.NewBatch(diff.Record{Time: now}, diff.Record{Time: s.Time(0)}, diff.Record{Time: now})
		s.Say("the second of three").Ask(9, produceBatch(t, b))
		b.Codec = diff.CodecGzip
		s.Say("the same, compressed").Ask(9, produceBatch(t, b))
		s.Say("in ten hours").Ask(9, produceBatch(t, diff.NewBatch(diff.Record{Time: now + 36_000_000})))
		s.Say("no timestamp").Ask(9, produceBatch(t, diff.NewBatch(diff.Record{Time: -1})))
		s.Say("now").Ask(9, produceBatch(t, diff.NewBatch(diff.Record{Time: now})))
	})
	l.add("log-append-time", func(s *diff.Script) {
		t := s.Topic("t", 1, "message.timestamp.type", "LogAppendTime")
		s.Ask(9, produceBatch(t, plain(s, 0, 2)))
		b := plain(s, 0, 2)
		b.Codec = diff.CodecGzip
		s.Say("compressed").Ask(9, produceBatch(t, b))
		s.Ask(12, fetch(t, from(0, 0)))
	})
	for _, c := range []diff.Codec{diff.CodecNone, diff.CodecGzip, diff.CodecSnappy, diff.CodecLZ4, diff.CodecZstd} {
		l.add("codec-"+c.String()+"-P22", func(s *diff.Script) {
			t := s.Topic("t", 1)
			b := plain(s, 0, 3)
			b.Codec = c
			for _, v := range []int16{3, 6, 7, 9} {
				s.Ask(v, produceBatch(t, b))
			}
			s.Ask(12, fetch(t, from(0, 0)))
		})
		l.add("topic-compression-"+compressionType(c), func(s *diff.Script) {
			t := s.Topic("t", 1, "compression.type", compressionType(c))
			for _, sent := range []diff.Codec{diff.CodecNone, diff.CodecGzip, diff.CodecZstd} {
				b := plain(s, 0, 2)
				b.Codec = sent
				b.Records[0].Headers = []kmsg.Header{{Key: "h", Value: []byte("x")}, {Key: "", Value: nil}}
				s.Say("sent as %s", sent).Ask(9, produceBatch(t, b))
			}
			s.Ask(12, fetch(t, from(0, 0)))
		})
	}
	l.add("recompressed-with-log-append-time", func(s *diff.Script) {
		t := s.Topic("t", 1, "compression.type", "zstd", "message.timestamp.type", "LogAppendTime")
		s.Ask(9, produceBatch(t, plain(s, 0, 2)))
		s.Ask(12, fetch(t, from(0, 0)))
	})
	l.add("record-shapes", func(s *diff.Script) {
		t := s.Topic("t", 1)
		s.Ask(9, produceBatch(t, diff.NewBatch(
			diff.Record{Time: s.Time(9)}, diff.Record{Time: s.Time(5), Key: []byte{}, Value: []byte{}},
			diff.Record{Time: s.Time(7), Key: []byte("k"), Headers: []kmsg.Header{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "", Value: []byte{}}}},
		)))
		s.Ask(12, fetch(t, from(0, 0)))
	})
	versions(l, 3, 13, func(s *diff.Script, v int16) {
		t := s.Topic("t", 2)
		bad := plain(s, 0, 1)
		bad.Spoil = func(b []byte) []byte { b[diff.AtCRC] ^= 1; return b }
		req := produce(t, -1, partitionData(0, plain(s, 0, 2).Encode()), partitionData(1, bad.Encode()), partitionData(9, plain(s, 0, 1).Encode()))
		req.Topics[0].TopicID = s.TopicID(t)
		s.Ask(v, req)
		req.Topics[0].Partitions = req.Topics[0].Partitions[:1]
		s.Say("again").Ask(v, req)
	})
	return l.cases
}

func ptr[T any](v T) *T { return &v }

// compressionType is a codec's value of compression.type; none is called uncompressed there.
func compressionType(c diff.Codec) string {
	if c == diff.CodecNone {
		return "uncompressed"
	}
	return c.String()
}
