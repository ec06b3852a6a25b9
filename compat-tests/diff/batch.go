package diff

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where fields of a batch of magic 2 begin; the checksum covers what comes after it.
const (
	AtLength        = 8
	AtLeaderEpoch   = 12
	AtMagic         = 16
	AtCRC           = 17
	AtAttributes    = 21
	AtLastDelta     = 23
	AtFirstTime     = 27
	AtMaxTime       = 35
	AtProducerID    = 43
	AtProducerEpoch = 51
	AtFirstSequence = 53
	AtNumRecords    = 57
	AtRecords       = 61

	crcEnd = AtAttributes
)

// Batch describes a record batch of magic 2 to encode.
type Batch struct {
	// FirstOffset and LeaderEpoch are what the producer claims.
	FirstOffset int64
	LeaderEpoch int32
	Codec       Codec
	// Attributes are or-ed with the codec's bits.
	Attributes int16
	// ProducerID, ProducerEpoch and FirstSequence are those of an idempotent producer, all -1 in NewBatch.
	ProducerID    int64
	ProducerEpoch int16
	FirstSequence int32
	Records       []Record
	// Patch, if set, changes the encoded batch before its checksum is computed.
	Patch func(b []byte)
	// Spoil, if set, changes the encoded batch after that.
	Spoil func(b []byte) []byte
}

// Record is a record to encode. Time is in ms.
type Record struct {
	Time       int64
	Key, Value []byte
	Headers    []kmsg.Header
	// OffsetDelta replaces the record's index if set.
	OffsetDelta *int32
}

// NewBatch is a plain batch of records.
func NewBatch(records ...Record) *Batch {
	return &Batch{ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Records: records}
}

// Encode returns the batch as bytes.
func (b *Batch) Encode() []byte {
	var first, last int64 = -1, -1
	if len(b.Records) > 0 {
		first, last = b.Records[0].Time, b.Records[0].Time
	}
	var payload []byte
	for i, r := range b.Records {
		last = max(last, r.Time)
		delta := int32(i)
		if r.OffsetDelta != nil {
			delta = *r.OffsetDelta
		}
		payload = append(payload, encodeRecord(r, r.Time-first, delta)...)
	}
	batch := kmsg.RecordBatch{
		FirstOffset: b.FirstOffset, PartitionLeaderEpoch: b.LeaderEpoch, Magic: 2,
		Attributes: b.Attributes | int16(b.Codec), LastOffsetDelta: int32(max(len(b.Records)-1, 0)),
		FirstTimestamp: first, MaxTimestamp: last,
		ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch, FirstSequence: b.FirstSequence,
		NumRecords: int32(len(b.Records)), Records: b.Codec.compress(payload),
	}
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[AtLength:], uint32(len(raw)-batchOverhead))
	if b.Patch != nil {
		b.Patch(raw)
	}
	binary.BigEndian.PutUint32(raw[AtCRC:], crc32.Checksum(raw[crcEnd:], crc32.MakeTable(crc32.Castagnoli)))
	if b.Spoil != nil {
		raw = b.Spoil(raw)
	}
	return raw
}

func encodeRecord(r Record, timeDelta int64, offsetDelta int32) []byte {
	rec := kmsg.Record{
		TimestampDelta64: timeDelta, OffsetDelta: offsetDelta,
		Key: r.Key, Value: r.Value, Headers: r.Headers,
	}
	body := rec.AppendTo(nil)[1:] // The length of 0 takes one byte.
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// Put16, Put32 and Put64 are patches that overwrite a field.
func Put16(at int, v int16) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }
}

// Put32 overwrites a 4-byte field.
func Put32(at int, v int32) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

// Put64 overwrites an 8-byte field.
func Put64(at int, v int64) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
}

// LegacyMessage encodes one message of magic 0 or 1 with its offset and size, as clients before 0.11 did.
func LegacyMessage(magic int8, timestamp int64, key, value []byte) []byte {
	body := []byte{byte(magic), 0}
	if magic > 0 {
		body = binary.BigEndian.AppendUint64(body, uint64(timestamp))
	}
	for _, b := range [][]byte{key, value} {
		if b == nil {
			body = binary.BigEndian.AppendUint32(body, 0xffffffff)
			continue
		}
		body = binary.BigEndian.AppendUint32(body, uint32(len(b)))
		body = append(body, b...)
	}
	out := make([]byte, 8)
	out = binary.BigEndian.AppendUint32(out, uint32(len(body)+4))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	return append(out, body...)
}
