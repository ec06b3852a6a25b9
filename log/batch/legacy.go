package batch

import (
	"encoding/binary"
	"hash/crc32"
)

// A message of magic 0 or 1, which old log directories may hold; "message set" means a
// sequence of them. All integers big endian:
//
//	 0  int64  offset         of a compressed message: that of the last one inside
//	 8  int32  length         bytes after this field
//	12  uint32 CRC            CRC-32 (IEEE) of bytes 16 to the end
//	16  int8   magic
//	17  int8   attributes     codec, timestamp type
//	18  int64  timestamp      magic 1 only
//	    int32 key length (-1: null), key, int32 value length (-1: null), value
//
// A compressed message's value is a message set. Inside, magic 0 has absolute offsets, magic 1
// has offsets relative to the first message (KIP-31).
const (
	legacyPosCRC        = 12
	legacyPosMagic      = 16
	legacyPosAttributes = 17
	legacyPosTimestamp  = 18
	legacyPosKeyV0      = 18
	legacyPosKeyV1      = 26
	legacyHeaderSizeV0  = 26
	legacyHeaderSizeV1  = 34
)

// parseLegacyHeader decodes a message of magic 0 or 1.
// Requires: minSize(magic) bytes.
func parseLegacyHeader(b []byte, size int, magic int8) Header {
	h := Header{
		BaseOffset:    int64(binary.BigEndian.Uint64(b)),
		Length:        int32(size - LogOverhead),
		LeaderEpoch:   NoLeaderEpoch,
		Magic:         magic,
		CRC:           binary.BigEndian.Uint32(b[legacyPosCRC:]),
		Attributes:    Attributes(b[legacyPosAttributes]) & (codecMask | logAppendTimeFlag),
		BaseTimestamp: NoTimestamp,
		MaxTimestamp:  NoTimestamp,
		ProducerID:    NoProducerID,
		ProducerEpoch: NoProducerEpoch,
		BaseSequence:  NoSequence,
		NumRecords:    -1,
	}
	if magic == MagicV1 {
		h.BaseTimestamp = int64(binary.BigEndian.Uint64(b[legacyPosTimestamp:]))
		h.MaxTimestamp = h.BaseTimestamp
	}
	return h
}

// legacyReader reads the records of one message, compressed or not.
type legacyReader struct {
	outer Header
	// set is what is left of the messages: the message itself, or the decompressed ones.
	set []byte
	// shift is added to the offsets of the messages in set.
	shift      int64
	compressed bool
	// crc is that of the message that next returned last.
	crc uint32
}

// open prepares the reader. A compressed message is decompressed whole, since offsets count
// from its end.
func (r *legacyReader) open(c *Codecs, b *Batch, limits ReadLimits) error {
	*r = legacyReader{outer: b.Header, set: b.raw}
	codec := b.Attributes.Codec()
	if codec == None {
		return nil
	}
	if codec == Zstd {
		return corrupt("ZStandard compression is not supported for magic %d", b.Magic)
	}
	_, value, err := legacyKeyValue(b.raw, b.Magic)
	if err != nil {
		return err
	}
	if value == nil {
		return invalid("Found invalid compressed record set with null value (magic = %d)", b.Magic)
	}
	r.compressed = true
	if codec == LZ4 {
		var dec decompressor
		if dec, err = c.openLZ4(value, b.Magic == MagicV0); err != nil {
			return err
		}
		defer dec.release(c)
		r.set, err = readAll(nil, dec, limits.TotalBytes)
	} else {
		r.set, err = c.Decompress(nil, codec, value, limits.TotalBytes)
	}
	if err != nil {
		return err
	}
	if len(r.set) == 0 {
		return invalid("Found invalid compressed record set with no inner records")
	}
	if b.Magic == MagicV1 {
		last, err := lastLegacyOffset(r.set)
		if err != nil {
			return err
		}
		r.shift = b.BaseOffset - last
	}
	return nil
}

// lastLegacyOffset is the offset of the last message of a set.
func lastLegacyOffset(set []byte) (int64, error) {
	var last int64
	for b, err := range All(set) {
		if err != nil {
			return 0, err
		}
		last = b.BaseOffset
	}
	return last, nil
}

// next decodes the next message into rec; at false, *failed says why unless it was the end.
func (r *legacyReader) next(rec *Record, failed *error) bool {
	if *failed != nil || len(r.set) == 0 {
		return false
	}
	b, rest, err := Parse(r.set)
	r.set = rest
	switch {
	case err != nil:
		*failed = err
	case b.Magic != r.outer.Magic:
		*failed = invalid("Compressed message magic %d does not match wrapper magic %d", b.Magic, r.outer.Magic)
	case r.compressed && b.Attributes.Codec() != None:
		*failed = invalid("Inner record must not be compressed")
	}
	if *failed == nil && r.compressed {
		*failed = b.CheckCRC()
	}
	if *failed != nil {
		return false
	}
	key, value, err := legacyKeyValue(b.raw, b.Magic)
	if err != nil {
		*failed = err
		return false
	}
	r.crc = b.CRC
	*rec = Record{
		Offset: b.BaseOffset + r.shift, Timestamp: b.BaseTimestamp, Sequence: NoSequence,
		SizeBytes: len(b.raw), Key: key, Value: value, KeySize: fieldSize(key), ValueSize: fieldSize(value),
	}
	if r.outer.Attributes.TimestampType() == LogAppendTime {
		rec.Timestamp = r.outer.BaseTimestamp
	}
	return true
}

// close drops the decompressed messages.
func (r *legacyReader) close() { *r = legacyReader{} }

// legacyKeyValue splits a whole message.
func legacyKeyValue(raw []byte, magic int8) (key, value []byte, err error) {
	b := raw[legacyPosKeyV0:]
	if magic == MagicV1 {
		b = raw[legacyPosKeyV1:]
	}
	var ok bool
	if key, b, ok = takeLegacyBytes(b); !ok {
		return nil, nil, corrupt("Found invalid record structure (magic = %d)", magic)
	}
	if value, b, ok = takeLegacyBytes(b); !ok || len(b) != 0 {
		return nil, nil, corrupt("Found invalid record structure (magic = %d)", magic)
	}
	return key, value, nil
}

// takeLegacyBytes splits b after a field with an int32 length; a negative length is null.
func takeLegacyBytes(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	size := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if size < 0 {
		return nil, b, true
	}
	if int(size) > len(b) {
		return nil, nil, false
	}
	return b[:size:size], b[size:], true
}

// legacyChecksum is the CRC-32 (IEEE) of a whole message.
func legacyChecksum(raw []byte) uint32 { return crc32.ChecksumIEEE(raw[legacyPosMagic:]) }
