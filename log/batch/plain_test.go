package batch

import (
	"bytes"
	"testing"
)

// FuzzPlainRecords demands that PlainRecords finds exactly what RecordReader reads, and refuses what that one
// refuses; and that a batch rewritten by AppendPlain is the one that AppendRecord makes.
func FuzzPlainRecords(f *testing.F) {
	codecs := NewCodecs()
	for _, raw := range plainSeeds(f, codecs) {
		f.Add(raw, uint64(0b1011_0101), int64(0))
		f.Add(raw, ^uint64(0), int64(1000))
	}
	f.Fuzz(func(t *testing.T, raw []byte, keep uint64, horizon int64) { checkPlain(t, codecs, raw, keep, horizon) })
}

// TestPlainRecords is FuzzPlainRecords with records whose lengths take three bytes.
func TestPlainRecords(t *testing.T) {
	codecs := NewCodecs()
	o := DefaultOptions()
	o.BaseOffset = 1 << 33
	b := codecs.NewBuilder(nil, o)
	for i := range 5 {
		b.Append(int64(1000-i), bytes.Repeat([]byte("k"), 3000*i), bytes.Repeat([]byte("v"), 9000*i), RecordHeader{Key: "h", Value: make([]byte, 4000*i)})
	}
	raw, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	one, _, _ := Parse(raw)
	if plain, ok := one.PlainRecords(nil); !ok || len(plain) != 5 {
		t.Fatalf("%d records, %t", len(plain), ok)
	}
	checkPlain(t, codecs, raw, ^uint64(1), 0)
}

func checkPlain(t *testing.T, codecs *Codecs, raw []byte, keep uint64, horizon int64) {
	b, _, err := Parse(raw)
	if err != nil || b.Magic < MagicV2 || b.Attributes.Codec() != None || b.NumRecords > 1<<16 {
		return
	}
	plain, ok := b.PlainRecords(nil)
	r, err := codecs.Records(&b, 1<<20)
	if err != nil {
		if ok {
			t.Fatalf("%d records where the reader says %v", len(plain), err)
		}
		return
	}
	defer r.Close()
	o := b.RewriteOptions()
	if horizon != 0 {
		o.DeleteHorizon, o.DeleteHorizonMs = true, horizon
	}
	one, other := codecs.NewBuilder(nil, o), codecs.NewBuilder(nil, o)
	n := 0
	var rec Record
	for ; r.Next(&rec); n++ {
		if n >= len(plain) {
			if ok {
				t.Fatalf("%d records, the reader finds more", len(plain))
			}
			continue
		}
		p := &plain[n]
		if b.BaseOffset+int64(p.OffsetDelta) != rec.Offset || !bytes.Equal(p.Key(&b), rec.Key) || p.HasKey() != rec.HasKey() ||
			p.NullValue != (rec.ValueSize < 0) {
			t.Fatalf("record %d: %+v with key %q, want %+v", n, p, p.Key(&b), rec)
		}
		if ok && keep>>(n%64)&1 != 0 {
			one.AppendPlain(&b, p)
			other.AppendRecord(rec.Offset, &rec)
		}
	}
	if ok != (r.Err() == nil) || ok && n != len(plain) {
		t.Fatalf("ok %t with %d records, the reader has %d and says %v", ok, len(plain), n, r.Err())
	}
	if !ok {
		return
	}
	got, gotErr := one.Build()
	want, wantErr := other.Build()
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%v, want %v", gotErr, wantErr)
	}
	if gotErr == nil && canonical(&b, plain) && !bytes.Equal(got, want) {
		t.Fatalf("rewritten as\n%x, want\n%x", got, want)
	}
}

// canonical says that every length and delta takes the fewest bytes, and attributes are zero: other records are
// copied with what they have.
func canonical(b *Batch, plain []PlainRecord) bool {
	o := b.RewriteOptions()
	o.DeleteHorizon = false
	var rec Record
	p := b.Payload()
	for i := range plain {
		r := &plain[i]
		if decodeRecord(&b.Header, p[r.body:r.end], &rec) != nil {
			return false
		}
		again := appendRecord(nil, r.TimestampDelta, r.OffsetDelta, rec.Key, rec.Value, nil)
		if rec.numHeaders > 0 || !bytes.Equal(again, p[r.start:r.end]) {
			return false
		}
	}
	return true
}

// plainSeeds are batches with what a record can have.
func plainSeeds(tb testing.TB, codecs *Codecs) (seeds [][]byte) {
	tb.Helper()
	for _, t := range []TimestampType{CreateTime, LogAppendTime} {
		o := DefaultOptions()
		o.BaseOffset, o.ProducerID, o.ProducerEpoch, o.BaseSequence = 100, 5, 1, 7
		o.TimestampType, o.LogAppendTimeMs = t, 2000
		b := codecs.NewBuilder(nil, o)
		b.Append(1000, []byte("a"), []byte("1"))
		b.Append(1003, []byte("b"), nil)
		b.Append(900, nil, []byte("no key"))
		b.AppendAt(110, 1000, []byte("h"), bytes.Repeat([]byte("v"), 70), RecordHeader{Key: "x", Value: nil}, RecordHeader{Key: "", Value: []byte("y")})
		b.AppendAt(70_000, 1000+1<<40, bytes.Repeat([]byte("k"), 66), []byte{})
		raw, err := b.Build()
		if err != nil {
			tb.Fatal(err)
		}
		seeds = append(seeds, raw, raw[:len(raw)-1], append(bytes.Clone(raw), 0))
	}
	return seeds
}
