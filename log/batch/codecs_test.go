package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"
)

// samples are inputs of all sizes that meet a border somewhere.
func samples() [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := [][]byte{nil, []byte("x"), bytes.Repeat([]byte("abc"), 100_000), make([]byte, xerialBlockBytes), make([]byte, lz4WriteBlockBytes+1)}
	noise := make([]byte, 200_001)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	return append(out, noise, append(bytes.Clone(noise[:70_000]), out[2]...))
}

// TestCompressRoundTrip compresses with every codec and several levels. What other libraries
// write and read must fit as well.
func TestCompressRoundTrip(t *testing.T) {
	codecs := NewCodecs()
	for codec := None; codec <= Zstd; codec++ {
		for _, level := range []int{DefaultLevel, 1, 6, 9} {
			for _, want := range samples() {
				packed, err := codecs.Compress([]byte("head"), codec, level, want)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.HasPrefix(packed, []byte("head")) {
					t.Fatalf("%s overwrites dst", codec)
				}
				if codec == Snappy && len(want) == 0 {
					continue // Kafka's reader, too, finds nothing in it.
				}
				got, err := codecs.Decompress([]byte("kept"), codec, packed[4:], int64(len(want)))
				if err != nil || string(got[:4]) != "kept" || !bytes.Equal(got[4:], want) {
					t.Fatalf("%s level %d, %d bytes: %v", codec, level, len(want), err)
				}
				if len(want) > 0 {
					if _, err := codecs.Decompress(nil, codec, packed[4:], int64(len(want)-1)); !errors.Is(err, kerr.CorruptMessage) {
						t.Fatalf("%s: one byte above the limit: %v", codec, err)
					}
				}
			}
		}
	}
}

// TestLZ4OfOthers reads frames of another writer: every block size, with and without
// checksums and content size; and has ours read by another reader.
func TestLZ4OfOthers(t *testing.T) {
	codecs := NewCodecs()
	for _, want := range samples() {
		for _, size := range []lz4.BlockSize{lz4.Block64Kb, lz4.Block256Kb, lz4.Block1Mb, lz4.Block4Mb} {
			for _, sums := range []bool{false, true} {
				var b bytes.Buffer
				w := lz4.NewWriter(&b)
				if err := w.Apply(lz4.BlockSizeOption(size), lz4.BlockChecksumOption(sums), lz4.ChecksumOption(sums), lz4.SizeOption(uint64(len(want)))); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(want); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				got, err := codecs.Decompress(nil, LZ4, b.Bytes(), 1<<20)
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes in blocks of %d: %v", len(want), size, err)
				}
			}
		}
		packed, err := codecs.Compress(nil, LZ4, DefaultLevel, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(lz4.NewReader(bytes.NewReader(packed)))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("ours read by another: %v", err)
		}
	}
}

// TestRawSnappy reads a raw block, which clients that don't know xerial's framing send.
func TestRawSnappy(t *testing.T) {
	want := bytes.Repeat([]byte("raw snappy "), 1000)
	got, err := NewCodecs().Decompress(nil, Snappy, s2.EncodeSnappy(nil, want), 1<<20)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatal(err)
	}
}

// TestConcatenatedGzip reads two members, which Java's reader takes as one stream.
func TestConcatenatedGzip(t *testing.T) {
	codecs := NewCodecs()
	two, err := codecs.Compress(nil, Gzip, 1, []byte("first "))
	if err != nil {
		t.Fatal(err)
	}
	if two, err = codecs.Compress(two, Gzip, 9, []byte("second")); err != nil {
		t.Fatal(err)
	}
	got, err := codecs.Decompress(nil, Gzip, two, 100)
	if err != nil || string(got) != "first second" {
		t.Fatalf("%q, %v", got, err)
	}
}

