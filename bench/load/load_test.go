package load

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestBatch(t *testing.T) {
	for _, size := range []int{2 << 10, 16 << 10, 512 << 10} {
		b, n := makeBatch(size, 1024, time.UnixMilli(1))
		var got kmsg.RecordBatch
		if err := got.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		if int(got.NumRecords) != n || int(got.LastOffsetDelta) != n-1 || uint32(got.CRC) != crc32.Checksum(b[21:], castagnoli) {
			t.Fatalf("%d: header %+v", size, got)
		}
		if d := size - len(b); d < 0 || d > 32 {
			t.Errorf("%d: the batch has %d bytes", size, len(b))
		}
		rest := got.Records
		for i := range n {
			var r kmsg.Record
			l, used := binary.Varint(rest)
			if err := r.ReadFrom(rest[:used+int(l)]); err != nil || int(r.OffsetDelta) != i {
				t.Fatalf("%d: record %d: %+v, %v", size, i, r, err)
			}
			rest = rest[used+int(l):]
		}
		if len(rest) != 0 {
			t.Errorf("%d: %d bytes behind the records", size, len(rest))
		}
		if end, ok := endOf(b); !ok || end != int64(n) {
			t.Errorf("%d: end %d, %v", size, end, ok)
		}
		if _, ok := endOf(b[:len(b)-1]); ok {
			t.Error("a cut batch counts")
		}
	}
}

func TestFetchFrameOffset(t *testing.T) {
	frame := fetchFrame("topic", 3, 1<<20, 7)
	putOffset(frame, 0x0102030405060708)
	setCorrelation(frame, 9)
	req := kmsg.NewPtrFetchRequest()
	req.Version = fetchVersion
	body := frame[4+8+2+len("ottla-bench")+1:]
	if err := req.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	p := req.Topics[0].Partitions[0]
	if p.FetchOffset != 0x0102030405060708 || p.Partition != 3 || p.PartitionMaxBytes != 1<<20 || req.MaxWaitMillis != 7 {
		t.Fatalf("got %+v", req)
	}
}

func TestAnswers(t *testing.T) {
	p := Produce{Topic: "topic"}
	ok := append([]byte{0, 0, 0, 1}, p.answer(2)...)
	if err := check(ok, p.answer(2)); err != nil {
		t.Error(err)
	}
	failed := append([]byte(nil), ok...)
	failed[len(failed)-1] = 6
	if err := check(failed, p.answer(2)); err == nil {
		t.Error("an error was taken for success")
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	part := kmsg.NewFetchResponseTopicPartition()
	part.RecordBatches = []byte("records")
	resp.Topics = []kmsg.FetchResponseTopic{{Topic: "topic", Partitions: []kmsg.FetchResponseTopicPartition{part}}}
	answer := resp.AppendTo([]byte{0, 0, 0, 1, 0})
	if got, err := recordsOf(answer); err != nil || string(got) != "records" {
		t.Errorf("got %q, %v", got, err)
	}
	for n := range answer[:len(answer)-10] {
		if _, err := recordsOf(answer[:n]); err == nil {
			t.Errorf("accepted %d bytes", n)
		}
	}
	resp.Topics[0].Partitions[0].ErrorCode = 1
	if _, err := recordsOf(resp.AppendTo([]byte{0, 0, 0, 1, 0})); err == nil {
		t.Error("an error was taken for success")
	}
}
