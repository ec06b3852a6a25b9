package batch

import "iter"

// Record is one record, decoded. The slices borrow the batch or the reader: see RecordReader.
type Record struct {
	Offset    int64
	Timestamp int64  // ms
	Sequence  int32  // NoSequence if the batch has none
	SizeBytes int    // encoded size, with the length
	Key       []byte // nil: null
	Value     []byte // nil: null
	// KeySize and ValueSize are in bytes, negative for null; Skim sets them though it may leave
	// Key and Value out.
	KeySize, ValueSize int32

	numHeaders int
	headers    []byte // encoded; decodeRecord has checked them
}

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   string
	Value []byte // nil: null
}

// HasKey tells whether the key isn't null.
func (r *Record) HasKey() bool { return r.KeySize >= 0 }

// NumHeaders is the number of headers.
func (r *Record) NumHeaders() int { return r.numHeaders }

// Headers yields the headers in order. Values borrow as the record does, keys are copies.
func (r *Record) Headers() iter.Seq[RecordHeader] {
	return func(yield func(RecordHeader) bool) {
		b := r.headers
		for range r.numHeaders {
			var key, value []byte
			key, b, _ = takeBytes(b)
			value, b, _ = takeBytes(b)
			if !yield(RecordHeader{Key: string(key), Value: value}) {
				return
			}
		}
	}
}

// errStructure is Kafka's message for a record whose fields don't fit it.
const errStructure = "Found invalid record structure"

// decodeRecord decodes the body of a record, which is everything after its length.
func decodeRecord(h *Header, body []byte, rec *Record) error {
	size := len(body)
	b := body
	if len(b) < 1 {
		return invalid(errStructure)
	}
	timestampDelta, n := getVarlong(b[1:])
	if n <= 0 {
		return invalid(errStructure)
	}
	b = b[1+n:]
	offsetDelta, n := getVarint(b)
	if n <= 0 {
		return invalid(errStructure)
	}
	b = b[n:]
	var ok bool
	if rec.Key, b, ok = takeBytes(b); !ok {
		return invalid(errStructure)
	}
	if rec.Value, b, ok = takeBytes(b); !ok {
		return invalid(errStructure)
	}
	numHeaders, n := getVarint(b)
	if n <= 0 {
		return invalid(errStructure)
	}
	b = b[n:]
	if numHeaders < 0 {
		return invalid("Found invalid number of record headers %d", numHeaders)
	}
	if int(numHeaders) > len(b) {
		return invalid("Found invalid number of record headers. %d is larger than the remaining size of the buffer", numHeaders)
	}
	rec.numHeaders, rec.headers = int(numHeaders), b
	for range numHeaders {
		keySize, n := getVarint(b)
		if n <= 0 {
			return invalid(errStructure)
		}
		if keySize < 0 {
			return invalid("Invalid negative header key size %d", keySize)
		}
		if int(keySize) > len(b)-n {
			return invalid(errStructure)
		}
		if _, b, ok = takeBytes(b[n+int(keySize):]); !ok {
			return invalid(errStructure)
		}
	}
	if len(b) != 0 {
		return invalid("Invalid record size: expected to read %d bytes in record payload, but instead read %d", size, size-len(b))
	}
	rec.KeySize, rec.ValueSize = fieldSize(rec.Key), fieldSize(rec.Value)
	rec.place(h, timestampDelta, offsetDelta)
	rec.SizeBytes = size + sizeVarint(int32(size))
	return nil
}

// place sets what a record derives from its batch.
func (r *Record) place(h *Header, timestampDelta int64, offsetDelta int32) {
	r.Offset = h.BaseOffset + int64(offsetDelta)
	r.Timestamp = h.BaseTimestamp + timestampDelta
	if h.Attributes.TimestampType() == LogAppendTime {
		r.Timestamp = h.MaxTimestamp
	}
	r.Sequence = NoSequence
	if h.BaseSequence >= 0 {
		r.Sequence = IncrementSequence(h.BaseSequence, offsetDelta)
	}
}

// fieldSize is the size of a field, -1 for null.
func fieldSize(field []byte) int32 {
	if field == nil {
		return -1
	}
	return int32(len(field))
}

// takeBytes splits b after a field with a varint length; a negative length is null.
func takeBytes(b []byte) (field, rest []byte, ok bool) {
	size, n := getVarint(b)
	if n <= 0 {
		return nil, nil, false
	}
	b = b[n:]
	if size < 0 {
		return nil, b, true
	}
	if int(size) > len(b) {
		return nil, nil, false
	}
	return b[:size:size], b[size:], true
}

// appendRecord appends an encoded record.
func appendRecord(dst []byte, timestampDelta int64, offsetDelta int32, key, value []byte, headers []RecordHeader) []byte {
	size := 1 + sizeVarlong(timestampDelta) + sizeVarint(offsetDelta) +
		sizeBytes(key) + sizeBytes(value) + sizeVarint(int32(len(headers)))
	for i := range headers {
		size += sizeVarint(int32(len(headers[i].Key))) + len(headers[i].Key) + sizeBytes(headers[i].Value)
	}
	dst = appendVarint(dst, int32(size))
	dst = append(dst, 0)
	dst = appendVarlong(dst, timestampDelta)
	dst = appendVarint(dst, offsetDelta)
	dst = appendBytes(dst, key)
	dst = appendBytes(dst, value)
	dst = appendVarint(dst, int32(len(headers)))
	for i := range headers {
		dst = appendVarint(dst, int32(len(headers[i].Key)))
		dst = append(dst, headers[i].Key...)
		dst = appendBytes(dst, headers[i].Value)
	}
	return dst
}

func sizeBytes(b []byte) int {
	if b == nil {
		return 1
	}
	return sizeVarint(int32(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return appendVarint(dst, -1)
	}
	dst = appendVarint(dst, int32(len(b)))
	return append(dst, b...)
}