// allocated runs f and returns the bytes that it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBombs reads streams that promise, or hold, far more than their size: memory stays at the
// limit, and the error is the limit's or that of a lie.
func TestBombs(t *testing.T) {
	codecs := NewCodecs()
	zeros := make([]byte, 32<<20)
	bombs := map[string]struct {
		codec Codec
		src   []byte
	}{}
	for codec := Gzip; codec <= Zstd; codec++ {
		packed, err := codecs.Compress(nil, codec, DefaultLevel, zeros)
		if err != nil {
			t.Fatal(err)
		}
		bombs["zeros "+codec.String()] = struct {
			codec Codec
			src   []byte
		}{codec, packed}
	}
	lie := binary.AppendUvarint(nil, 1<<31)
	bombs["snappy that claims 2 GiB"] = struct {
		codec Codec
		src   []byte
	}{Snappy, append(lie, 0, 0)}
	bombs["lz4 with blocks of 4 MiB"] = struct {
		codec Codec
		src   []byte
	}{LZ4, []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73, 4, 0, 0, 0, 1, 2, 3, 4}}
	for name, b := range bombs {
		var err error
		n := allocated(func() { _, err = codecs.Decompress(nil, b.codec, b.src, 1<<20) })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if n > 24<<20 {
			t.Errorf("%s: allocated %d bytes", name, n)
		}
	}
}

// TestBombIsSkimmed checks the records of batches that hold one of 32 MiB, in constant memory.
func TestBombIsSkimmed(t *testing.T) {
	for codec := Gzip; codec <= Zstd; codec++ {
		codecs := NewCodecs()
		o := DefaultOptions()
		o.Codec = codec
		builder := codecs.NewBuilder(nil, o)
		builder.Append(0, nil, make([]byte, 32<<20))
		raw, err := builder.Build()
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		var rec Record
		n := allocated(func() {
			var r RecordReader
			if err := r.Open(codecs, &b, ReadLimits{TotalBytes: 1 << 30, RecordBodyBytes: MaxRecordBodyBytes}); err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if !r.Skim(&rec) || r.Err() != nil || rec.ValueSize != 32<<20 {
				t.Errorf("%s: %+v, %v", codec, rec, r.Err())
			}
		})
		if n > 24<<20 {
			t.Errorf("%s: allocated %d bytes", codec, n)
		}
		r, err := codecs.Records(&b, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if r.Next(&rec) || !errors.Is(r.Err(), kerr.CorruptMessage) {
			t.Errorf("%s: above the limit: %v", codec, r.Err())
		}
		r.Close()
	}
}

// TestZstdLies reads a frame of eight megabytes that says it holds 100 bytes: little is allocated before that is found out.
func TestZstdLies(t *testing.T) {
	codecs := NewCodecs()
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 100, 0, 0, 0} // Single segment, with a size of four bytes.
	for range 64 {
		frame = append(frame, 2, 0, 0x10, 'x') // A run of 128 KiB.
	}
	frame = append(frame, 1, 0, 0) // The last block, empty.
	b := payloadBatch(Zstd, frame, 1)
	n := allocated(func() {
		r, err := codecs.Records(&b, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var rec Record
		if r.Next(&rec) || !errors.Is(r.Err(), kerr.UnknownServerError) {
			t.Errorf("read %d bytes, %v", len(rec.Value), r.Err())
		}
	})
	if n > 4<<20 {
		t.Errorf("allocated %d bytes", n)
	}
}

// TestLargeZstdWindow reads a frame of zstd's highest level, whose window pooled decoders don't
// allow, twice: the token comes back.
func TestLargeZstdWindow(t *testing.T) {
	want := bytes.Repeat([]byte("window "), 10<<20/7)
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	codecs := NewCodecs()
	for range 2 {
		got, err := codecs.Decompress(nil, Zstd, b.Bytes(), 16<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatal(err, len(got))
		}
	}
}

// TestXXH32 compares with the published values of xxHash32.
func TestXXH32(t *testing.T) {
	for s, want := range map[string]uint32{
		"": 0x02CC5D05, "a": 0x550D7456, "abc": 0x32D153FF, "Nobody inspects the spammish repetition": 0xE2293B2F,
	} {
		if got := xxh32([]byte(s)); got != want {
			t.Errorf("xxh32(%q) = %08x, want %08x", s, got, want)
		}
	}
}
