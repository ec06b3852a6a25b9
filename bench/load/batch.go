package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// batchHeaderBytes is the size of a record batch of magic 2 without records.
const batchHeaderBytes = 61

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Codec is how the records of a batch are compressed; the numbers are those of its attributes.
type Codec int16

// Plain batches aren't compressed.
const (
	Plain Codec = 0
	LZ4   Codec = 3
	Zstd  Codec = 4
)

// makeBatch builds an uncompressed record batch (magic 2) of sizeBytes, of records whose values have
// about recordBytes, and returns how many it has. The values are random: nothing on the way can
// gain from their content.
func makeBatch(sizeBytes, recordBytes int, now time.Time) ([]byte, int) {
	b := make([]byte, batchHeaderBytes, sizeBytes+32)
	random := rand.NewChaCha8([32]byte{1})
	n := 0
	for sizeBytes-len(b) > 16 {
		value := make([]byte, min(recordBytes, sizeBytes-len(b)-12))
		_, _ = random.Read(value) // It never fails.
		b = appendRecord(b, n, value)
		n++
	}
	seal(b, n, Plain, now)
	return b, n
}

// makeRecords builds an uncompressed batch of n records with values of recordBytes.
func makeRecords(n, recordBytes int, now time.Time) []byte {
	b := make([]byte, batchHeaderBytes, batchHeaderBytes+n*(recordBytes+16))
	random := rand.NewChaCha8([32]byte{2})
	value := make([]byte, recordBytes)
	for i := range n {
		_, _ = random.Read(value) // It never fails.
		b = appendRecord(b, i, value)
	}
	seal(b, n, Plain, now)
	return b
}

// compress makes a compressed batch of a plain one with n records. Random values keep their size.
func compress(plain []byte, n int, codec Codec, now time.Time) ([]byte, error) {
	b := append([]byte(nil), plain[:batchHeaderBytes]...)
	records := plain[batchHeaderBytes:]
	switch codec {
	case Plain:
		return plain, nil
	case LZ4:
		// Blocks and checksums as the Java client has them.
		var buf bytes.Buffer
		w := lz4.NewWriter(&buf)
		if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			return nil, err
		}
		if _, err := w.Write(records); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		b = append(b, buf.Bytes()...)
	case Zstd:
		// A frame as the Java client has it: without size and checksum, and with an empty block after what was flushed.
		var buf bytes.Buffer
		w, err := zstd.NewWriter(&buf, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(2<<20))
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(records); err != nil {
			return nil, err
		}
		if err := errors.Join(w.Flush(), w.Close()); err != nil {
			return nil, err
		}
		b = append(b, buf.Bytes()...)
	default:
		return nil, fmt.Errorf("no codec %d", codec)
	}
	seal(b, n, codec, now)
	return b, nil
}

// seal fills the header of a batch with n records in.
func seal(b []byte, n int, codec Codec, now time.Time) {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], ^uint32(0)) // leader epoch -1
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], uint16(codec))
	binary.BigEndian.PutUint32(b[23:], uint32(n-1))
	binary.BigEndian.PutUint64(b[27:], uint64(now.UnixMilli()))
	binary.BigEndian.PutUint64(b[35:], uint64(now.UnixMilli()))
	for i := 43; i < 57; i++ {
		b[i] = 0xff // producer id, epoch and sequence -1
	}
	binary.BigEndian.PutUint32(b[57:], uint32(n))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
}

// appendRecord appends a record without key and headers.
func appendRecord(b []byte, offsetDelta int, value []byte) []byte {
	body := []byte{0, 0} // attributes, timestamp delta
	body = binary.AppendVarint(body, int64(offsetDelta))
	body = binary.AppendVarint(body, -1)
	body = binary.AppendVarint(body, int64(len(value)))
	body = append(body, value...)
	body = append(body, 0) // headers
	b = binary.AppendVarint(b, int64(len(body)))
	return append(b, body...)
}
