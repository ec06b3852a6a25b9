package validate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/log/batch"
)

// build makes a batch of n records at timestamp.
func build(t testing.TB, codecs *batch.Codecs, o batch.BuilderOptions, n int, timestamp int64) []byte {
	b := codecs.NewBuilder(nil, o)
	for range n {
		b.Append(timestamp, []byte("key"), []byte("value"))
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestTimestampRange checks both ends of the range, and the message.
func TestTimestampRange(t *testing.T) {
	codecs := batch.NewCodecs()
	p := defaults()
	p.NowMs, p.BeforeMaxMs, p.AfterMaxMs = 1000, 100, 50
	for timestamp, ok := range map[int64]bool{899: false, 900: true, 1050: true, 1051: false, -1: true} {
		_, err := produce(build(t, codecs, batch.DefaultOptions(), 1, timestamp), 9, &p, codecs)
		if ok != (err == nil) {
			t.Errorf("timestamp %d: %v", timestamp, err)
		}
		if re := new(RecordErrors); !ok && (!errors.As(err, &re) || !errors.Is(err, kerr.InvalidTimestamp) ||
			!strings.HasSuffix(re.Records[0].Message, "of message with offset 0 is out of range. The timestamp should be within [900, 1050]")) {
			t.Errorf("timestamp %d: %+v", timestamp, re)
		}
	}
}

// TestInPlace shows that a batch that keeps its codec is neither copied nor changed beyond its
// stamps, and that the input is untouched after an error.
func TestInPlace(t *testing.T) {
	codecs := batch.NewCodecs()
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		o := batch.DefaultOptions()
		o.Codec = codec
		sent := build(t, codecs, o, 3, 1000)
		before := bytes.Clone(sent)
		p := defaults()
		p.NowMs, p.FirstOffset, p.LeaderEpoch = 1000, 77, 5
		r, err := produce(sent, 9, &p, codecs)
		if err != nil {
			t.Fatal(err)
		}
		if &r.Records[0] != &sent[0] || r.Recompressed || !bytes.Equal(before[17:], sent[17:]) {
			t.Errorf("%s: not in place, or changed", codec)
		}
		if r.FirstOffset != 77 || r.LastOffset != 79 || r.Batch.BaseOffset != 77 || r.Batch.LeaderEpoch != 5 || r.MaxTimestamp != 1000 || r.OffsetOfMaxTimestamp != 79 || r.NumBatches != 1 {
			t.Errorf("%s: %+v", codec, r)
		}
		p.NowMs = -1 << 40 // All timestamps are ahead.
		sent = bytes.Clone(before)
		if _, err := produce(sent, 9, &p, codecs); err == nil || !bytes.Equal(sent, before) {
			t.Errorf("%s: refused with %v, or changed", codec, err)
		}
	}
}

// TestCoordinator appends what clients may not: a control batch, also where the topic asks for a
// codec, and offsets of its own.
func TestCoordinator(t *testing.T) {
	codecs := batch.NewCodecs()
	p := defaults()
	p.Origin, p.NowMs, p.FirstOffset = OriginCoordinator, 1000, 10
	p.Compression = Compression{Codec: batch.Gzip, Level: 1}
	marker := batch.AppendEndTxnMarker(nil, 1000, 5, 2, batch.EndTxnMarker{Commit: true, CoordinatorEpoch: 3})
	a, err := Analyze(marker, &p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Append(&a, &p, codecs)
	if err != nil || r.Recompressed || r.FirstOffset != 10 || r.LastOffset != 10 {
		t.Fatalf("%+v, %v", r, err)
	}
	if m, _, ok, err := r.Batch.EndTxnMarker(); err != nil || !ok || !m.Commit || m.CoordinatorEpoch != 3 {
		t.Errorf("%+v, %v, %v", m, ok, err)
	}
	p.Origin = OriginClient
	if _, err := Append(&a, &p, codecs); !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("marker of a client: %v", err)
	}
}

// TestFollower copies a leader's batches: several at once, offsets with gaps, none below the log
// end, and none of a leader epoch above the follower's.
func TestFollower(t *testing.T) {
	codecs := batch.NewCodecs()
	var records []byte
	for i, offset := range []int64{10, 13, 20} {
		o := batch.DefaultOptions()
		o.BaseOffset, o.LeaderEpoch = offset, int32(i)
		records = append(records, build(t, codecs, o, 2, 1000-int64(i))...)
	}
	cut := append(bytes.Clone(records), records[:40]...)
	p := defaults()
	p.Origin, p.LeaderEpoch, p.FirstOffset, p.MaxMessageBytes = OriginReplication, 2, 10, 1
	a, err := Analyze(cut, &p)
	if err != nil || !bytes.Equal(a.Records, records) || a.NumBatches != 3 {
		t.Fatalf("%d batches, %v", a.NumBatches, err)
	}
	r, err := AppendAsFollower(&a, &p)
	if err != nil || r.FirstOffset != 10 || r.LastOffset != 21 || r.LeaderEpoch != 2 || r.MaxTimestamp != 1000 || r.OffsetOfMaxTimestamp != 11 {
		t.Errorf("%+v, %v", r, err)
	}
	p.FirstOffset = 11
	if _, err := AppendAsFollower(&a, &p); !errors.Is(err, kerr.UnknownServerError) {
		t.Errorf("below the log end: %v", err)
	}
	p.LeaderEpoch = 1
	if a, err = Analyze(records, &p); err != nil || a.NumBatches != 2 || a.LastOffset != 14 {
		t.Errorf("epoch above the follower's: %d batches to %d, %v", a.NumBatches, a.LastOffset, err)
	}
	p.LeaderEpoch = 2
	if _, err = Analyze(append(bytes.Clone(records), records...), &p); !errors.Is(err, kerr.UnknownServerError) {
		t.Errorf("offsets that go back: %v", err)
	}
	records[len(records)-1] ^= 1
	if _, err = Analyze(records, &p); !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("wrong CRC: %v", err)
	}
	if a, err = Analyze(records[:30], &p); err != nil || a.NumBatches != 0 {
		t.Errorf("no whole batch: %v", err)
	}
	if _, err := AppendAsFollower(&a, &p); !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("nothing to append: %v", err)
	}
}

