package handlers

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The expectations of this file were read off Kafka 4.4.0 with the same requests.

// TestProduceAllVersions appends with every version and acks, and reads the offsets back.
func TestProduceAllVersions(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	next := int64(0)
	for version := int16(3); version <= 13; version++ {
		for _, acks := range []int16{-1, 1} {
			name := "t"
			if version >= 13 {
				name = ""
			}
			resp := ask[*kmsg.ProduceResponse](b, produceRequest(version, acks, name, id, oneRecord("v", "w").bytes()))
			p := resp.Topics[0].Partitions[0]
			if p.ErrorCode != 0 || p.BaseOffset != next || p.LogAppendTime != -1 {
				t.Fatalf("version %d acks %d: %+v, want offset %d", version, acks, p, next)
			}
			if version >= 5 && p.LogStartOffset != 0 {
				t.Errorf("version %d: log start %d", version, p.LogStartOffset)
			}
			if version < 13 && resp.Topics[0].Topic != "t" || version >= 13 && resp.Topics[0].TopicID != id {
				t.Errorf("version %d names the topic %q, %x", version, resp.Topics[0].Topic, resp.Topics[0].TopicID)
			}
			next += 2
		}
	}
}

// TestProduceErrors sends what can be wrong with one partition, beside a good one.
func TestProduceErrors(t *testing.T) {
	good := oneRecord("v").bytes
	cut := good()
	small := good()
	small[11] = 3
	magic1, magic9 := good(), good()
	magic1[16], magic9[16] = 1, 9
	zstd := oneRecord("v")
	zstd.attributes = 4
	short := good()
	short[11] = 48
	for _, tc := range []struct {
		name    string
		version int16
		records []byte
		code    *kerr.Error
		start   int64
		message string
	}{
		{"null records", 9, []byte{}, kerr.InvalidRecord, -1, ""},
		{"three bytes", 9, []byte{1, 2, 3}, kerr.InvalidRecord, -1, ""},
		{"two batches", 9, append(good(), good()...), kerr.InvalidRecord, -1, ""},
		{"truncated", 9, cut[:len(cut)-3], kerr.InvalidRecord, -1, ""},
		{"impossible length", 9, small, kerr.CorruptMessage, -1, "Record size 3 is less than the minimum record overhead (14)"},
		{"magic 1", 9, magic1, kerr.InvalidRecord, -1, ""},
		{"magic 9", 9, magic9, kerr.CorruptMessage, -1, "Invalid magic found in record: 9"},
		{"one byte less than a header", 9, short, kerr.CorruptMessage, -1, ""},
		{"bad crc", 9, func() []byte { x := oneRecord("v"); x.badCRC = true; return x.bytes() }(), kerr.CorruptMessage, -1, ""},
		{"zstd before version 7", 6, zstd.bytes(), kerr.UnsupportedCompressionType, -1, ""},
		{"control batch", 9, func() []byte { x := oneRecord("v"); x.attributes = 32; return x.bytes() }(), kerr.InvalidRecord, 0, ""},
		{"out of order", 9, testBatch{producerID: 9, sequence: 5, timestamp: 946_684_800_000, values: []string{"v"}}.bytes(), nil, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBroker(t, nil)
			b.create("t", 2)
			resp := ask[*kmsg.ProduceResponse](b, produceRequest(tc.version, -1, "t", [16]byte{}, tc.records, good()))
			bad, ok := resp.Topics[0].Partitions[0], resp.Topics[0].Partitions[1]
			// What can't even be read fails the whole request, message included.
			switch {
			case tc.message != "" && (ok.ErrorCode != tc.code.Code || str(ok.ErrorMessage) != tc.message):
				t.Errorf("the good partition got error %d, %q; want that of the bad one", ok.ErrorCode, str(ok.ErrorMessage))
			case tc.message == "" && ok.ErrorCode != 0:
				t.Errorf("the good partition got error %d", ok.ErrorCode)
			}
			if tc.code == nil {
				if bad.ErrorCode != 0 {
					t.Errorf("a producer nobody knows may start anywhere, got error %d", bad.ErrorCode)
				}
				return
			}
			if bad.ErrorCode != tc.code.Code || bad.BaseOffset != -1 || bad.LogStartOffset != tc.start {
				t.Errorf("got %+v, want %s and log start %d", bad, tc.code.Message, tc.start)
			}
			if message := str(bad.ErrorMessage); tc.message != "" && message != tc.message {
				t.Errorf("message %q, want %q", message, tc.message)
			}
		})
	}
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestProduceRequestErrors sends requests that are wrong as a whole or name what isn't there.
func TestProduceRequestErrors(t *testing.T) {
	b := newBroker(t, nil)
	id := b.create("t", 1)
	b.create("__consumer_offsets", 1)
	good := oneRecord("v").bytes
	transactional := oneRecord("v")
	transactional.attributes, transactional.producerID, transactional.producerEpoch, transactional.sequence = 16, 5, 0, 0
	code := func(req *kmsg.ProduceRequest) int16 {
		return ask[*kmsg.ProduceResponse](b, req).Topics[0].Partitions[0].ErrorCode
	}
	for _, tc := range []struct {
		name string
		req  *kmsg.ProduceRequest
		want int16
	}{
		{"acks 2", produceRequest(9, 2, "t", id, good()), 21},
		{"acks 2, unknown topic", produceRequest(9, 2, "none", id, good()), 3},
		{"unknown partition", produceRequest(9, 1, "t", id, nil, good()), 3},
		{"unknown topic", produceRequest(7, 1, "none", id, good()), 3},
		{"unknown id", produceRequest(13, 1, "", [16]byte{1, 2}, good()), 100},
		{"zero id", produceRequest(13, 1, "", [16]byte{}, good()), 100},
		{"internal topic", produceRequest(9, 1, "__consumer_offsets", id, good()), 17},
		{"transactional without an id", produceRequest(9, -1, "t", id, transactional.bytes()), 53},
	} {
		if got := code(tc.req); got != tc.want {
			t.Errorf("%s: error %d, want %d", tc.name, got, tc.want)
		}
	}
	req := produceRequest(9, -1, "t", id, good())
	name := "tx"
	req.TransactionID = &name
	if got := code(req); got != 0 {
		t.Errorf("a transactional id on plain records: error %d, Kafka takes them", got)
	}
	req.Topics[0].Partitions[0].Records = transactional.bytes()
	if got := code(req); got != kerr.InvalidTxnState.Code {
		t.Errorf("transactional records: error %d", got)
	}
	small := good()
	small[11] = 3
	req = produceRequest(9, -1, "t", id, transactional.bytes(), small)
	if got := code(req); got != kerr.TransactionalIDAuthorizationFailed.Code {
		t.Errorf("a transactional batch before one that can't be read: error %d", got)
	}
	req = produceRequest(9, -1, "t", id)
	if resp := ask[*kmsg.ProduceResponse](b, req); len(resp.Topics) != 0 {
		t.Errorf("a topic without partitions is answered: %+v", resp)
	}
}

