package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// addSegments seeds a fuzz target with every segment of testdata.
func addSegments(f *testing.F) {
	names, err := filepath.Glob("testdata/*.log")
	if err != nil || len(names) == 0 {
		f.Fatal(err, names)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzBatchIterate reads any bytes as batches, and the records of each as if the CRC were right:
// no panic; batches tile the input; Next and Skim agree on what both accept, and with themselves whether they read in one go or
// through a stream; and records that were read, written into a new batch and read again are the same.
func FuzzBatchIterate(f *testing.F) {
	addSegments(f)
	codecs := NewCodecs()
	f.Fuzz(func(t *testing.T, file []byte) {
		rest := file
		for len(rest) > 0 {
			b, after, err := Parse(rest)
			if err != nil {
				return
			}
			if !bytes.Equal(b.Bytes(), rest[:len(rest)-len(after)]) || b.SizeBytes() != len(b.Bytes()) {
				t.Fatal("a batch isn't the bytes that it was parsed from")
			}
			_ = b.CheckCRC()
			_, _, _, _ = b.EndTxnMarker()
			iterate(t, codecs, &b)
			if b.Magic == MagicV2 && b.Attributes.Codec() != None && b.NumRecords > 0 {
				compareWays(t, codecs, &b, ReadLimits{TotalBytes: fuzzLimit, RecordBodyBytes: MaxRecordBodyBytes})
			}
			rest = after
		}
	})
}

const fuzzLimit = 1 << 20

func iterate(t *testing.T, codecs *Codecs, b *Batch) {
	r, err := codecs.Records(b, fuzzLimit)
	if err != nil {
		return
	}
	defer r.Close()
	var skim RecordReader
	if b.Magic == MagicV2 {
		if err := skim.Open(codecs, b, ReadLimits{TotalBytes: fuzzLimit, RecordBodyBytes: MaxRecordBodyBytes}); err != nil {
			t.Fatalf("Next opens, Skim doesn't: %v", err)
		}
		defer skim.Close()
	}
	o := DefaultOptions()
	o.BaseOffset = b.BaseOffset
	copied := codecs.NewBuilder(nil, o)
	var rec, partial Record
	total, last := 0, int64(-1)
	ordered := true
	for r.Next(&rec) {
		total += rec.SizeBytes
		for range rec.Headers() { // Reads them all.
		}
		ordered = ordered && rec.Offset > last && rec.Offset-b.BaseOffset < 1<<31 && rec.Offset >= b.BaseOffset
		last = rec.Offset
		if b.Magic == MagicV2 {
			if !skim.Skim(&partial) {
				t.Fatalf("Next reads a record that Skim refuses: %v", skim.Err())
			}
			if partial.Offset != rec.Offset || partial.Timestamp != rec.Timestamp || partial.HasKey() != rec.HasKey() {
				t.Fatalf("Skim %+v, Next %+v", partial, rec)
			}
		}
		copied.AppendRecord(rec.Offset, &rec)
	}
	if r.Err() != nil && b.Magic == MagicV2 && b.Attributes.Codec() == None && skim.Skim(&partial) {
		t.Fatalf("Skim reads a plain record that Next refuses: %v", r.Err())
	}
	if r.Err() != nil || !ordered || b.Magic != MagicV2 {
		return
	}
	raw, err := copied.Build()
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := Parse(raw)
	if err != nil || again.CheckCRC() != nil || again.NumRecords != b.NumRecords {
		t.Fatalf("copy of records: %v, %+v", err, again.Header)
	}
}

// FuzzDecompress decompresses any bytes with each codec, records' framing aside: no panic, never
// more than the limit, what comes out in one go is the same, and it survives compression.
func FuzzDecompress(f *testing.F) {
	codecs := NewCodecs()
	for codec := Gzip; codec <= Zstd; codec++ {
		for _, s := range []string{"", "some text, some text, some text", string(make([]byte, 5000))} {
			packed, err := codecs.Compress(nil, codec, DefaultLevel, []byte(s))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(codec), packed)
		}
	}
	f.Fuzz(func(t *testing.T, codec uint8, src []byte) {
		c := Codec(codec % 6)
		if c == LZ4 && len(src) > 7 && src[4]&lz4FlagContentSize == 0 {
			src = bytes.Clone(src)
			src[6] = byte(xxh32(src[4:6]) >> 8) // Let the fuzzer past the descriptor.
		}
		got, err := codecs.Decompress(nil, c, src, fuzzLimit)
		inOneGo(t, codecs, c, src, got, err)
		if err != nil {
			return
		}
		if len(got) > fuzzLimit {
			t.Fatalf("%d bytes above the limit", len(got))
		}
		if c == Snappy && len(got) == 0 {
			return
		}
		packed, err := codecs.Compress(nil, c, DefaultLevel, got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := codecs.Decompress(nil, c, packed, fuzzLimit)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s: round trip: %v", c, err)
		}
	})
}

// inOneGo demands that what is read in one go is what the stream makes of src, without an error.
func inOneGo(t *testing.T, codecs *Codecs, codec Codec, src, want []byte, err error) {
	if got, ok := stored(codec, src); ok && (err != nil || !bytes.Equal(got, want)) {
		t.Fatalf("%s: stored as %x, the stream reads %x and says %v", codec, got, want, err)
	}
	if buf, got, ok := codecs.whole(codec, src); ok {
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: as a whole %x, the stream reads %x and says %v", codec, got, want, err)
		}
		codecs.putWhole(buf)
	}
}

// FuzzParseSize reads any head: a size is never below what the fields say, errors are those two.
func FuzzParseSize(f *testing.F) {
	addSegments(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		size, magic, err := ParseSize(b)
		switch {
		case errors.Is(err, ErrTruncated):
			if len(b) >= PeekSize {
				t.Fatal("truncated, with enough bytes")
			}
		case err == nil:
			if size != int(binary.BigEndian.Uint32(b[posLength:]))+LogOverhead || magic < 0 || magic > MagicV2 {
				t.Fatal(size, magic)
			}
		}
	})
}
