package batch

import "encoding/binary"

// Positions in a message of magic 0 and 1. The timestamp exists in magic 1 only, and pushes
// the key back by eight bytes.
const (
	legacyPosCRC        = 12
	legacyPosMagic      = 16
	legacyPosAttributes = 17
	legacyPosTimestamp  = 18
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
