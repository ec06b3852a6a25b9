package main

import (
	"time"

	"github.com/ottla/ottla/log/batch"
)

// play plays all cases.
func (r *recorder) play() {
	do := func(name, topic string, records []byte) { r.request(9, name, topic, records) }
	now := time.Now().UnixMilli()
	at := func(timestamp int64, keyed bool) func(int, *batch.Builder) {
		return func(_ int, b *batch.Builder) {
			var key []byte
			if keyed {
				key = []byte("k")
			}
			b.Append(timestamp, key, []byte("v"))
		}
	}
	gap := func(i int, b *batch.Builder) { b.AppendAt(int64(i*2), now, []byte("k"), []byte("v")) }
	middleKeyed := func(i int, b *batch.Builder) { at(now, i == 1)(i, b) }
	spread := func(i int, b *batch.Builder) { at(now+int64(i-1)*1_000_000, true)(i, b) }
	large := func(_ int, b *batch.Builder) { b.Append(now, []byte("k"), make([]byte, 200)) }
	for codec := batch.None; codec <= batch.Zstd; codec++ {
		n := " " + codec.String()
		do("good"+n, "plain", build(3, codec, nil))
		do("count below the records"+n, "plain", counted(build(3, codec, nil), 2))
		do("count above the records"+n, "plain", counted(build(3, codec, nil), 4))
		do("gap inside"+n, "plain", put32(build(3, codec, gap), 23, 2))
		do("gap inside, head admits"+n, "plain", build(3, codec, gap))
		do("keyless in compacted"+n, "compact", build(3, codec, middleKeyed))
		do("keyed in compacted"+n, "compact", build(3, codec, nil))
		do("timestamps out of range"+n, "range", build(3, codec, spread))
		do("LogAppendTime"+n, "append", build(3, codec, nil))
		do("to uncompressed"+n, "plaincode", build(3, codec, nil))
		do("to gzip"+n, "gzip", build(3, codec, nil))
		do("gap to gzip"+n, "gzip", put32(build(3, codec, gap), 23, 2))
		do("to zstd, LogAppendTime"+n, "appendzip", build(3, codec, nil))
		do("record above max.decompressed.message.bytes"+n, "expanded", build(1, codec, large))
		do("wrong max timestamp"+n, "plain", put64(build(1, codec, nil), 35, 12345))
		do("timestamp type by client"+n, "append", put16(build(1, codec, nil), 21, 8|uint16(codec)))
		if codec == batch.None {
			continue
		}
		whole := build(2, codec, nil)
		stream := whole[batch.HeaderSize:]
		do("garbage"+n, "plain", payload(build(2, codec, nil), []byte("this is no compressed data")))
		do("nothing to decompress"+n, "plain", payload(build(2, codec, nil), nil))
		do("stream cut"+n, "plain", payload(build(2, codec, nil), stream[:len(stream)-5]))
		do("bytes after the stream"+n, "plain", payload(build(2, codec, nil), append(append([]byte{}, stream...), "xxxxxxxxxxxxxxxxxxxxxxxxxx"...)))
		raw := append([]byte{}, build(1, batch.None, nil)[batch.HeaderSize:]...)
		raw[0] += 2 // One more than the record's size.
		wrong, err := codecs.Compress(nil, codec, batch.DefaultLevel, raw)
		check(err)
		do("record length wrong"+n, "plain", payload(build(1, codec, nil), wrong))
	}
	do("count unlike the offsets", "plain", put32(build(3, 0, nil), 57, 2))
	do("count 0", "plain", counted(build(3, 0, nil), 0))
	do("count 0, one offset", "plain", put32(put32(build(3, 0, nil), 57, 0), 23, 0))
	do("count -1", "plain", put32(put32(build(3, 0, nil), 57, -1), 23, 0))
	do("last offset delta -5", "plain", put32(build(3, 0, nil), 23, -5))
	do("base offset 7", "plain", put64(build(3, 0, nil), 0, 7))
	do("control batch", "plain", put16(build(3, 0, nil), 21, 0x20))
	do("producer id without sequence", "plain", put64(build(3, 0, nil), 43, 5))
	do("transactional without producer id", "plain", put16(build(3, 0, nil), 21, 0x10))
	do("timestamp type by client, CreateTime topic", "plain", put16(build(3, 0, nil), 21, 0x8))
	do("timestamp type by client, to gzip", "gzip", put16(build(3, 0, nil), 21, 0x8))
	do("delete horizon flag", "plain", put16(build(3, 0, nil), 21, 0x40))
	do("unused attributes", "plain", put16(build(3, 0, nil), 21, 0x7f80))
	do("unused attributes, LogAppendTime", "append", put16(build(3, 0, nil), 21, 0x7f80))
	do("codec 5", "plain", put16(build(3, 0, nil), 21, 5))
	do("codec 7", "plain", put16(build(3, 0, nil), 21, 7))
	wrong := build(3, 0, nil)
	wrong[20] ^= 1
	do("wrong CRC", "plain", wrong)
	for _, magic := range []byte{0, 1, 3} {
		b := build(3, 0, nil)
		b[16] = magic
		do("magic "+string('0'+magic), "plain", b)
	}
	do("no bytes", "plain", []byte{})
	do("two batches", "plain", append(build(1, 0, nil), build(1, 0, nil)...))
	do("5 bytes after the batch", "plain", append(build(1, 0, nil), 1, 2, 3, 4, 5))
	do("30 zeros after the batch", "plain", append(build(1, 0, nil), make([]byte, 30)...))
	do("batch cut", "plain", build(1, 0, nil)[:50])
	do("10 bytes", "plain", build(1, 0, nil)[:10])
	do("length 5", "plain", length(build(1, 0, nil), 5))
	do("length 20", "plain", length(build(1, 0, nil), 20))
	do("length 48", "plain", length(build(1, 0, nil), 48))
	do("length -1", "plain", length(build(1, 0, nil), -1))
	r.request(6, "zstd in version 6", "plain", build(1, batch.Zstd, nil))
	r.request(7, "zstd in version 7", "plain", build(1, batch.Zstd, nil))
	r.request(3, "version 3", "plain", build(1, 0, nil))
	do("above max.message.bytes", "small", build(1, 0, large))
	do("above max.message.bytes uncompressed only", "small", build(1, batch.Gzip, large))
	do("timestamp -1", "range", build(1, 0, at(-1, true)))
	do("timestamp -2", "range", build(1, 0, at(-2, true)))
	do("timestamp -2, any before", "plain", build(1, 0, at(-2, true)))
	do("timestamp -1, LogAppendTime", "append", build(1, 0, at(-1, true)))
	do("timestamp two hours ahead", "plain", build(1, 0, at(now+2*3_600_000, true)))
	do("keyless five times", "compact", build(5, 0, at(now, false)))
	do("keyless and a timestamp ahead", "compact", build(5, 0, func(i int, b *batch.Builder) {
		if i == 3 {
			at(now+10*3_600_000, true)(i, b)
			return
		}
		at(now, false)(i, b)
	}))
}
