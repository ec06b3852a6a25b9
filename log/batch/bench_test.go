package batch

import (
	"bytes"
	"fmt"
	"testing"
)

// benchValues are n values of sizeBytes that nothing can compress, or that everything can.
func benchValues(n, sizeBytes int, shrinks bool) []string {
	values := make([]string, n)
	noise := incompressible(n * sizeBytes)
	for i := range values {
		values[i] = string(noise[i*sizeBytes : (i+1)*sizeBytes])
		if shrinks {
			var b bytes.Buffer
			for j := 0; b.Len() < sizeBytes; j++ {
				fmt.Fprintf(&b, `{"id":%d,"user":"user-%d","event":"page_view","duration_ms":%d}`, i, noise[j], noise[j+i])
			}
			values[i] = b.String()[:sizeBytes]
		}
	}
	return values
}

// benchBatch is a batch of 16 records without keys and headers, 16 KiB before it is compressed.
func benchBatch(b *testing.B, codecs *Codecs, codec Codec, shrinks bool) Batch {
	b.Helper()
	o := DefaultOptions()
	o.Codec = codec
	builder := codecs.NewBuilder(nil, o)
	for _, v := range benchValues(16, 1012, shrinks) {
		builder.Append(1000, nil, []byte(v))
	}
	raw, err := builder.Build()
	if err != nil {
		b.Fatal(err)
	}
	one, _, err := Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	return one
}

// contentNames are those of sub-benchmarks, by whether the content shrinks.
var contentNames = map[bool]string{false: "random", true: "json"}

// BenchmarkCRC checks the CRC of a batch of 16 KiB.
func BenchmarkCRC(b *testing.B) {
	one := benchBatch(b, NewCodecs(), None, false)
	b.SetBytes(int64(one.SizeBytes()))
	b.ReportAllocs()
	for b.Loop() {
		if err := one.CheckCRC(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHeads walks over the heads of 64 batches of 16 KiB.
func BenchmarkHeads(b *testing.B) {
	const batches = 64
	one := benchBatch(b, NewCodecs(), None, false)
	segment := bytes.Repeat(one.Bytes(), batches)
	b.ReportAllocs()
	for b.Loop() {
		records := int32(0)
		for next, err := range All(segment) {
			if err != nil {
				b.Fatal(err)
			}
			records += next.NumRecords
		}
		if records != batches*16 {
			b.Fatal(records)
		}
	}
}

// BenchmarkRecords reads the 16 records of a batch of 16 KiB, with keys and values and without them.
func BenchmarkRecords(b *testing.B) {
	codecs := NewCodecs()
	limits := ReadLimits{TotalBytes: 1 << 20, RecordBodyBytes: MaxRecordBodyBytes}
	for _, shrinks := range []bool{false, true} {
		for codec := None; codec <= Zstd; codec++ {
			one := benchBatch(b, codecs, codec, shrinks)
			for _, way := range []struct {
				name string
				next func(*RecordReader, *Record) bool
			}{{"next", (*RecordReader).Next}, {"skim", (*RecordReader).Skim}} {
				b.Run(way.name+"/"+contentNames[shrinks]+"/"+codec.String(), func(b *testing.B) {
					b.SetBytes(int64(one.SizeBytes()))
					b.ReportAllocs()
					var r RecordReader
					var rec Record
					for b.Loop() {
						if err := r.Open(codecs, &one, limits); err != nil {
							b.Fatal(err)
						}
						size := int32(0)
						for way.next(&r, &rec) {
							size += rec.ValueSize
						}
						if r.Err() != nil || size != 16*1012 {
							b.Fatal(size, r.Err())
						}
						r.Close()
					}
				})
			}
		}
	}
}

// BenchmarkDecompress decompresses 16 KiB of records through the codecs' streams.
func BenchmarkDecompress(b *testing.B) {
	eachCodec(b, func(b *testing.B, codecs *Codecs, codec Codec, plain, packed []byte) {
		var dst []byte
		var err error
		for b.Loop() {
			if dst, err = codecs.Decompress(dst[:0], codec, packed, 1<<20); err != nil || len(dst) != len(plain) {
				b.Fatal(len(dst), err)
			}
		}
		if !bytes.Equal(dst, plain) {
			b.Fatal("other bytes")
		}
	})
}

// BenchmarkCompress compresses 16 KiB of records.
func BenchmarkCompress(b *testing.B) {
	eachCodec(b, func(b *testing.B, codecs *Codecs, codec Codec, plain, packed []byte) {
		var dst []byte
		var err error
		for b.Loop() {
			if dst, err = codecs.Compress(dst[:0], codec, DefaultLevel, plain); err != nil || len(dst) != len(packed) {
				b.Fatal(len(dst), err)
			}
		}
	})
}

// eachCodec runs f for each codec and content. Bytes a second are those of plain records.
func eachCodec(b *testing.B, f func(b *testing.B, codecs *Codecs, codec Codec, plain, packed []byte)) {
	codecs := NewCodecs()
	for _, shrinks := range []bool{false, true} {
		uncompressed := benchBatch(b, codecs, None, shrinks)
		plain := uncompressed.Payload()
		for codec := Gzip; codec <= Zstd; codec++ {
			packed, err := codecs.Compress(nil, codec, DefaultLevel, plain)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(contentNames[shrinks]+"/"+codec.String(), func(b *testing.B) {
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				f(b, codecs, codec, plain, packed)
			})
		}
	}
}

// BenchmarkBuild builds a plain batch of 16 records and 16 KiB.
func BenchmarkBuild(b *testing.B) {
	codecs := NewCodecs()
	values := benchValues(16, 1012, false)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		builder := codecs.NewBuilder(dst[:0], DefaultOptions())
		for _, v := range values {
			builder.Append(1000, nil, []byte(v))
		}
		var err error
		if dst, err = builder.Build(); err != nil {
			b.Fatal(err)
		}
	}
	if one, _, err := Parse(dst); err != nil || one.CheckCRC() != nil || one.NumRecords != 16 {
		b.Fatal(err)
	}
}
