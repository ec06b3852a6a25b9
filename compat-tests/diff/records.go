package diff

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchOverhead is the size of base offset and length, which a batch's length doesn't count.
const batchOverhead = 12

// records renders fetched record data batch by batch, and says how many batches there are.
func (r *renderer) records(path string, b []byte) (string, []Line) {
	if b == nil {
		return "null", nil
	}
	var lines []Line
	n := 0
	for len(b) >= batchOverhead {
		size := batchOverhead + int(int32(binary.BigEndian.Uint32(b[8:])))
		if size < batchOverhead || size > len(b) {
			break
		}
		lines = append(lines, r.batch(fmt.Sprintf("%s[%d]", path, n), b[:size])...)
		b = b[size:]
		n++
	}
	if len(b) > 0 {
		lines = append(lines, Line{Path: path + "[rest]", Fields: []Field{{"Bytes", strconv.Itoa(len(b))}}})
	}
	return fmt.Sprintf("%d-batches", n), lines
}

// batch renders one batch of magic 2 and its records. Sizes and checksums of compressed batches are left
// out: encoders differ, what they say doesn't.
func (r *renderer) batch(path string, raw []byte) []Line {
	var batch kmsg.RecordBatch
	if err := batch.ReadFrom(raw); err != nil || batch.Magic != 2 {
		return []Line{{Path: path, Fields: []Field{{"Undecodable", fmt.Sprintf("%x", raw)}}}}
	}
	field := func(name string, v int64) Field { return Field{name, strconv.FormatInt(v, 10)} }
	codec := Codec(batch.Attributes & 7)
	own := Line{Path: path, Fields: []Field{
		field("FirstOffset", batch.FirstOffset), field("PartitionLeaderEpoch", int64(batch.PartitionLeaderEpoch)),
		{"Attributes", fmt.Sprintf("%#x(%s)", batch.Attributes, codec)},
		field("LastOffsetDelta", int64(batch.LastOffsetDelta)),
		{"FirstTimestamp", r.aliases.timestamp(batch.FirstTimestamp)},
		{"MaxTimestamp", r.aliases.timestamp(batch.MaxTimestamp)},
		{"ProducerID", r.fields["ProducerID"](r.aliases, batch.ProducerID)},
		field("ProducerEpoch", int64(batch.ProducerEpoch)), field("FirstSequence", int64(batch.FirstSequence)),
		field("NumRecords", int64(batch.NumRecords)),
	}}
	if codec == CodecNone {
		own.Fields = append(own.Fields, field("Length", int64(batch.Length)))
	}
	if uint32(batch.CRC) != crc32.Checksum(raw[crcEnd:], crc32.MakeTable(crc32.Castagnoli)) {
		own.Fields = append(own.Fields, Field{"CRC", "wrong"})
	}
	payload, err := codec.decompress(batch.Records)
	if err != nil {
		own.Fields = append(own.Fields, Field{"Compression", strconv.Quote(err.Error())})
		return []Line{own}
	}
	return append([]Line{own}, r.batchRecords(path, payload)...)
}

func (r *renderer) batchRecords(path string, payload []byte) []Line {
	var lines []Line
	for i := 0; len(payload) > 0; i++ {
		length, n := binary.Varint(payload)
		if n <= 0 || length < 0 || int(length) > len(payload)-n {
			return append(lines, Line{Path: path + ".rest", Fields: []Field{{"Hex", fmt.Sprintf("%x", payload)}}})
		}
		var rec kmsg.Record
		line := Line{Path: fmt.Sprintf("%s.Records[%d]", path, i)}
		if err := rec.ReadFrom(payload[:n+int(length)]); err != nil {
			line.Fields = []Field{{"Undecodable", strconv.Quote(err.Error())}}
		} else {
			line.Fields = []Field{
				{"OffsetDelta", strconv.Itoa(int(rec.OffsetDelta))}, {"TimestampDelta", strconv.FormatInt(rec.TimestampDelta64, 10)},
				{"Key", bytesText(rec.Key)}, {"Value", bytesText(rec.Value)},
			}
			var headers []string
			for _, h := range rec.Headers {
				headers = append(headers, strconv.Quote(h.Key)+":"+bytesText(h.Value))
			}
			if headers != nil {
				line.Fields = append(line.Fields, Field{"Headers", "[" + strings.Join(headers, ",") + "]"})
			}
		}
		lines = append(lines, line)
		payload = payload[n+int(length):]
	}
	return lines
}

// bytesText shows short bytes whole and of long ones the length.
func bytesText(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 60:
		return fmt.Sprintf("<%d-bytes>", len(b))
	default:
		return strconv.Quote(string(b))
	}
}
