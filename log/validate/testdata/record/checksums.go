package main

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/ottla/ottla/log/batch"
)

// playChecksums plays frames that carry checksums and sizes of their own, right and wrong, of records that shrink and of ones
// that are stored as they are.
func (r *recorder) playChecksums() {
	noise := make([]byte, 2*1000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // It never fails.
	for _, content := range []struct {
		name   string
		values []byte // of two records
	}{{"shrinks", bytes.Repeat([]byte("value "), 100)}, {"stored", noise}} {
		half := len(content.values) / 2
		plain := build(2, batch.None, func(i int, b *batch.Builder) {
			b.Append(time.Now().UnixMilli(), []byte("k"), content.values[i*half:(i+1)*half])
		})[batch.HeaderSize:]
		do := func(name string, codec batch.Codec, stream []byte) {
			r.request(9, name+" "+content.name+" "+codec.String(), "plain", payload(build(2, codec, nil), stream))
		}
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
		check(err)
		frame := enc.EncodeAll(plain, nil)
		do("checksum", batch.Zstd, frame)
		do("wrong checksum", batch.Zstd, flip(frame, len(frame)-1))
		do("checksum cut", batch.Zstd, frame[:len(frame)-1])
		enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true))
		check(err)
		frame = enc.EncodeAll(plain, nil)
		do("content size", batch.Zstd, frame)
		do("wrong content size", batch.Zstd, flip(frame, 5)) // It follows magic and flags.
		packed := func(o ...lz4.Option) []byte {
			var b bytes.Buffer
			w := lz4.NewWriter(&b)
			check(w.Apply(append(o, lz4.BlockSizeOption(lz4.Block64Kb))...))
			_, err := w.Write(plain)
			check(err)
			check(w.Close())
			return b.Bytes()
		}
		frame = packed(lz4.ChecksumOption(true))
		do("checksum", batch.LZ4, frame)
		do("wrong checksum", batch.LZ4, flip(frame, len(frame)-1))
		do("checksum cut", batch.LZ4, frame[:len(frame)-1])
		frame = packed(lz4.ChecksumOption(false), lz4.BlockChecksumOption(true))
		do("block checksum", batch.LZ4, frame)
		do("wrong block checksum", batch.LZ4, flip(frame, len(frame)-5))
		do("content size", batch.LZ4, packed(lz4.ChecksumOption(false), lz4.SizeOption(uint64(len(plain)))))
	}
}

// flip returns b with one bit changed at i.
func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}
