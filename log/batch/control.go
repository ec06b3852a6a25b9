package batch

// ControlType is the type of a control record, the second field of its key.
type ControlType int16

// Control record types; those above 1 exist in the metadata log only.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// EndTxnMarker is the control record that ends a transaction on a partition.
type EndTxnMarker struct {
	Commit           bool
	CoordinatorEpoch int32
}

// AppendEndTxnMarker appends a control batch with one marker to dst.
func AppendEndTxnMarker(dst []byte, timestampMs int64, producerID int64, producerEpoch int16, m EndTxnMarker) []byte {
	panic("unwritten")
}

// ParseControlType reads the type from a control record's key.
func ParseControlType(key []byte) (ControlType, error) { panic("unwritten") }

// ParseEndTxnMarker reads a marker from a control record.
func ParseEndTxnMarker(key, value []byte) (EndTxnMarker, error) { panic("unwritten") }

// EndTxnMarker reads the marker of a control batch; ok is false if it holds another type.
func (b *Batch) EndTxnMarker() (m EndTxnMarker, ok bool, err error) { panic("unwritten") }