// TestProduceDuplicatePartition names a partition twice: the last one counts, and one answer comes.
func TestProduceDuplicatePartition(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1)
	req := produceRequest(9, -1, "t", [16]byte{}, oneRecord("first").bytes())
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, produceRequest(9, -1, "t", [16]byte{}, oneRecord("second").bytes()).Topics[0].Partitions...)
	req.Topics = append(req.Topics, produceRequest(9, -1, "t", [16]byte{}, oneRecord("third").bytes()).Topics...)
	resp := ask[*kmsg.ProduceResponse](b, req)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("got %+v", resp)
	}
	records := ask[*kmsg.FetchResponse](b, fetchRequest(12, "t", [16]byte{}, 0, 0)).Topics[0].Partitions[0].RecordBatches
	if !strings.Contains(string(records), "third") || strings.Contains(string(records), "first") || strings.Contains(string(records), "second") {
		t.Errorf("log holds %q", records)
	}
}

// TestProduceIdempotent sends a batch again, and one with a gap.
func TestProduceIdempotent(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1)
	send := func(sequence int32) kmsg.ProduceResponseTopicPartition {
		x := testBatch{producerID: 77, sequence: sequence, timestamp: 946_684_800_123, values: []string{"v"}}
		return ask[*kmsg.ProduceResponse](b, produceRequest(9, -1, "t", [16]byte{}, x.bytes())).Topics[0].Partitions[0]
	}
	send(0)
	send(1)
	if p := send(0); p.ErrorCode != 0 || p.BaseOffset != 0 || p.LogAppendTime != 946_684_800_123 {
		t.Errorf("duplicate: %+v, want offset 0 and the batch's time", p)
	}
	if p := send(9); p.ErrorCode != kerr.OutOfOrderSequenceNumber.Code || p.LogStartOffset != 0 || p.ErrorMessage != nil {
		t.Errorf("gap: %+v", p)
	}
}

