package batch

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
)

func readFile(t testing.TB, name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKafkasBatches reads segments that Kafka wrote with each codec (testdata/README.md): all
// records come out, through Next and through Skim, and heads and checksums are right. Records
// built anew from them, without compression, are the bytes that Kafka wrote.
func TestKafkasBatches(t *testing.T) {
	codecs := NewCodecs()
	for codec := None; codec <= Zstd; codec++ {
		file := readFile(t, "testdata/"+codec.String()+".log")
		n := 0
		for b, err := range All(file) {
			if err != nil {
				t.Fatal(err)
			}
			if err := b.CheckCRC(); err != nil {
				t.Errorf("%s: %v", codec, err)
			}
			if b.Attributes.Codec() != codec || b.NumRecords != b.LastOffsetDelta+1 || b.BaseOffset != int64(n) || b.LeaderEpoch != 0 {
				t.Errorf("%s: head %+v", codec, b.Header)
			}
			n += compareKafkasRecords(t, codecs, &b)
		}
		if n != 40 {
			t.Errorf("%s: %d records", codec, n)
		}
	}
}

// compareKafkasRecords compares b's records with what was sent and returns their number.
func compareKafkasRecords(t *testing.T, codecs *Codecs, b *Batch) int {
	read, err := codecs.Records(b, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var skim RecordReader
	if err := skim.Open(codecs, b, ReadLimits{TotalBytes: 1 << 20, RecordBodyBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	defer skim.Close()
	o := DefaultOptions()
	o.BaseOffset, o.LeaderEpoch = b.BaseOffset, b.LeaderEpoch
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = b.ProducerID, b.ProducerEpoch, b.BaseSequence
	again, copied := codecs.NewBuilder(nil, o), codecs.NewBuilder(nil, o)
	n := 0
	var rec, partial Record
	for read.Next(&rec) {
		i := int(b.BaseOffset) + n + 1
		n++
		if got, want := string(rec.Key), fmt.Sprintf("key-%d", i%7); got != want {
			t.Errorf("key %q, want %q", got, want)
		}
		if got, want := string(rec.Value), fmt.Sprintf("value %d of a golden batch, written by Kafka's own console producer", i); got != want {
			t.Errorf("value %q, want %q", got, want)
		}
		headers := slices.Collect(rec.Headers())
		if len(headers) != 2 || rec.NumHeaders() != 2 || headers[0].Key != "h1" || string(headers[0].Value) != fmt.Sprintf("v%d", i) || headers[1].Key != "h2" || string(headers[1].Value) != "w" {
			t.Errorf("headers %v", headers)
		}
		if rec.Offset != int64(i-1) || rec.Timestamp < b.BaseTimestamp || rec.Timestamp > b.MaxTimestamp || rec.Sequence != b.BaseSequence+int32(n-1) {
			t.Errorf("record %+v of %+v", rec, b.Header)
		}
		again.Append(rec.Timestamp, rec.Key, rec.Value, headers...)
		copied.AppendRecord(rec.Offset, &rec)
		if !skim.Skim(&partial) {
			t.Fatalf("Skim ends at record %d: %v", i, skim.Err())
		}
		if partial.Offset != rec.Offset || partial.Timestamp != rec.Timestamp || partial.Sequence != rec.Sequence ||
			partial.KeySize != rec.KeySize || partial.ValueSize != rec.ValueSize || partial.SizeBytes != rec.SizeBytes {
			t.Errorf("Skim %+v, Next %+v", partial, rec)
		}
	}
	if read.Err() != nil || skim.Skim(&partial) || skim.Err() != nil {
		t.Errorf("Next: %v, Skim: %v", read.Err(), skim.Err())
	}
	want, err := codecs.Decompress(nil, b.Attributes.Codec(), b.Payload(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, builder := range []*Builder{again, copied} {
		raw, err := builder.Build()
		if err != nil {
			t.Fatal(err)
		}
		if b.Attributes.Codec() == None && !bytes.Equal(raw, b.Bytes()) || !bytes.Equal(raw[HeaderSize:], want) {
			t.Errorf("built\n%x\nKafka's\n%x", raw[HeaderSize:], want)
		}
	}
	return n
}

// TestKafkasMarkers reads the markers of a segment of Kafka's and builds each of them again,
// byte for byte.
func TestKafkasMarkers(t *testing.T) {
	markers := 0
	for b, err := range All(readFile(t, "testdata/markers.log")) {
		if err != nil {
			t.Fatal(err)
		}
		m, timestamp, ok, err := b.EndTxnMarker()
		if err != nil {
			t.Fatal(err)
		}
		if ok != b.Attributes.IsControl() {
			t.Errorf("marker %v in %+v", ok, b.Header)
		}
		if !ok {
			continue
		}
		markers++
		built, _, err := Parse(AppendEndTxnMarker(nil, timestamp, b.ProducerID, b.ProducerEpoch, m))
		if err != nil {
			t.Fatal(err)
		}
		built.SetBaseOffset(b.BaseOffset)
		built.SetLeaderEpoch(b.LeaderEpoch)
		if !m.Commit || !bytes.Equal(built.Bytes(), b.Bytes()) {
			t.Errorf("%+v\n%x\nKafka's\n%x", m, built.Bytes(), b.Bytes())
		}
	}
	if markers < 2 {
		t.Errorf("%d markers", markers)
	}
}
