package batch

import "iter"

// Record is one record, decoded. The slices borrow the batch or the reader: see RecordReader.
type Record struct {
	Offset     int64
	Timestamp  int64  // ms
	Sequence   int32  // NoSequence if the batch has none
	SizeBytes  int    // encoded size, with the length
	Key        []byte // nil: null
	Value      []byte // nil: null
	numHeaders int
	headers    []byte // encoded, checked
}

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   string
	Value []byte // nil: null
}

// NumHeaders is the number of headers.
func (r *Record) NumHeaders() int { return r.numHeaders }

// Headers yields the headers in order. Values borrow as the record does, keys are copies.
func (r *Record) Headers() iter.Seq[RecordHeader] { panic("unwritten") }
