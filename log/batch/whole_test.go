package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"pgregory.net/rapid"

	"github.com/ottla/ottla/internal/kerror"
)

// outcome is all that a reader of records tells.
type outcome struct {
	records []string
	code    int16
	err     string
}

// readBy reads b's records by next, in one go where that is possible, or always through the stream.
func readBy(codecs *Codecs, b *Batch, limits ReadLimits, next func(*RecordReader, *Record) bool, streamed bool) (o outcome, whole bool) {
	var r RecordReader
	var err error
	if streamed {
		r = RecordReader{codecs: codecs, head: b.Header, limits: limits, left: b.NumRecords, compressed: true}
		err = r.openStream(codecs, b.Attributes.Codec(), b.Payload())
	} else {
		err = r.Open(codecs, b, limits)
	}
	if err == nil {
		whole = r.dec == nil
		var rec Record
		for next(&r, &rec) {
			o.records = append(o.records, fmt.Sprintf("%d %d %d %d %d %x %x %d %x",
				rec.Offset, rec.Timestamp, rec.Sequence, rec.KeySize, rec.ValueSize, rec.Key, rec.Value, rec.numHeaders, rec.headers))
		}
		err = r.Err()
		r.Close()
	}
	if err != nil {
		o.code, o.err = kerror.CodeOf(err), err.Error()
	}
	return o, whole
}

// compareWays reads b's records in one go and through the stream, skimmed and not, and reports whether they were read in one go,
// and without an error. Requires: b is compressed, of magic 2, and has records.
func compareWays(tb rapid.TB, codecs *Codecs, b *Batch, limits ReadLimits) (whole, ok bool) {
	for name, next := range map[string]func(*RecordReader, *Record) bool{"Next": (*RecordReader).Next, "Skim": (*RecordReader).Skim} {
		var got outcome
		got, whole = readBy(codecs, b, limits, next, false)
		want, _ := readBy(codecs, b, limits, next, true)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			tb.Fatalf("%s of %s in one go (%t)\n%+v, through a stream\n%+v", name, b.Attributes.Codec(), whole, got, want)
		}
		ok = got.err == ""
	}
	return whole, ok
}

// packers are the ways to write what each codec reads; each draws what it may choose.
var packers = map[Codec]func(t *rapid.T, records []byte) []byte{
	Gzip: func(_ *rapid.T, records []byte) []byte { return packOurs(Gzip, records) },
	Snappy: func(t *rapid.T, records []byte) []byte {
		if rapid.Bool().Draw(t, "raw") {
			return s2.EncodeSnappy(nil, records)
		}
		b := binary.BigEndian.AppendUint64([]byte(xerialMagic), 1<<32|1)
		for size := rapid.IntRange(1, xerialBlockBytes).Draw(t, "block"); len(records) > 0; records = records[min(size, len(records)):] {
			block := s2.EncodeSnappy(nil, records[:min(size, len(records))])
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(block))), block...)
		}
		return b
	},
	LZ4: func(t *rapid.T, records []byte) []byte {
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		o := []lz4.Option{
			lz4.BlockSizeOption(rapid.SampledFrom([]lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block4Mb}).Draw(t, "block")),
			lz4.BlockChecksumOption(rapid.Bool().Draw(t, "block sum")), lz4.ChecksumOption(rapid.Bool().Draw(t, "sum")),
		}
		if rapid.Bool().Draw(t, "sized") {
			o = append(o, lz4.SizeOption(uint64(len(records))))
		}
		if w.Apply(o...) != nil {
			panic("lz4 options")
		}
		writeInParts(t, w.Write, w.Flush, records)
		if w.Close() != nil {
			panic("lz4")
		}
		return b.Bytes()
	},
	Zstd: func(t *rapid.T, records []byte) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(rapid.Bool().Draw(t, "checksum")),
			zstd.WithWindowSize(1<<rapid.SampledFrom([]int{10, 16, 21, 24}).Draw(t, "window")), zstd.WithSingleSegment(rapid.Bool().Draw(t, "segment")),
			zstd.WithZeroFrames(true))
		if err != nil {
			panic(err)
		}
		switch rapid.IntRange(0, 3).Draw(t, "frames") {
		case 0:
			return w.EncodeAll(records, nil)
		case 1: // Two frames.
			cut := rapid.IntRange(0, len(records)).Draw(t, "cut")
			return w.EncodeAll(records[cut:], w.EncodeAll(records[:cut], nil))
		case 2: // One that is to be skipped, before or after.
			skip := []byte{0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
			if rapid.Bool().Draw(t, "before") {
				return w.EncodeAll(records, skip)
			}
			return append(w.EncodeAll(records, nil), skip...)
		}
		writeInParts(t, w.Write, w.Flush, records)
		if w.Close() != nil {
			panic("zstd")
		}
		return b.Bytes()
	},
}