// TestProduceRecordErrors appends records without key to a compacted topic: version 8 tells which.
func TestProduceRecordErrors(t *testing.T) {
	b := newBroker(t, nil)
	b.create("c", 1, "cleanup.policy", "compact")
	send := func(version int16) kmsg.ProduceResponseTopicPartition {
		return ask[*kmsg.ProduceResponse](b, produceRequest(version, -1, "c", [16]byte{}, oneRecord("a", "b").bytes())).Topics[0].Partitions[0]
	}
	const message = "Compacted topic cannot accept message without key in topic partition c-0"
	p := send(8)
	if p.ErrorCode != kerr.InvalidRecord.Code || len(p.ErrorRecords) != 2 || p.ErrorRecords[1].RelativeOffset != 1 ||
		str(p.ErrorRecords[0].ErrorMessage) != message || !strings.HasPrefix(str(p.ErrorMessage), "One or more records have been rejected due to 2 record errors") {
		t.Errorf("version 8: %+v, %s", p, str(p.ErrorMessage))
	}
	if p := send(7); p.ErrorCode != kerr.InvalidRecord.Code {
		t.Errorf("version 7: %+v", p)
	}
}

// TestProduceTooLarge wants the text that Kafka doesn't send: size, limit, and setting.
func TestProduceTooLarge(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1, "max.message.bytes", "1000")
	p := ask[*kmsg.ProduceResponse](b, produceRequest(9, -1, "t", [16]byte{}, oneRecord(strings.Repeat("x", 2000)).bytes())).Topics[0].Partitions[0]
	if p.ErrorCode != kerr.MessageTooLarge.Code || p.LogStartOffset != -1 {
		t.Errorf("got %+v", p)
	}
	for _, part := range []string{"2070 bytes", "1000 bytes", "topic t", "max.message.bytes", "max.request.size"} {
		if !strings.Contains(str(p.ErrorMessage), part) {
			t.Errorf("message %q lacks %q", str(p.ErrorMessage), part)
		}
	}
}

// TestProduceLogAppendTime wants the time of the append in the answer, and a topic with one replica
// that takes acks=all although min.insync.replicas is 2, as Kafka does.
func TestProduceLogAppendTime(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1, "message.timestamp.type", "LogAppendTime", "min.insync.replicas", "2")
	p := ask[*kmsg.ProduceResponse](b, produceRequest(9, -1, "t", [16]byte{}, oneRecord("v").bytes())).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.LogAppendTime <= 946_684_800_000 {
		t.Errorf("got %+v", p)
	}
}

// TestProduceAcks0 answers nothing, and closes the connection on an error.
func TestProduceAcks0(t *testing.T) {
	b := newBroker(t, nil)
	b.create("t", 1)
	p := b.send(produceRequest(9, 0, "t", [16]byte{}, oneRecord("v").bytes()))
	<-p.done
	if !p.reply.None || p.reply.CloseReason != nil {
		t.Errorf("success: %+v", p.reply)
	}
	p = b.send(produceRequest(9, 0, "none", [16]byte{}, oneRecord("v").bytes()))
	<-p.done
	if p.reply.CloseReason == nil || !strings.Contains(p.reply.CloseReason.Error(), "none-0") {
		t.Errorf("unknown topic: %+v", p.reply)
	}
}
