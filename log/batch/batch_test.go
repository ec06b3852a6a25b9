package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"
)

// build makes a batch with records of the given values.
func build(t testing.TB, codecs *Codecs, o BuilderOptions, values ...string) Batch {
	b := codecs.NewBuilder(nil, o)
	for i, v := range values {
		b.Append(int64(1000+i), []byte("key"), []byte(v), RecordHeader{Key: "h", Value: nil})
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	parsed, rest, err := Parse(raw)
	if err != nil || len(rest) != 0 {
		t.Fatal(err, len(rest))
	}
	return parsed
}

// TestPatch changes what a broker changes and checks that the bytes follow, that the CRC is
// right, and that only LogAppendTime touches it.
func TestPatch(t *testing.T) {
	b := build(t, NewCodecs(), DefaultOptions(), "a", "b")
	crc := b.CRC
	b.SetBaseOffset(1 << 40)
	b.SetLeaderEpoch(7)
	b.SetMaxTimestamp(CreateTime, b.MaxTimestamp)
	if b.CRC != crc || b.CheckCRC() != nil {
		t.Error("offset, epoch or the same timestamp touched the CRC")
	}
	if b.LastOffset() != 1<<40+1 || b.NextOffset() != 1<<40+2 {
		t.Errorf("offsets %d, %d", b.LastOffset(), b.NextOffset())
	}
	b.SetMaxTimestamp(LogAppendTime, 5000)
	again, _, err := Parse(b.Bytes())
	if err != nil || again.Header != b.Header || again.CheckCRC() != nil || b.CRC == crc {
		t.Errorf("%v: bytes say %+v, head %+v", err, again.Header, b.Header)
	}
	r, err := NewCodecs().Records(&b, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rec Record
	for r.Next(&rec) {
		if rec.Timestamp != 5000 {
			t.Errorf("timestamp %d under LogAppendTime", rec.Timestamp)
		}
	}
}

// TestParseChecksLengths cuts a batch everywhere and gives its length field bad values.
func TestParseChecksLengths(t *testing.T) {
	one := build(t, NewCodecs(), DefaultOptions(), "value")
	whole := one.Bytes()
	for n := range whole {
		if _, rest, err := Parse(whole[:n]); !errors.Is(err, ErrTruncated) || len(rest) != n {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	for _, length := range []int32{math.MinInt32, -1, 0, 13, 14, 48} {
		b := bytes.Clone(whole)
		binary.BigEndian.PutUint32(b[posLength:], uint32(length))
		if _, _, err := Parse(b); !errors.Is(err, kerr.CorruptMessage) {
			t.Errorf("length %d: %v", length, err)
		}
	}
	b := bytes.Clone(whole)
	binary.BigEndian.PutUint32(b[posLength:], math.MaxInt32)
	if _, _, err := Parse(b); !errors.Is(err, ErrTruncated) {
		t.Errorf("length beyond the bytes: %v", err)
	}
	b = bytes.Clone(whole)
	b[posMagic] = 3
	if _, _, err := Parse(b); !errors.Is(err, kerr.CorruptMessage) {
		t.Errorf("magic 3: %v", err)
	}
	for i := posAttributes; i < len(whole); i++ {
		b := bytes.Clone(whole)
		b[i] ^= 1
		if damaged, _, err := Parse(b); err == nil && damaged.CheckCRC() == nil {
			t.Errorf("damaged byte %d isn't seen", i)
		}
	}
}

// TestSequence checks the arithmetic around the wrap.
func TestSequence(t *testing.T) {
	for _, tc := range []struct{ from, by, to int32 }{
		{0, 0, 0}, {5, 3, 8}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 1, 3, 1}, {0, math.MaxInt32, math.MaxInt32},
	} {
		if got := IncrementSequence(tc.from, tc.by); got != tc.to {
			t.Errorf("%d + %d = %d, want %d", tc.from, tc.by, got, tc.to)
		}
		if got := DecrementSequence(tc.to, tc.by); got != tc.from {
			t.Errorf("%d - %d = %d, want %d", tc.to, tc.by, got, tc.from)
		}
	}
}

// TestBuilderRefuses gives offsets that don't grow, or grow too far, and levels out of range.
func TestBuilderRefuses(t *testing.T) {
	codecs := NewCodecs()
	b := codecs.NewBuilder(nil, DefaultOptions())
	b.AppendAt(5, 0, nil, nil)
	b.AppendAt(5, 0, nil, nil)
	if _, err := b.Build(); !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("same offset twice: %v", err)
	}
	b = codecs.NewBuilder(nil, DefaultOptions())
	b.AppendAt(1<<31, 0, nil, nil)
	if _, err := b.Build(); !errors.Is(err, kerr.InvalidRecord) {
		t.Errorf("offset delta of 32 bits: %v", err)
	}
	for codec, level := range map[Codec]int{Gzip: 10, LZ4: 18, Zstd: 23} {
		if _, err := codecs.Compress(nil, codec, level, []byte("x")); !errors.Is(err, kerr.InvalidConfig) {
			t.Errorf("%s level %d: %v", codec, level, err)
		}
	}
}

// TestRecordsRoundTrip builds batches of random records with random codec and level and reads
// them back.
func TestRecordsRoundTrip(t *testing.T) {
	codecs := NewCodecs()
	nullable := func(t *rapid.T, name string) []byte {
		if rapid.IntRange(0, 4).Draw(t, name+" null") == 0 {
			return nil
		}
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name)
		return bytes.Repeat(append([]byte{}, b...), rapid.SampledFrom([]int{1, 1, 1, 3000}).Draw(t, name+" times"))
	}
	rapid.Check(t, func(t *rapid.T) {
		o := DefaultOptions()
		o.BaseOffset = rapid.Int64Range(0, 1<<50).Draw(t, "base offset")
		o.Codec = Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		o.Level = rapid.SampledFrom([]int{DefaultLevel, 1, 3, 9}).Draw(t, "level")
		o.Transactional = rapid.Bool().Draw(t, "transactional")
		builder := codecs.NewBuilder([]byte("before"), o)
		var want []Record
		var headers [][]RecordHeader
		offset := o.BaseOffset
		for range rapid.IntRange(0, 6).Draw(t, "records") {
			offset += rapid.Int64Range(0, 3).Draw(t, "gap")
			rec := Record{
				Offset: offset, Timestamp: rapid.Int64Range(-1<<40, 1<<60).Draw(t, "timestamp"), Sequence: NoSequence,
				Key: nullable(t, "key"), Value: nullable(t, "value"),
			}
			var hs []RecordHeader
			for range rapid.IntRange(0, 2).Draw(t, "headers") {
				hs = append(hs, RecordHeader{Key: rapid.StringN(0, 5, 20).Draw(t, "header"), Value: nullable(t, "header value")})
			}
			builder.AppendAt(offset, rec.Timestamp, rec.Key, rec.Value, hs...)
			want, headers = append(want, rec), append(headers, hs)
			offset++
		}
		raw, err := builder.Build()
		if err != nil {
			t.Fatal(err)
		}
		b, rest, err := Parse(raw[len("before"):])
		if err != nil || len(rest) != 0 || b.CheckCRC() != nil {
			t.Fatal(err, len(rest))
		}
		r, err := codecs.Records(&b, 1<<24)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var rec Record
		n := 0
		for ; r.Next(&rec); n++ {
			w := want[n]
			if rec.Offset != w.Offset || rec.Timestamp != w.Timestamp || !equalNullable(rec.Key, w.Key) || !equalNullable(rec.Value, w.Value) {
				t.Fatalf("record %+v, want %+v", rec, w)
			}
			got := slices.Collect(rec.Headers())
			if !slices.EqualFunc(got, headers[n], func(a, b RecordHeader) bool { return a.Key == b.Key && equalNullable(a.Value, b.Value) }) {
				t.Fatalf("headers %v, want %v", got, headers[n])
			}
		}
		if r.Err() != nil || n != len(want) {
			t.Fatalf("%d records of %d: %v", n, len(want), r.Err())
		}
	})
}

func equalNullable(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// TestSkimRefusesWhatNextDoes damages each byte of plain records in turn: Skim, which has a path
// of its own for short records, must accept exactly what Next accepts, and say the same of it.
func TestSkimRefusesWhatNextDoes(t *testing.T) {
	codecs := NewCodecs()
	builder := codecs.NewBuilder(nil, DefaultOptions())
	builder.Append(5, []byte("key"), []byte("value"))
	builder.Append(-70, nil, bytes.Repeat([]byte("v"), 100))
	builder.Append(9000, []byte{}, nil)
	builder.Append(9_000_000, []byte("k"), bytes.Repeat([]byte("v"), 9000))
	builder.Append(6, []byte("k"), nil, RecordHeader{Key: "h"})
	raw, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	read := func(b *Batch, next func(*RecordReader, *Record) bool) (out []Record, failed bool) {
		var r RecordReader
		if err := r.Open(codecs, b, ReadLimits{}); err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var rec Record
		for next(&r, &rec) {
			rec.Key, rec.Value, rec.headers, rec.numHeaders = nil, nil, nil, 0
			out = append(out, rec)
		}
		return out, r.Err() != nil
	}
	same := func(a, b Record) bool {
		return a.Offset == b.Offset && a.Timestamp == b.Timestamp && a.KeySize == b.KeySize && a.ValueSize == b.ValueSize && a.SizeBytes == b.SizeBytes
	}
	for i := HeaderSize - 1; i < len(raw); i++ {
		if i > HeaderSize+200 && i < len(raw)-40 {
			continue // Inside the value of 9000 bytes.
		}
		for bit := range 8 {
			damaged := bytes.Clone(raw)
			if i >= HeaderSize {
				damaged[i] ^= 1 << bit
			}
			b, _, err := Parse(damaged)
			if err != nil {
				t.Fatal(err)
			}
			want, refused := read(&b, (*RecordReader).Next)
			got, skimRefused := read(&b, (*RecordReader).Skim)
			if refused != skimRefused || !slices.EqualFunc(got, want, same) {
				t.Fatalf("byte %d, bit %d: Skim %v, %v; Next %v, %v", i, bit, got, skimRefused, want, refused)
			}
		}
	}
}

// TestVarints goes over the edges of both sizes and over encodings that are too long.
func TestVarints(t *testing.T) {
	for _, v := range []int64{0, -1, 1, 63, -64, 64, -65, 8191, 8192, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		b := appendVarlong(nil, v)
		if got, n := getVarlong(b); got != v || n != len(b) || sizeVarlong(v) != len(b) {
			t.Errorf("%d: %d in %d of %d bytes", v, got, n, len(b))
		}
		if _, n := getVarlong(b[:len(b)-1]); n != 0 {
			t.Errorf("%d cut: n = %d", v, n)
		}
		w := int32(v)
		b = appendVarint(nil, w)
		if got, n := getVarint(b); got != w || n != len(b) || sizeVarint(w) != len(b) {
			t.Errorf("%d: %d in %d of %d bytes", w, got, n, len(b))
		}
	}
	long := bytes.Repeat([]byte{0x80}, 11)
	if _, n := getVarint(long); n != -1 {
		t.Errorf("varint without end: n = %d", n)
	}
	if _, n := getVarlong(long); n != -1 {
		t.Errorf("varlong without end: n = %d", n)
	}
}
