package validate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/ottla/ottla/log/batch"
)

// contents are values of sizeBytes each that nothing can compress, and some that everything can.
var contents = []struct {
	name  string
	value func(random *rand.ChaCha8, i, sizeBytes int) []byte
}{
	{"random", func(random *rand.ChaCha8, _, sizeBytes int) []byte {
		value := make([]byte, sizeBytes)
		_, _ = random.Read(value) // It never fails.
		return value
	}},
	{"json", func(random *rand.ChaCha8, i, sizeBytes int) []byte {
		var b bytes.Buffer
		for b.Len() < sizeBytes {
			fmt.Fprintf(&b, `{"id":%d,"user":"user-%d","event":"page_view","duration_ms":%d,"path":"/products/%d"}`,
				i, random.Uint64()%10_000, random.Uint64()%1000, random.Uint64()%500)
		}
		return b.Bytes()[:sizeBytes]
	}},
}

// benchBatch makes a batch of n records with values of sizeBytes.
func benchBatch(tb testing.TB, codecs *batch.Codecs, codec batch.Codec, value func(*rand.ChaCha8, int, int) []byte, n, sizeBytes int) []byte {
	tb.Helper()
	o := batch.DefaultOptions()
	o.Codec = codec
	random := rand.NewChaCha8([32]byte{1})
	builder := codecs.NewBuilder(nil, o)
	for i := range n {
		builder.Append(1000, nil, value(random, i, sizeBytes))
	}
	raw, err := builder.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// repack gives a plain batch's records to pack, which appends them compressed with codec.
func repack(tb testing.TB, plain []byte, codec batch.Codec, pack func(dst, records []byte) []byte) []byte {
	tb.Helper()
	b := pack(bytes.Clone(plain[:batch.HeaderSize]), plain[batch.HeaderSize:])
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-batch.LogOverhead))
	binary.BigEndian.PutUint16(b[21:], uint16(codec))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// zstdOfOthers are frames as a client in Go writes them, with sizes and a checksum, and as the Java client does, with neither.
func zstdOfOthers(tb testing.TB, plain []byte) map[string][]byte {
	tb.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	var stream bytes.Buffer
	streamed, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(2<<20))
	if err != nil {
		tb.Fatal(err)
	}
	return map[string][]byte{
		"zstd-checksum": repack(tb, plain, batch.Zstd, func(dst, records []byte) []byte { return enc.EncodeAll(records, dst) }),
		"zstd-stream": repack(tb, plain, batch.Zstd, func(dst, records []byte) []byte {
			// Flushed, so that the writer doesn't know that it has seen all.
			_, _ = streamed.Write(records)
			_ = streamed.Flush()
			_ = streamed.Close()
			return append(dst, stream.Bytes()...)
		}),
	}
}

// BenchmarkProduce measures what a broker does with the records of a Produce request of 16 KiB before they are written: heads,
// CRC, every record, and the stamps, for each codec. Compressed batches that pass through should cost little more than plain
// ones, of which only the heads of records are looked at.
func BenchmarkProduce(b *testing.B) {
	codecs := batch.NewCodecs()
	const records, valueBytes = 16, 1012
	for _, content := range contents {
		sent := map[string][]byte{}
		names := []string{}
		for codec := batch.None; codec <= batch.Zstd; codec++ {
			sent[codec.String()] = benchBatch(b, codecs, codec, content.value, records, valueBytes)
			names = append(names, codec.String())
		}
		for name, raw := range zstdOfOthers(b, sent[batch.None.String()]) {
			sent[name] = raw
		}
		for _, name := range append(names, "zstd-checksum", "zstd-stream") {
			raw := sent[name]
			b.Run(content.name+"/"+name, func(b *testing.B) {
				p := defaults()
				p.NowMs = 1000
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					clear(raw[:8]) // The base offset, as a client sends it.
					p.FirstOffset++
					r, err := produce(raw, 9, &p, codecs)
					if err != nil || r.FirstOffset != p.FirstOffset || r.LastOffset != p.FirstOffset+records-1 || r.Recompressed {
						b.Fatal(r, err)
					}
				}
			})
		}
	}
}
