package load

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"time"
)

// batchHeaderBytes is the size of a record batch of magic 2 without records.
const batchHeaderBytes = 61

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], ^uint32(0)) // leader epoch -1
	b[16] = 2
	binary.BigEndian.PutUint32(b[23:], uint32(n-1))
	binary.BigEndian.PutUint64(b[27:], uint64(now.UnixMilli()))
	binary.BigEndian.PutUint64(b[35:], uint64(now.UnixMilli()))
	for i := 43; i < 57; i++ {
		b[i] = 0xff // producer id, epoch and sequence -1
	}
	binary.BigEndian.PutUint32(b[57:], uint32(n))
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b, n
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