// packOurs compresses as this package does.
func packOurs(codec Codec, records []byte) []byte {
	b, err := NewCodecs().Compress(nil, codec, DefaultLevel, records)
	if err != nil {
		panic(err)
	}
	return b
}

// writeInParts writes records, flushed in between, so that they fill more than one block.
func writeInParts(t *rapid.T, write func([]byte) (int, error), flush func() error, records []byte) {
	for n := rapid.IntRange(1, 4).Draw(t, "parts"); n > 0; n-- {
		part := records[:len(records)/n]
		records = records[len(part):]
		if _, err := write(part); err != nil {
			panic(err)
		}
		if n > 1 && flush() != nil {
			panic("flush")
		}
	}
}

// drawRecords encodes records, most of them as producers send them, some with a bit of oddness.
func drawRecords(t *rapid.T) (records []byte, n int32) {
	n = int32(rapid.IntRange(1, 20).Draw(t, "records"))
	noise := rapid.Bool().Draw(t, "noise")
	seed := rapid.Uint64().Draw(t, "seed")
	value := func(size int) []byte {
		b := make([]byte, size)
		for i := range b {
			b[i] = "compressible "[i%13]
			if noise {
				seed = seed*6364136223846793005 + 1442695040888963407
				b[i] = byte(seed >> 56)
			}
		}
		return b
	}
	for i := range n {
		var key []byte
		if rapid.Bool().Draw(t, "keyed") {
			key = value(rapid.IntRange(0, 100).Draw(t, "key"))
		}
		size := rapid.SampledFrom([]int{0, 1, 60, 60, 1000, 1000, 1000, 8150, 9000, 40_000}).Draw(t, "value")
		var headers []RecordHeader
		if rapid.IntRange(0, 9).Draw(t, "headers") == 0 {
			headers = []RecordHeader{{Key: "h", Value: value(5)}, {Key: "", Value: nil}}
		}
		at := len(records)
		records = appendRecord(records, rapid.Int64Range(-3, 1<<33).Draw(t, "timestamp"), i, key, value(size), headers)
		if rapid.IntRange(0, 60).Draw(t, "odd") == 0 {
			records[at+rapid.IntRange(0, min(8, len(records)-at-1)).Draw(t, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		}
	}
	return records, n
}

// TestWholeLikeStream reads frames of all codecs and kinds, right ones and damaged ones, under all limits, in one go and through
// the stream: records, code and cause are the same.
func TestWholeLikeStream(t *testing.T) {
	codecs := NewCodecs()
	var tries, wholes, oks int
	rapid.Check(t, func(t *rapid.T) {
		codec := rapid.SampledFrom([]Codec{Gzip, Snappy, LZ4, LZ4, Zstd, Zstd, Zstd}).Draw(t, "codec")
		records, n := drawRecords(t)
		var src []byte
		if rapid.Bool().Draw(t, "ours") {
			src = packOurs(codec, records)
		} else {
			src = packers[codec](t, records)
		}
		switch rapid.IntRange(0, 7).Draw(t, "damage") {
		case 0:
			for range rapid.IntRange(1, 3).Draw(t, "flips") {
				src[rapid.IntRange(0, min(40, len(src)-1)).Draw(t, "head")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			}
		case 1:
			src[rapid.IntRange(0, len(src)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		case 2:
			src = src[:len(src)-rapid.IntRange(1, min(20, len(src))).Draw(t, "cut")]
		case 3:
			src = append(src, rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "after")...)
		}
		b := payloadBatch(codec, src, max(1, n+int32(rapid.SampledFrom([]int{0, 0, 0, 0, -1, 1}).Draw(t, "count"))))
		limits := ReadLimits{TotalBytes: 1 << 30, RecordBodyBytes: MaxRecordBodyBytes}
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			limits.TotalBytes = int64(len(records) + rapid.IntRange(-1, 1).Draw(t, "total"))
			limits.RecordBodyBytes = int32(rapid.SampledFrom([]int{70, 1100, maxShortBytes - 1, maxShortBytes, 10_000}).Draw(t, "record"))
		}
		whole, ok := compareWays(t, codecs, &b, limits)
		tries++
		if whole {
			wholes++
		}
		if whole && ok {
			oks++
		}
	})
	t.Logf("%d batches, %d read in one go, %d of them without an error", tries, wholes, oks)
	if tries >= 100 && oks < tries/10 {
		t.Errorf("%d of %d were read in one go, %d without an error", wholes, tries, oks)
	}
}

// payloadBatch is a batch that holds src as its compressed records.
func payloadBatch(codec Codec, src []byte, n int32) Batch {
	raw := make([]byte, HeaderSize, HeaderSize+len(src))
	raw = append(raw, src...)
	binary.BigEndian.PutUint32(raw[posLength:], uint32(len(raw)-LogOverhead))
	raw[16] = byte(MagicV2)
	binary.BigEndian.PutUint16(raw[21:], uint16(codec))
	binary.BigEndian.PutUint32(raw[57:], uint32(n))
	b, _, err := Parse(raw)
	if err != nil {
		panic(err)
	}
	return b
}

// FuzzWhole is TestWholeLikeStream with any bytes for a compressed stream.
func FuzzWhole(f *testing.F) {
	codecs := NewCodecs()
	records := appendRecord(nil, 5, 0, []byte("key"), bytes.Repeat([]byte("value"), 20), nil)
	records = appendRecord(records, 6, 1, nil, []byte("0123456789abcdef"), []RecordHeader{{Key: "h"}})
	for codec := Gzip; codec <= Zstd; codec++ {
		f.Add(uint8(codec), int32(2), int64(1<<20), int32(1<<20), packOurs(codec, records))
		f.Add(uint8(codec), int32(2), int64(len(records)), int32(100), packOurs(codec, records[len(records)-26:]))
	}
	f.Fuzz(func(t *testing.T, codec uint8, n int32, total int64, body int32, src []byte) {
		c := Codec(codec%4) + Gzip
		if n <= 0 || n > 1<<16 {
			return
		}
		if c == LZ4 && len(src) > 7 && src[4]&lz4FlagContentSize == 0 {
			src = bytes.Clone(src)
			src[6] = byte(xxh32(src[4:6]) >> 8) // Let the fuzzer past the descriptor.
		}
		b := payloadBatch(c, src, n)
		compareWays(t, codecs, &b, ReadLimits{TotalBytes: min(max(total, 0), 1<<22), RecordBodyBytes: max(body, 0)})
	})
}

// incompressible are n bytes that no codec shrinks.
func incompressible(n int) []byte {
	b := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(b) // It never fails.
	return b
}

// TestStoredInPlace shows that records which don't shrink are read where they lie, those that do from a pooled buffer, and large
// ones through a stream.
func TestStoredInPlace(t *testing.T) {
	codecs := NewCodecs()
	noise := incompressible(300_000)
	for _, test := range []struct {
		codec Codec
		value []byte
		want  string
	}{
		{Gzip, noise[:16_000], "stream"}, {Snappy, noise[:16_000], "buffer"}, {LZ4, noise[:16_000], "in place"}, {Zstd, noise[:16_000], "in place"},
		{LZ4, make([]byte, 16_000), "buffer"}, {Zstd, make([]byte, 16_000), "buffer"}, {Snappy, make([]byte, 250_000), "buffer"},
		{LZ4, noise, "stream"}, {Zstd, noise, "stream"}, {Snappy, noise, "stream"},
		{LZ4, make([]byte, 300_000), "stream"}, {Zstd, make([]byte, 300_000), "stream"}, {Snappy, make([]byte, 300_000), "stream"},
	} {
		b := payloadBatch(test.codec, packOurs(test.codec, appendRecord(nil, 0, 0, nil, test.value, nil)), 1)
		var r RecordReader
		if err := r.Open(codecs, &b, ReadLimits{TotalBytes: 1 << 20, RecordBodyBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		got := "in place"
		if r.dec != nil {
			got = "stream"
		} else if r.whole != nil {
			got = "buffer"
		}
		var rec Record
		if got != test.want || !r.Next(&rec) || !bytes.Equal(rec.Value, test.value) || r.Next(&rec) || r.Err() != nil {
			t.Errorf("%s of %d bytes: %s, want %s; %v", test.codec, len(test.value), got, test.want, r.Err())
		}
		r.Close()
	}
}

// TestStoredZstd takes a frame of one raw block where it lies, and leaves it to the stream once any of its bits of which one is
// checked is another: magic, flags, sizes, content, checksum.
func TestStoredZstd(t *testing.T) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithSingleSegment(true))
	if err != nil {
		t.Fatal(err)
	}
	plain := incompressible(300)
	frame := w.EncodeAll(plain, nil)
	if got, ok := stored(Zstd, frame); !ok || !bytes.Equal(got, plain) || &got[0] != &frame[len(frame)-4-len(plain)] {
		t.Fatalf("%t, %x", ok, got)
	}
	eachBitMatters(t, frame, -1)
	// As the Java client writes it, but for the checksum.
	var b bytes.Buffer
	w.Reset(&b)
	_, _ = w.Write(plain)
	_ = w.Flush()
	_ = w.Close()
	frame = b.Bytes()
	if got, ok := stored(Zstd, frame); !ok || !bytes.Equal(got, plain) || &got[0] != &frame[len(frame)-4-len(zstdEmptyLast)-len(plain)] {
		t.Fatalf("flushed: %t, %x", ok, got)
	}
	eachBitMatters(t, frame, 5) // The window, which may be another.
	if _, ok := stored(Zstd, append(bytes.Clone(frame[:len(frame)-4]), frame[len(frame)-7:]...)); ok {
		t.Error("a frame with two empty blocks is taken")
	}
}

// eachBitMatters checks that a frame with any bit changed isn't taken where it lies, but for those of the byte at except.
func eachBitMatters(t *testing.T, frame []byte, except int) {
	t.Helper()
	for i := range frame {
		if i == except {
			continue
		}
		for bit := range 8 {
			frame[i] ^= 1 << bit
			if _, ok := stored(Zstd, frame); ok && (i != 4 || bit != 4) { // But for the bit that the format leaves unused.
				t.Errorf("bit %d of byte %d changed, and the frame is taken", bit, i)
			}
			frame[i] ^= 1 << bit
		}
	}
}

// TestXXH64 compares with published values of xxHash64, and for all ends of input with what another writer puts into its frames.
func TestXXH64(t *testing.T) {
	for s, want := range map[string]uint64{
		"": 0xEF46DB3751D8E999, "a": 0xD24EC4F1A98C6E5B, "abc": 0x44BC2CF5AD770999, "Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
	} {
		if got := xxhash.Sum64([]byte(s)); got != want {
			t.Errorf("xxh64(%q) = %016x, want %016x", s, got, want)
		}
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for n := range 200 {
		b = append(b, byte(n*n*7))
		frame := w.EncodeAll(b, nil)
		if want := binary.LittleEndian.Uint32(frame[len(frame)-4:]); uint32(xxhash.Sum64(b)) != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, uint32(xxhash.Sum64(b)), want)
		}
	}
}
