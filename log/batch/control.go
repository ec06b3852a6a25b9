package batch

import "encoding/binary"

// ControlType is the type of a control record, the second field of its key.
type ControlType int16

// Control record types of partitions; those above exist in the metadata log only.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// EndTxnMarker is the control record that ends a transaction on a partition (KIP-98). Key:
// int16 version 0, int16 type. Value: int16 version 0, int32 coordinator epoch.
type EndTxnMarker struct {
	Commit           bool
	CoordinatorEpoch int32
}

const (
	controlKeyBytes   = 4
	markerValueBytes  = 6
	controlVersion    = 0
	markerOffsetDelta = 0
)

// AppendEndTxnMarker appends a control batch with one marker to dst. The transaction
// coordinator asks partition leaders for it; offset and leader epoch are assigned at append.
func AppendEndTxnMarker(dst []byte, timestampMs int64, producerID int64, producerEpoch int16, m EndTxnMarker) []byte {
	t := ControlAbort
	if m.Commit {
		t = ControlCommit
	}
	var key [controlKeyBytes]byte
	var value [markerValueBytes]byte
	binary.BigEndian.PutUint16(key[2:], uint16(t))
	binary.BigEndian.PutUint32(value[2:], uint32(m.CoordinatorEpoch))
	o := DefaultOptions()
	o.ProducerID, o.ProducerEpoch = producerID, producerEpoch
	o.Transactional, o.Control = true, true
	b := Builder{
		o: o, dst: dst, start: len(dst), numRecords: 1, nextOffset: 1,
		baseTimestamp: timestampMs, maxTimestamp: timestampMs,
	}
	b.dst = append(b.dst, make([]byte, HeaderSize)...)
	b.dst = appendRecord(b.dst, 0, markerOffsetDelta, key[:], value[:], nil)
	b.putHead(b.dst[b.start:])
	return b.dst
}

// ParseControlType reads the type from a control record's key. Versions above 0 are read as 0.
func ParseControlType(key []byte) (ControlType, error) {
	if len(key) < controlKeyBytes {
		return 0, invalid("Invalid value size found for control record key. Must have at least 4 bytes, but found only %d", len(key))
	}
	if v := int16(binary.BigEndian.Uint16(key)); v < controlVersion {
		return 0, invalid("Invalid version found for control record: %d. May indicate data corruption", v)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// ParseEndTxnMarker reads a marker from a control record of type COMMIT or ABORT.
func ParseEndTxnMarker(key, value []byte) (EndTxnMarker, error) {
	t, err := ParseControlType(key)
	if err != nil {
		return EndTxnMarker{}, err
	}
	if t != ControlAbort && t != ControlCommit {
		return EndTxnMarker{}, invalid("Invalid control record type for end transaction marker %d", t)
	}
	if len(value) < markerValueBytes {
		return EndTxnMarker{}, invalid("Invalid value size found for end transaction marker. Must have at least 6 bytes, but found only %d", len(value))
	}
	if v := int16(binary.BigEndian.Uint16(value)); v < controlVersion {
		return EndTxnMarker{}, invalid("Invalid version found for end transaction marker: %d. May indicate data corruption", v)
	}
	return EndTxnMarker{
		Commit:           t == ControlCommit,
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(value[2:])),
	}, nil
}

// EndTxnMarker reads the marker of a control batch; ok is false if b is no control batch, is
// empty (the cleaner empties old ones) or holds another type. timestampMs is the record's.
// Requires: magic 2.
func (b *Batch) EndTxnMarker() (m EndTxnMarker, timestampMs int64, ok bool, err error) {
	if !b.Attributes.IsControl() || b.NumRecords <= 0 {
		return EndTxnMarker{}, 0, false, nil
	}
	if b.Attributes.Codec() != None {
		return EndTxnMarker{}, 0, false, invalid("A control batch is compressed")
	}
	payload := b.Payload()
	size, n := getVarint(payload)
	if n <= 0 || size < 0 || int(size) > len(payload)-n {
		return EndTxnMarker{}, 0, false, invalid(errStructure)
	}
	var rec Record
	if err := decodeRecord(&b.Header, payload[n:n+int(size)], &rec); err != nil {
		return EndTxnMarker{}, 0, false, err
	}
	t, err := ParseControlType(rec.Key)
	if err != nil {
		return EndTxnMarker{}, 0, false, err
	}
	if t != ControlAbort && t != ControlCommit {
		return EndTxnMarker{}, 0, false, nil
	}
	m, err = ParseEndTxnMarker(rec.Key, rec.Value)
	return m, rec.Timestamp, err == nil, err
}