// TestLimits refuses an append above segment.bytes, a batch that is too large with the topic's
// codec, and names no more than so many records.
func TestLimits(t *testing.T) {
	codecs := batch.NewCodecs()
	p := defaults()
	p.NowMs = 1000
	p.SegmentBytes = 100
	if _, err := produce(build(t, codecs, batch.DefaultOptions(), 5, 1000), 9, &p, codecs); !errors.Is(err, kerr.RecordListTooLarge) {
		t.Errorf("above segment.bytes: %v", err)
	}
	o := batch.DefaultOptions()
	o.Codec = batch.Zstd
	p = defaults()
	p.NowMs, p.MaxMessageBytes = 1000, 500
	p.Compression = Compression{Codec: batch.None}
	if _, err := produce(build(t, codecs, o, 100, 1000), 9, &p, codecs); !errors.Is(err, kerr.MessageTooLarge) {
		t.Errorf("above max.message.bytes when uncompressed: %v", err)
	}
	p = defaults()
	p.NowMs = -1 << 40
	_, err := produce(build(t, codecs, o, maxRecordErrors+5, 1000), 9, &p, codecs)
	if re := new(RecordErrors); !errors.As(err, &re) || len(re.Records) != maxRecordErrors {
		t.Errorf("%d records named", len(re.Records))
	}
}

// TestAppendDoesNotAllocate holds the path of every Produce of uncompressed records.
func TestAppendDoesNotAllocate(t *testing.T) {
	codecs := batch.NewCodecs()
	p := defaults()
	p.NowMs = 1000
	sent := build(t, codecs, batch.DefaultOptions(), 100, 1000)
	n := testing.AllocsPerRun(100, func() {
		clear(sent[:8]) // The base offset, as a client sends it.
		if _, err := produce(sent, 9, &p, codecs); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAppend measures checking and stamping one batch of 100 records of 100 bytes.
func BenchmarkAppend(b *testing.B) {
	codecs := batch.NewCodecs()
	p := defaults()
	p.NowMs = 1000
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		o := batch.DefaultOptions()
		o.Codec = codec
		builder := codecs.NewBuilder(nil, o)
		for i := range 100 {
			builder.Append(1000, []byte("key"), bytes.Repeat([]byte{byte(i), byte(i * 7)}, 50))
		}
		sent, err := builder.Build()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(codec.String(), func(b *testing.B) {
			b.SetBytes(100 * 110)
			b.ReportAllocs()
			for b.Loop() {
				clear(sent[:8])
				if _, err := produce(sent, 9, &p, codecs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzValidate appends any bytes, with the CRC put right, to topics of random settings: no panic;
// after an error the bytes are as they were; else the result is one batch with a right CRC, the
// offsets that were due, and, where it kept its codec, the records that were sent.
func FuzzValidate(f *testing.F) {
	codecs := batch.NewCodecs()
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		o := batch.DefaultOptions()
		o.Codec = codec
		f.Add(build(f, codecs, o, 3, 1000), uint8(0), uint8(0))
		f.Add(build(f, codecs, o, 3, 1000), uint8(7), uint8(2))
	}
	f.Fuzz(func(t *testing.T, sent []byte, settings, target uint8) {
		if b, _, err := batch.Parse(sent); err == nil && b.Magic == batch.MagicV2 {
			sent = bytes.Clone(sent)
			binary.BigEndian.PutUint32(sent[17:], crc32.Checksum(sent[21:b.SizeBytes()], crc32.MakeTable(crc32.Castagnoli)))
		}
		p := defaults()
		p.NowMs, p.FirstOffset, p.MaxMessageBytes = 1000, 1<<40, 1<<20
		p.MaxDecompressedMessageBytes = 1 << 20
		p.Compacted = settings&1 != 0
		p.TimestampType = batch.TimestampType(settings >> 1 & 1)
		p.Compression.Producer = settings&4 == 0
		p.Compression.Codec = batch.Codec(target % 5)
		before := bytes.Clone(sent)
		r, err := produce(sent, 9, &p, codecs)
		if err != nil {
			if !bytes.Equal(before, sent) {
				t.Fatalf("%v, and the bytes changed", err)
			}
			return
		}
		b, rest, err := batch.Parse(r.Records)
		if err != nil || len(rest) != 0 || b.CheckCRC() != nil || b.Header != r.Batch.Header {
			t.Fatalf("%v: %+v", err, b.Header)
		}
		if r.FirstOffset != p.FirstOffset || b.BaseOffset != r.FirstOffset || b.LastOffset() != r.LastOffset || b.LeaderEpoch != p.LeaderEpoch || b.Attributes.TimestampType() != p.TimestampType {
			t.Fatalf("%+v, %+v", r, b.Header)
		}
		if !r.Recompressed && !bytes.Equal(b.Payload(), before[batch.HeaderSize:b.SizeBytes()]) {
			t.Fatal("records changed")
		}
	})
}
